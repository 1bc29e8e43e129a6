"""Figures of failure points: curves along severity, histograms of first failures, and classes against severity."""

from __future__ import annotations

from collections.abc import Sequence

from brittle.report.blocks.figure import Axis, Bars, Cells, Figure, Line, Mark, Panel, Rule, category_axis
from brittle.report.page.section import Row
from brittle.report.page.words import percent
from brittle.report.sections.failure_points import words
from brittle.report.sections.marks import chart, curve
from brittle.report.sections.tables import who

MOST_CLASSES, AT_EACH_END = 32, 15
MOST_TICKS = 12
PANELS = {"accuracy": "accuracy", "drop": "drop (accuracy at 0 − accuracy)", "failed": "share that has failed by then"}


def curve_figure(rows: Sequence[Row], of: int) -> Figure:
    """Accuracy, drop and the share of failed images against severity, with intervals as bands; those that are known."""
    first = rows[0]
    there = {name for row in rows for entry in row["severities"] for name in PANELS if entry[name] is not None}
    names = [name for name in PANELS if name in there and (first["only"] is None or name == "failed")]
    failed = "The share of images that have been wrong at this severity or below it"
    drop = " the drop A₀ − Aₛ, paired image by image;" if words.drops(first) else ""
    reading = (
        f"Accuracy;{drop} and t{failed[1:]}, whatever they are now."
        if first["only"] is None
        else f"{failed}. Paths end at their first failure, so accuracy beyond is not known."
    )
    return Figure(
        f"{', '.join(PANELS[name] for name in names)} of {_drawn_kinds(rows)} against {first['unit']}, with intervals",
        tuple(_curves(rows, name) for name in names),
        f"{reading} Bands are pointwise {percent(first['confidence'])} intervals over images.{_cut(rows, of)}",
        height=3.4,
    )


def _drawn_kinds(rows: Sequence[Row]) -> str:
    return ", ".join(row["classifier"] for row in rows)


def _cut(rows: Sequence[Row], of: int) -> str:
    return f" {len(rows)} of {of} classifiers." if len(rows) < of else ""


def _curves(rows: Sequence[Row], name: str) -> Panel:
    marks: list[Mark] = []
    for row in rows:
        entries = [entry for entry in row["severities"] if entry[name] is not None]
        ends = (entry[f"{name}_interval"] or (entry[name], entry[name]) for entry in entries)
        at, values = ([entry[key] for entry in entries] for key in ("value", name))
        marks += curve(who(row), at, values, ends, markers=len(at) <= MOST_TICKS)
    lowest = min((entry[name] or 0.0 for row in rows for entry in row["severities"]), default=0.0)
    # A single severity stands in the middle of the axis.
    begin, end = rows[0]["severities"][0]["value"], rows[0]["limit"]
    begin, end = (begin, end) if begin < end else (0.9 * begin, 1.1 * begin)
    return Panel(
        tuple(marks),
        Axis(rows[0]["unit"], low=begin, high=end),
        Axis(PANELS[name], low=min(0.0, 1.1 * lowest), high=1, grid=True),
    )


def histogram_figure(rows: Sequence[Row], of: int) -> Figure:
    """First failures at each severity as bars, side by side; a line over each for all that are wrong there."""
    entries, width = rows[0]["severities"], 0.84 / len(rows)
    marks: list[Mark] = []
    for place, row in enumerate(rows):
        paths = max(1, row["paths"])
        at = tuple(each - 0.42 + (place + 0.5) * width for each in range(len(entries) + 1))
        first = [entry["first_failures"] / paths for entry in row["severities"]] + [row["never"] or 0.0]
        marks.append(Bars(who(row), at, tuple(first), width=width * 0.9))
        for x, entry in zip(at, row["severities"], strict=False):
            if entry["wrong"] is not None:
                ends = x - width * 0.45, x + width * 0.45
                marks.append(Line(who(row), ends, (entry["wrong"] / paths,) * 2, "solid"))
    marks += [Rule(at, dash="dotted") for at in ([0.5] if entries[0]["value"] == 0 else []) + [len(entries) - 0.5]]
    step = max(1, -(-len(entries) // MOST_TICKS))
    ticks = [(float(tick), f"{entries[tick]['value']:g}") for tick in range(0, len(entries), step)]
    untouched = " at 0 those that are wrong untouched, and" if words.origin(rows[0]) else ""
    lines = " Lines: all that are wrong here, which counts an image at every severity at which it is wrong."
    return chart(
        f"first failures of {_drawn_kinds(rows)} at each {rows[0]['unit']}, and those that never fail",
        marks,
        Axis(rows[0]["unit"], (*ticks, (float(len(entries)), "never")), -0.5, len(entries) + 0.5),
        Axis("share of paths", grid=True),
        f"Bars: paths that fail here for the first time;{untouched} on the right those that never fail: together all "
        f"paths.{lines if rows[0]['only'] is None else ''}{_cut(rows, of)}",
    )


def class_figure(rows: Sequence[Row]) -> Figure:
    """A map per classifier: accuracy, or the share that has not failed yet, of each class at each severity."""
    first, whole = rows[0], rows[0]["only"] is None
    shown = shown_classes(first)
    entries = first["severities"]
    step = max(1, -(-len(entries) // (MOST_TICKS // len(rows) + 2)))
    ticks = tuple((float(at), f"{entries[at]['value']:g}") for at in range(0, len(entries), step))
    what, blank = "accuracy" if whole else "share not failed yet", (None,) * len(entries)
    return Figure(
        f"{what} of each class at each {first['unit']}",
        tuple(
            Panel(
                (
                    Cells(
                        tuple(blank if place is None else _held(row["classes"][place]) for place in shown),
                        scale="accuracy",
                        label=what,
                    ),
                ),
                Axis(first["unit"], ticks),
                category_axis(["⋮" if at is None else first["classes"][at]["class"] for at in shown], falling=True),
                row["classifier"],
            )
            for row in rows
        ),
        f"{'Accuracy of each class' if whole else 'Share of each class that has not failed yet'}, those that fail "
        f"soonest for {first['classifier']} on top. Classes have few images each: no interval is given here.",
        height=1.2 + 0.24 * len(shown),
        share="y",
        legend=False,
    )


def shown_classes(row: Row) -> list[int | None]:
    """Places of the classes to show, those that fail soonest first; of a long list both ends with None between."""
    held = [sum(_held(each)) for each in row["classes"]]
    order = sorted(range(len(held)), key=lambda place: held[place])
    if len(order) <= MOST_CLASSES:
        return [*order]
    return [*order[:AT_EACH_END], None, *order[-AT_EACH_END:]]


def _held(each: Row) -> tuple[float, ...]:
    """Of a class, accuracy at each severity, or the share that has not failed yet."""
    return tuple(each["accuracy"]) if "accuracy" in each else tuple(1 - failed for failed in each["failed"])
