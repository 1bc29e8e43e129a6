"""The figures of occlusion: accuracy and iOcclusion against the hidden share (figures 3 and 5 of the paper)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from brittle.report.blocks.figure import Axis, Figure, Line, Mark, Panel, Rule
from brittle.report.blocks.text import ClassifierName
from brittle.report.page.section import Row
from brittle.report.page.words import short
from brittle.report.sections.marks import curve
from brittle.report.sections.occlusion import words
from brittle.report.sections.occlusion.words import DescribedModel

COLUMNS = 3  # nuisances in one figure
LOWEST, HIGHEST = -0.6, 2.6  # of iOcclusion, past which intervals are cut


def curves(columns: Mapping[str, Sequence[DescribedModel]], reading: str) -> Figure:
    """A column per nuisance: above, accuracy on test (solid) and training images (dotted); below, iOcclusion, where
    there is any."""
    known = any(words.interplay(point)[0] is not None for point in _points(columns))
    panels = [
        Panel(
            tuple(mark for model in found for mark in _accuracy(model)),
            Axis("" if known else _hidden(found), low=0.0, high=1.0),
            Axis("" if place else "accuracy", low=0.0, high=1.02, grid=True),
            f"{short(nuisance, 34)}\n{found[0].row['filled_with']}",
        )
        for place, (nuisance, found) in enumerate(columns.items())
    ]
    low, high = _range(columns)
    if known:
        panels += [
            Panel(
                (Rule(0.0, "x"), Rule(1.0, "x"), *(mark for model in found for mark in _interplay(model))),
                Axis(_hidden(found), low=0.0, high=1.0),
                Axis("" if place else "iOcclusion", low=low, high=high, grid=True),
            )
            for place, found in enumerate(columns.values())
        ]
    names = ", ".join(dict.fromkeys(model.name for found in columns.values() for model in found))
    return Figure(
        f"accuracy{' and iOcclusion' * known} of {names} against the hidden share: {', '.join(columns)}",
        tuple(panels),
        reading,
        columns=len(columns),
        height=3.0 if known else 3.4,
        share="rows",
    )


def _who(model: DescribedModel) -> ClassifierName:
    return ClassifierName(model.classifier, model.name)


def _accuracy(model: DescribedModel) -> Iterator[Mark]:
    shares = (0.0, *(point["share"] for point in model.points))
    test = (model.row["accuracy_clean"], *(point["accuracy"] for point in model.points))
    ends = (model.row["accuracy_clean_interval"], *(point["accuracy_interval"] for point in model.points))
    yield from curve(_who(model), shares, test, ends, markers=True)
    if model.row["train_set"] is not None:
        train = (model.row["train_accuracy_clean"], *(point["train_accuracy"] for point in model.points))
        yield Line(_who(model), shares, train, "dotted")


def _interplay(model: DescribedModel) -> Iterator[Mark]:
    known = [(point["share"], *words.interplay(point)) for point in model.points]
    start = [(0.0, 1.0, (1.0, 1.0))] if model.row["divisible"] else []
    found = [*start, *((share, value, ends) for share, value, ends in known if value is not None and ends is not None)]
    if found:
        ends = ([min(HIGHEST, max(LOWEST, end)) for end in both] for _, _, both in found)
        yield from curve(_who(model), (x for x, _, _ in found), (y for _, y, _ in found), ends, markers=True)


def _range(columns: Mapping[str, Sequence[DescribedModel]]) -> tuple[float, float]:
    """Wide enough for all values and, as far as is reasonable, for their intervals."""
    points = [words.interplay(point) for point in _points(columns)]
    values = [value for value, _ in points if value is not None]
    ends = [end for _, pair in points if pair is not None for end in pair]
    low = min([-0.2, *values, *(max(end, LOWEST) for end in ends)])
    high = max([1.2, *values, *(min(end, HIGHEST) for end in ends)])
    return low - 0.05, high + 0.05


def _points(columns: Mapping[str, Sequence[DescribedModel]]) -> list[Row]:
    return [point for found in columns.values() for model in found for point in model.points]


def _hidden(found: Sequence[DescribedModel]) -> str:
    return f"hidden share of {'each side' if found[0].row['share_of'] == 'sides' else 'the pixels'}"
