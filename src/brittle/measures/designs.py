"""How the draws of θ for one image may depend on each other; each by itself is a draw of the prior.

Options are made of their names: this imports no torch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DesignName = Literal["independent", "antithetic", "sobol"]


class DrawDesign(NamedTuple):
    """Draws of a design are numbered from `first` on, so that whoever reads a number can make its θ again. Those of a
    `block` are one observation, since they depend on each other; blocks do not."""

    first: int
    block: int
    blocks: str  # in words


DESIGNS: Mapping[str, DrawDesign] = {
    "independent": DrawDesign(0, 1, "draws"),
    "antithetic": DrawDesign(1 << 29, 2, "pairs of opposite draws"),
    "sobol": DrawDesign(1 << 30, 4, "nets of four Sobol points"),
}


def draws_in_order(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Numbers of draws as rows have them → their places among those of their design."""
    found = numbers.copy()
    for design in DESIGNS.values():
        found[numbers >= design.first] = numbers[numbers >= design.first] - design.first
    return found
