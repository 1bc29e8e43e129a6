"""Occlusion in brief: accuracy on test and training images, A/A₀ and iOcclusion, at a few shares."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from brittle.report.blocks import Block, Group, Sentence, Table
from brittle.report.blocks.text import Estimate, Styled, TableCell
from brittle.report.page.section import Row, Summary
from brittle.report.page.words import EVERYTHING, counted, interval, percent
from brittle.report.sections.occlusion import words
from brittle.report.sections.occlusion.words import DescribedModel

MOST_MODELS = 12


def printed(summary: Summary) -> Iterator[Block]:
    differ = len({words.hidden_of(row) for row in summary["results"]}) > 1
    for images, nuisances in words.cells(summary).items():
        for nuisance in nuisances:
            yield _group(nuisance, words.models(summary, images, nuisance), differ)
        yield from map(Sentence, words.fillings(summary, images))
    yield Sentence(_closing(summary["results"], differ))


def _group(nuisance: str, found: Sequence[DescribedModel], differ: bool) -> Group:
    row = found[0].row
    of = f"; {words.hidden_of(row)}" if differ else ""
    more = len(found) - MOST_MODELS
    lines = [f"{model.name}: {said}" for model in found if (said := words.no_gap(model.row))]
    lines += [f"… and {more} more ({EVERYTHING})"] if more > 0 else []
    return Group(
        (Styled(nuisance), f" on {words.subject(row)}, filled with {row['filled_with']}{of}: accuracy"),
        (_table(found[:MOST_MODELS]), *map(Sentence, lines)),
    )


def _table(found: Sequence[DescribedModel]) -> Table:
    points = found[0].points
    places = words.some(points)
    rows = [row for model in found for row in _rows(model, [model.points[place] for place in places])]
    columns = ("", "images", "untouched", *(words.share(points[place]["share"]) for place in places))
    return Table(columns, tuple(rows), shown=len(rows))


def _rows(model: DescribedModel, points: Sequence[Row]) -> Iterator[tuple[TableCell, ...]]:
    row = model.row

    def line(name: str, what: str, untouched: TableCell, key: str) -> tuple[TableCell, ...]:
        return name, what, untouched, *(Estimate(point[key]) for point in points)

    yield line(model.named, "test", Estimate(row["accuracy_clean"]), "accuracy")
    yield line("", "A/A₀", "1" if row["accuracy_clean"] else "–", "relative")
    if row["train_set"] is None:
        return
    yield line("", "training", Estimate(row["train_accuracy_clean"]), "train_accuracy")
    ratios = [words.interplay(point) for point in points]
    yield "", "iOcclusion", "1" if row["divisible"] else "–", *(Estimate(ratio, places=2) for ratio, _ in ratios)
    if any(bounds for _, bounds in ratios):
        yield "", "", "", *(interval(bounds, places=2) for _, bounds in ratios)


def _closing(rows: Sequence[Row], differ: bool) -> str:
    first = rows[0]
    of = "" if differ else f"{words.hidden_of(first).capitalize()}; "
    said = f"{of}{counted(first['repeats'], 'mask')} per image; A/A₀: what is left of the untouched accuracy; "
    said += f"seed {first['seed']}."
    if any(row["train_set"] is not None for row in rows):
        said += (
            " iOcclusion: gap between training and test accuracy under occlusion over the gap without, with "
            f"{percent(first['confidence'])} Fieller intervals over images."
        )
    return said
