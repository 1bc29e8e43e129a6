"""Figures of perturbations: matrices (UREM, figure 8), bubbles (figure 6), accuracy against ε, risk and coverage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from brittle.measures.perturbation.change_sizes import ChangeSizes
from brittle.report.blocks.figure import Axis, Cells, Figure, Line, Mark, Panel, Points, Role, Rule, category_axis
from brittle.report.blocks.text import ClassifierName
from brittle.report.page.section import Row
from brittle.report.page.words import percent, short
from brittle.report.sections.marks import chart, intervals
from brittle.report.sections.tables import who
from brittle.statistics.selective import risk_coverage

Numbers = NDArray[np.float64]
FAILED, NOTHING = "never reached", "not searched"
NAMED_CLASSES = 20  # past this many an axis has numbers
MARKED_CLASSES = 60  # past this many a bubble has a line alone
MARKED = (4, 8)  # of 255
MOST_LEVEL = 64  # of 255, where the axis of ε ends


class Bubble(NamedTuple):
    """One image: what it is, and the change (K,) towards each class per classifier; NaN for none, inf for failures."""

    title: str
    changes: Mapping[str, Numbers]


def matrix_figure(matrices: Mapping[str, Numbers], names: Mapping[str, Sequence[str]]) -> Figure:
    """A panel per classifier on one scale: rows are images, one per class; columns are targets."""
    finite = np.concatenate([each[np.isfinite(each)] for each in matrices.values()])
    most = 100 * float(finite.max()) if len(finite) else 1.0
    columns = min(2 if max(map(len, matrices.values())) > 8 else 3, len(matrices))
    told = "; ".join(f"{name}: {_spread(values)}" for name, values in matrices.items())
    return Figure(
        f"Perturbation matrices, in % of the value range. {told}",
        tuple(_matrix(name, values, names[name], most) for name, values in matrices.items()),
        "The first image of each class that is right untouched (row) against every other class (column). Dark: little "
        "is needed. Yellow: the search never got there. Grey: not searched, or no image of the class is right.",
        columns=columns,
        height=4.3 if columns > 1 else 5.6,
    )


def _matrix(classifier: str, values: Numbers, names: Sequence[str], most: float) -> Panel:
    # Dark where little is needed, light where much is, as in the paper; failures are yellow there and here.
    cells = Cells(
        tuple(tuple(_cell(value) for value in row) for row in values.tolist()),
        high=most,
        scale="falling",
        label="L∞ of the change, % of the value range",
        words=(FAILED, NOTHING),
    )
    x, y = Axis("target"), Axis("class of the image", falling=True)
    if len(values) <= NAMED_CLASSES:
        shortened = [short(name, 14) for name in names]
        x, y = category_axis(shortened, "target", slanted=True), category_axis(shortened, y.label, falling=True)
    return Panel((cells,), x, y, classifier, equal=True)


def _cell(value: float) -> float | str:
    return NOTHING if np.isnan(value) else FAILED if np.isinf(value) else 100 * value


def _spread(values: Numbers) -> str:
    finite, failed = values[np.isfinite(values)], int(np.isinf(values).sum())
    if not len(finite):
        return f"no change found, {failed} failures"
    low, middle, high = (100 * np.quantile(finite, share) for share in (0, 0.5, 1))
    return f"{low:.2f} to {high:.2f}, median {middle:.2f}, {failed} failures"


def bubble_figure(bubbles: Sequence[Bubble], names: Sequence[str]) -> Figure:
    """Polar: an angle per class, the radius the change needed towards it."""
    finite = [v for each in bubbles for c in each.changes.values() for v in c[np.isfinite(c)]]
    rim = 110 * max(finite, default=0.01)
    angles = 2 * np.pi * np.arange(len(names)) / len(names)
    ticks = tuple((float(at), short(name, 11)) for at, name in zip(angles, names, strict=True))
    around = Axis(ticks=ticks) if len(names) <= NAMED_CLASSES else Axis("class")
    return Figure(
        f"Changes needed towards each class for {', '.join(each.title for each in bubbles)}",
        tuple(
            Panel(
                tuple(mark for name, changes in each.changes.items() for mark in _bubble(name, changes, rim)),
                around,
                Axis(low=0, high=rim),
                short(each.title),
                polar=True,
            )
            for each in bubbles
        ),
        "An angle per class, the radius the change needed towards it, in % of the value range; the image’s own class "
        "is left out. × at the rim: the search failed.",
        columns=min(3, len(bubbles)),
        height=3.4,
    )


def _bubble(classifier: str, changes: Numbers, rim: float) -> list[Mark]:
    of, angle = ClassifierName(classifier), 2 * np.pi * np.arange(len(changes)) / len(changes)
    there = np.flatnonzero(np.isfinite(changes))
    closed = np.append(there, there[:1])
    failed = tuple(angle[np.isinf(changes)].tolist())
    x, y = tuple(angle[closed].tolist()), tuple((100 * changes[closed]).tolist())
    outline = Line(of, x, y, markers=len(changes) <= MARKED_CLASSES)
    return [outline, Points(of, failed, (rim,) * len(failed), "cross")]


def accuracy_figure(found: Mapping[str, ChangeSizes], rows: Sequence[Row]) -> Figure:
    """The share of images that are right and that no change found so far of at most ε moves."""
    marks: list[Mark] = [Rule(level, dash="dotted", text=f"{level}/255") for level in MARKED]
    for row in rows:
        sizes = found[row["classifier"]]
        ends = np.sort(np.where(sizes.correct, sizes.left, -1.0))
        grid = np.concatenate(([0.0], np.unique(ends[(ends > 0) & np.isfinite(ends)]), [1.0]))
        right = tuple(float((ends > epsilon).mean()) for epsilon in grid)
        at = (255 * each["epsilon"] for each in row["accuracy"])
        marks.append(Line(who(row), tuple((255 * grid).tolist()), right, step="level"))
        marks.append(intervals(who(row), at, (each["interval"] for each in row["accuracy"]), weight="thick"))
    told = ", ".join(f"{row['classifier']} {row['accuracy'][0]['accuracy']:.3f} untouched" for row in rows)
    return chart(
        f"Upper bounds on robust accuracy against ε: {told}",
        marks,
        Axis("ε, on the scale of 0 to 255", low=0, high=MOST_LEVEL),
        Axis("accuracy at most", low=0, high=1, grid=True),
        "The share of images that are right and whose label no change found of at most ε moves, whatever its "
        "probability: an upper bound on robust accuracy, since a smaller change may exist. Bars are "
        f"{percent(rows[0]['confidence'])} intervals for all ε of a classifier at once.",
    )


def risk_figure(found: Mapping[str, ChangeSizes]) -> Figure:
    """Risk among the images that are kept, by the least change and by the greatest probability."""
    return Figure(
        f"Risk against coverage of {', '.join(found)}",
        tuple(
            Panel(
                (
                    _risk(Role("second", "least change"), sizes.smallest(), ~sizes.correct),
                    _risk(Role("first", "greatest probability"), sizes.max_softmax, ~sizes.correct),
                ),
                Axis("share of images kept"),
                Axis("errors among them", low=0, grid=True),
                short(name),
            )
            for name, sizes in found.items()
        ),
        columns=min(3, len(found)),
        height=2.6,
        share="y",
    )


def _risk(of: Role, score: Numbers, wrong: NDArray[np.bool_]) -> Line:
    curve = risk_coverage(score, wrong)
    return Line(of, tuple(curve.coverage.tolist()), tuple(curve.risk.tolist()))
