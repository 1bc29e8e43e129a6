"""The figure of error consistency: κ of every pair, as a matrix."""

from __future__ import annotations

from collections.abc import Sequence

from brittle.report.blocks import Cells, Estimate, Figure, category_axis
from brittle.report.blocks.wording import plain
from brittle.report.page.section import Row
from brittle.report.sections.marks import chart

MOST_NUMBERED = 16  # deciders up to whom every κ is written down
MOST_TOLD = 20  # pairs in words


def kappa(pair: Row, *, bounds: bool = True) -> Estimate:
    """0.68 [0.57, 0.77]"""
    low, high = (pair["interval"] if bounds else None) or (None, None)
    return Estimate(pair["kappa"], low, high, places=2, missing="undefined")


def kappa_figure(pairs: Sequence[Row]) -> Figure:
    """Cohen's κ of every pair, as a matrix."""
    names = list(dict.fromkeys(name for pair in pairs for name in (pair["first"], pair["second"])))
    found = {(pair["second"], pair["first"]): pair["kappa"] for pair in pairs}
    values = tuple(tuple(found.get((below, above)) for above in names[:-1]) for below in names[1:])
    texts = tuple(tuple("" if v is None else plain((Estimate(v, places=2),)) for v in row) for row in values)
    cells = Cells(values, texts=texts if len(names) <= MOST_NUMBERED else (), label="κ")
    told = "; ".join(
        f"{pair['first']} and {pair['second']} {plain((kappa(pair, bounds=False),))}" for pair in pairs[:MOST_TOLD]
    )
    axes = category_axis(names[:-1], slanted=len(names) > 4), category_axis(names[1:], falling=True)
    return chart(f"error consistency κ. {told}", [cells], *axes, height=min(9.0, 0.9 + 0.42 * len(names)))
