"""The section of the measure `corruption-error`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

from brittle.measures.corruption_error.options import PUBLISHED
from brittle.report.blocks import Block, Group, Sentence, Table, Weighted
from brittle.report.blocks.figure import Axis, Figure, Mark, Panel, Rule, category_axis
from brittle.report.blocks.text import Estimate, Styled, Text
from brittle.report.blocks.wording import estimate, plain
from brittle.report.page.choose_few import some_of
from brittle.report.page.section import MeasureRun, Row, Summary
from brittle.report.page.words import counted, number, percent, short
from brittle.report.sections import register
from brittle.report.sections.base import BaseSection, finding, remarks
from brittle.report.sections.grouped import by_set, with_set
from brittle.report.sections.marks import whiskers
from brittle.report.sections.references import CNS_BENCH_2025, HENDRYCKS_2019
from brittle.report.sections.tables import WHO, Titled, bare, estimated, table, text, who

MOST_SHIFTS = 20
BOTH = {"ce": ("mce", "CE"), "rce": ("mean_rce", "rCE")}
LEADS = 0.4
MOST_SHIFTS = 2  # with columns of their own on the console
MOST_OPEN = 60  # rows of a table that is not folded away
MOST_ERRORS = 12  # in a cell
LIMITS = (
    "CE and rCE are ratios to one reference classifier on these very images: with another reference, or other images, "
    "they are other numbers, and can't be set beside published ones.",
    "A low rCE may come from high errors without a shift as well as from low ones under it: read it beside accuracy.",
    "mCE gives every shift the same weight, however much or little it does to images.",
)
S, ZERO, REF = Styled("s", "sub"), Styled("0", "sub"), Styled("ref", "sup")
FORMULAS: Text = (
    "Errors over the severities of a shift, divided by those of a reference classifier: CE = Σ", S, " E", S, " / Σ", S,
    " E", S, REF, ". What a shift adds, divided likewise: rCE = Σ", S, " (E", S, " − E", ZERO, ") / Σ", S, " (E", S,
    REF, " − E", ZERO, REF, ") (Hendrycks & Dietterich 2019; equation 6 of CNS-Bench 2025, which labels it CE). Lower "
    "is better.",
)  # fmt: skip


@register("corruption-error")
class CorruptionErrorSection(BaseSection):
    """Errors under shifts, set against those of a reference classifier."""

    title = "Corruption errors"

    listed, per = "results", "shifts"

    def brief(self, summary: Summary) -> Sequence[Block]:
        return [_printed(rows) for rows in by_set(summary["results"]).values()]

    def top(self, run: MeasureRun) -> Sequence[Weighted]:
        said = map(_headline, by_set(run.summary["results"]).values())
        return [finding(text, LEADS) for text in said if text][:2]

    def blocks(self, run: MeasureRun) -> Sequence[Block]:
        return [
            Sentence(FORMULAS),
            *(_part(run, images, rows) for images, rows in by_set(run.summary["results"]).items()),
            *remarks(
                "mCE and mean rCE are errors, and drops, under shifts divided by those of a reference classifier, "
                "averaged over shifts: lower is better.",
                LIMITS,
                f"the reference ({run.summary['results'][0]['reference']}), the shifts and their severities",
                (HENDRYCKS_2019, CNS_BENCH_2025),
            ),
        ]


def _headline(rows: Sequence[Row]) -> str:
    """How the best of the others stands beside the reference, and how far that depends on the shift."""
    known = [row for row in rows if row["classifier"] != row["reference"] and row["mce_interval"] is not None]
    if not known:
        return ""
    best = min(known, key=lambda row: row["mce"])
    low, high = best["mce_interval"]
    than = "fewer errors than" if high < 1 else "more errors than" if low > 1 else "about as many errors as"
    who = best["classifier"] if len(known) == 1 else f"{best['classifier']}, the best of {len(known)},"
    several = len(best["shifts"]) > 1
    said = (
        f"{who} makes {than} {best['reference']} under {counted(len(best['shifts']), 'shift')} on {best['image_set']}: "
        f"{'mCE' if several else 'CE'} {plain((estimate(best, 'mce'),))}"
    )
    least, most = (pick(best["shifts"], key=lambda shift: shift["ce"]) for pick in (min, max))
    if not several:
        return f"{said}."
    return f"{said}, from {least['ce']:.2f} under {least['nuisance']} to {most['ce']:.2f} under {most['nuisance']}."


def _printed(rows: Sequence[Row]) -> Group:
    first = rows[0]
    shifts = [shift["nuisance"] for shift in first["shifts"]]
    several = len(shifts) > 1
    own = shifts if 1 < len(shifts) <= MOST_SHIFTS else []
    names = ("mCE", "mean rCE") if several else ("CE", "rCE")
    shown = table(
        rows,
        ("", who),
        (names[0], estimated("mce")),
        (names[1], estimated("mean_rce")),
        ("drop", estimated("drop_over_images")),
        *map(_ce, range(len(own)), own),
        noun="classifier",
    )
    without = "; – without images at scale 0" if first["shifts"][0]["error_clean"] is None else ""
    over = f"means over {len(shifts)} shifts" if several else f"under {shifts[0]}"
    note = (
        f"{names[0]} and {names[1]}: {over}, lower is better; drop: over images"
        f"{', all shifts pooled' * several}{without}; {percent(first['confidence'])} intervals over images."
    )
    about = f" on {first['image_set']}, {counted(first['images'], 'image')}, against {first['reference']}"
    return Group((Styled("Corruption errors"), about), (shown, Sentence(note)))


def _ce(place: int, shift: str) -> Titled:
    return f"CE {shift}", lambda row: Estimate(row["shifts"][place]["ce"])


def _part(run: MeasureRun, images: str, group: list[Row]) -> Group:
    """One image set: means over shifts, and every shift drawn and in a table."""
    rows = sorted(group, key=lambda row: 1e9 if row["mce"] is None else row["mce"])
    first, several = rows[0], len(rows[0]["shifts"]) > 1
    names = ("mCE, mean over shifts", "mean rCE, over shifts") if several else ("CE", "rCE")
    shown = some_of([row["classifier"] for row in rows], {row["classifier"]: -(row["mce"] or 0) for row in rows})
    blocks: list[Block] = [
        table(
            rows,
            WHO,
            (names[0], estimated("mce")),
            (names[1], estimated("mean_rce")),
            (f"drop, mean over images{' of all shifts' * several}", estimated("drop_over_images")),
        ),
        Sentence(_intervals(first), "note"),
        _figure([row for row in rows if row["classifier"] in shown], len(rows)),
    ]
    if first["reference"] == PUBLISHED:
        text = (
            "AlexNet’s published errors on ImageNet-C: means over its 50,000 validation images, not measured on these."
        )
        blocks.insert(0, Sentence(text, "note"))
    if several:
        fits = len(rows) * len(first["shifts"]) <= MOST_OPEN
        blocks.append(Group("Every shift", (_every_shift(rows),), "open" if fits else "closed"))
    return Group(with_set(run, f"Against {first['reference']}", images), tuple(blocks))


def _intervals(row: Row) -> str:
    undefined = any(shift["error_clean"] is None for shift in row["shifts"])
    without = ", and for rCE and drops, since there are no images at scale 0" if undefined else ""
    return (
        f"{percent(row['confidence'])} intervals: percentiles over {row['resamples']} random weightings of the "
        f"{row['images']} images, each with all its severities and shifts and the reference’s answers, and of one "
        "image more, at its worst for either end; those of drops hold at any number of images. – where the reference "
        f"has nothing to divide by{without}."
    )


def _every_shift(rows: Sequence[Row]) -> Table:
    def errors(shift: Row) -> str:
        shown = [number(error, 2) for error in shift["errors"][:MOST_ERRORS]]
        return " ".join(shown) + " …" * (len(shift["errors"]) > MOST_ERRORS)

    places = range(len(rows[0]["shifts"]))
    return table(
        [row["shifts"][place] | {"classifier": row["classifier"]} for place in places for row in rows],
        ("shift", text("nuisance")),
        WHO,
        ("CE", estimated("ce")),
        ("rCE", estimated("rce")),
        ("error at 0", bare("error_clean")),
        (f"errors, by {rows[0]['shifts'][0]['unit']}", errors),
        by=0,
    )


def _figure(rows: Sequence[Row], of: int) -> Figure:
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
