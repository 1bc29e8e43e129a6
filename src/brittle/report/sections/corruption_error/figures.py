"""The figure of corruption errors: CE and rCE of every shift, side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

from brittle.report.blocks import Axis, Figure, Mark, Panel, Rule, category_axis
from brittle.report.page.section import Row
from brittle.report.page.words import short
from brittle.report.sections.marks import whiskers
from brittle.report.sections.tables import who

MOST_SHIFTS = 20
BOTH = {"ce": ("mce", "CE"), "rce": ("mean_rce", "rCE")}


def errors_figure(rows: Sequence[Row], of: int) -> Figure:
    """A line per shift, a mark per classifier, with intervals; the last line is the mean over shifts. `of`: how many
    classifiers there are."""
    shifts = rows[0]["shifts"]
    several = len(shifts) > 1
    without = all(shift["error_clean"] is None for shift in shifts)
    names = [shift["nuisance"] for shift in shifts[:MOST_SHIFTS]] + ["mean over shifts"] * several
    offsets = [(place + 0.5) / len(rows) - 0.5 for place in range(len(rows))]
    panels = [
        Panel(
            (
                Rule(1.0, dash="dashed"),
                *chain(*(_marks(*each, key) for each in zip(rows, offsets, strict=True))),
            ),
            Axis(f"{BOTH[key][1]} (1 is {short(rows[0]['reference'], 20)})", grid=True),
            category_axis(names, falling=True),
        )
        for key in BOTH
        if key == "ce" or not without
    ]
    told = "CE" if without else "CE and rCE"
    some = f" Of {of} classifiers {len(rows)} are shown." if len(rows) < of else ""
    return Figure(
        f"{told} of {', '.join(row['classifier'] for row in rows)} under every shift, with intervals",
        tuple(panels),
        f"{told} of every shift; bars are intervals.{some}",
        height=min(14.0, 1.4 + max(0.5, 0.11 * len(rows)) * len(names)),
        share="y",
    )


def _marks(row: Row, off: float, key: str) -> Iterable[Mark]:
    """One classifier, its marks a little apart from those of others."""
    mean = BOTH[key][0]
    found = [(shift[key], shift[f"{key}_interval"]) for shift in row["shifts"][:MOST_SHIFTS]]
    if len(row["shifts"]) > 1:
        found.append((row[mean], row[f"{mean}_interval"]))
    at = (place + 0.7 * off for place in range(len(found)))
    return whiskers(who(row), at, (value for value, _ in found), (ends for _, ends in found), "x", weight="thin")
