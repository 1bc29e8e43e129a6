"""Runs side by side: every number that both have, paired image by image and θ by θ, as a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from brittle.comparison.comparable import differences_in_environment
from brittle.comparison.paired import NUMBERS, ChangedNumber, ComparedCell, Comparison, Number
from brittle.comparison.recorded import RecordedRun
from brittle.engine.store.run_folder import folder_path
from brittle.errors import BrittleError
from brittle.files import write_durably
from brittle.report.blocks import Block, Group, Sentence, Table
from brittle.report.blocks.figure import Axis, Figure, Intervals, Mark, Panel, Points, Role, Rule, category_axis
from brittle.report.blocks.text import ClassifierName, Estimate, TableCell
from brittle.report.blocks.wording import plain
from brittle.report.page.colours import looks
from brittle.report.page.jinja import environment
from brittle.report.page.words import counted, estimate, listed, number, percent
from brittle.report.renderers.html import HtmlRenderer, anchors, in_contents

FILE = "comparison.html"
SAME = "same classifier"
VERDICTS = ("fell", "rose", "can't be told apart", SAME)
MOST_DRAWN, MOST_SHOWN, MOST_FAILURES = 24, 200, 8
ROW, AROUND = 0.26, 0.9  # inches of a figure


def write_comparison(folders: Sequence[Path], out: str | Path | None = None, pairs: Sequence[str] = ()) -> Path:
    """Writes a page that compares each further run with the first; nothing that their studies name is loaded."""
    runs = [RecordedRun.read(folder_path(folder)) for folder in folders]
    if len({each.folder.resolve() for each in runs if each.folder is not None}) < len(runs):
        raise BrittleError("a run is named twice", "Name runs that differ.")
    first, *others = runs
    comparisons = [Comparison.of(run, first, numbers=("rho", "accuracy", "clean"), pairs=pairs) for run in others]
    blocks = [block for each in comparisons for block in compared(each, several=len(others) > 1)]
    title = f"{listed([run.name for run in others])} compared with {first.name}"
    names = dict.fromkeys(cell.classifier for each in comparisons for cell in each.cells)
    said = blocks[0] if isinstance(blocks[0], Sentence) else None
    page = HtmlRenderer(None, looks(list(names)), "runs", anchors=anchors(blocks, "runs"))
    text = (
        environment()
        .get_template("comparison.html.j2")
        .render(
            title=title,
            verdict="" if said is None else page.inline(said.text),
            parts=[(page.anchor(each, 0), plain(each.title)) for each in in_contents(blocks)],
            body=page.render([each for each in blocks if each is not said]),
        )
    )
    path = Path(FILE if out is None else out)
    write_durably(path, lambda to: to.write_text(text, encoding="utf-8"))
    return path


def compared(found: Comparison, *, several: bool = False) -> list[Block]:
    """What has changed from one run to another, most of all first."""
    parts: list[Block] = [
        Sentence(f"{_headline(found)}."),
        *([_figure(found)] if any(not each.same and each.cell.nuisance for each in found.changes) else []),
        _table(found),
        Sentence(_promise(found), "note"),
        *_flips(found),
    ]
    if left := found.not_compared:
        parts.append(Sentence(f"Compared with nothing: {listed(left, 8)}.", "note"))
    if moved := differences_in_environment(found.run, found.other):
        parts.append(Sentence(f"Also changed: {'; '.join(moved)}.", "note"))
    return [Group(found.run.name, tuple(parts))] if several else parts


def verdict(change: ChangedNumber) -> str:
    """What the interval says of a change."""
    if change.same:
        return SAME
    return "rose" if change.difference.low > 0 else "fell" if change.difference.high < 0 else "can't be told apart"


def _headline(found: Comparison) -> str:
    said = [verdict(each) for each in found.changes]
    every = counted(len(said), "number")
    words = {each: each for each in VERDICTS} | {SAME: f"of the {SAME}"}
    parts = [f"{said.count(key)} {text}" for key, text in words.items() if key in said]
    most = _sorted(found)[0]
    if verdict(most) not in ("fell", "rose"):
        return f"Of {every}, {listed(parts)}"
    where = f" under {most.cell.nuisance}" if most.cell.nuisance else ""
    change = estimate(most.difference.value, (most.difference.low, most.difference.high), "+")
    return (
        f"Of {every}, {listed(parts)}; {NUMBERS[most.number]} of {most.cell.classifier}{where} {verdict(most)} most, "
        f"from {number(most.before)} to {number(most.after)}: {change}"
    )


def _sorted(found: Comparison) -> list[ChangedNumber]:
    """What fell first, then what rose, each by how much."""
    return sorted(found.changes, key=lambda each: (VERDICTS.index(verdict(each)), -abs(each.difference.value)))


def _figure(found: Comparison) -> Figure:
    """A panel for ρ and one for accuracy, with a line for every classifier and nuisance."""
    cells = list(dict.fromkeys(each.cell for each in _sorted(found) if not each.same and each.cell.nuisance))
    cells = cells[:MOST_DRAWN]
    numbers = [each for each in found.numbers if each != "clean"]
    panels = tuple(_panel(found, each, cells, first=place == 0) for place, each in enumerate(numbers))
    fell = sum(verdict(each) == "fell" for each in found.changes)
    return Figure(
        f"Changes from {found.other.name} with their intervals: {fell} of {len(found.changes)} lie below 0.",
        panels,
        "Left of 0 it fell. Bars are intervals that hold all at once.",
        height=AROUND + ROW * len(cells),
        legend=False,
    )


def _panel(found: Comparison, number: Number, cells: Sequence[ComparedCell], *, first: bool) -> Panel:
    marks: list[Mark] = [Rule(0.0)]
    for each in found.changes:
        if each.number == number and each.cell in cells:
            said, place = verdict(each), float(cells.index(each.cell))
            role = Role("worse" if said == "fell" else "better" if said == "rose" else "neutral")
            low, high = (each.difference.low,), (each.difference.high,)
            marks += [
                Intervals(role, (place,), low, high, "x", "thick"),
                Points(role, (each.difference.value,), (place,)),
            ]
    several = len({each.classifier for each in cells}) > 1
    names = [f"{each.nuisance} ({each.classifier})" if several else each.nuisance for each in cells]
    y = category_axis(names if first else [""] * len(names), falling=True)
    return Panel(tuple(marks), Axis(f"change of {NUMBERS[number]}", grid=True), y)


def _table(found: Comparison) -> Table:
    several = len({each.cell.image_set for each in found.changes}) > 1
    rows: list[tuple[TableCell, ...]] = [
        (
            _classifiers(each),
            *([each.cell.image_set] if several else []),
            each.cell.nuisance or "untouched",
            NUMBERS[each.number],
            Estimate(each.before),
            Estimate(each.after),
            Estimate(each.difference.value, each.difference.low, each.difference.high, signed=True),
            f"[{number(each.own.low, sign='+')}, {number(each.own.high, sign='+')}]",
            verdict(each),
        )
        for each in _sorted(found)
    ]
    titles = ("classifier", *(["images"] if several else []), "nuisance", "number", found.other.name, found.run.name)
    return Table((*titles, "change, all at once", "by itself", "verdict"), tuple(rows), shown=MOST_SHOWN)


def _classifiers(change: ChangedNumber) -> ClassifierName:
    name, before = change.cell.classifier, change.cell.before
    return ClassifierName(name, name if name == before else f"{name} (was {before})")


def _promise(found: Comparison) -> str:
    confidence = percent(found.confidence)
    every = counted(found.family, "number")
    return (
        f"Paired over the images and θ that both runs have. {confidence} intervals; those called all at once hold for "
        f"all {every} together, and say what fell and what rose. ρ moves with confidence, accuracy does not."
    )


def _flips(found: Comparison) -> Iterator[Block]:
    """What became wrong, cell by cell."""
    cells = [each for each in found.found if not each.cell.same and each.cell.nuisance]
    if not cells:
        return
    rows: list[tuple[TableCell, ...]] = []
    for each in sorted(cells, key=lambda cell: -cell.flips.now_wrong)[:MOST_FAILURES]:
        worst = each.flips.worst[0] if each.flips.worst else None
        told = "–" if worst is None else (
            f"image {worst.image}, draw {worst.draw}: {number(worst.p_before)} → {number(worst.p_after)}"
        )  # fmt: skip
        shares = (value / each.flips.pictures for value in (each.flips.now_wrong, each.flips.now_right))
        rows.append(
            (
                ClassifierName(each.cell.classifier),
                each.cell.nuisance,
                *(Estimate(share, places=1, format="percent") for share in shares),
                told,
            )
        )
    titles = ("classifier", "nuisance", "became wrong", "became right", "most lost, p(label)")
    yield Group("Pictures that changed sides", (Table(titles, tuple(rows)),))
