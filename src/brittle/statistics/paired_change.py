"""How much a mean has changed between two runs of the same items, and how many more items would settle a question.

Changes lie in [−1, 1]. Intervals are those of docs/statistics.md, of the same three estimands. `planned` is None where
more items may be looked at later: the sequence is then one and the same however many there are, so that looking again
is free."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from brittle.statistics.estimate import Estimate
from brittle.statistics.intervals import Bounds, betting_bounds, finite_bounds, rounds_bounds

Array = NDArray[np.float64]
SUPPORT = (-1.0, 1.0)
MOST_SEARCHED = 1 << 17  # items; past these only "more than" is said
CLOSE_ENOUGH = 1.05  # ratio of the numbers of items between which the search ends


class ChangeDesign(NamedTuple):
    """What a change is of, and how the items came about."""

    estimand: Literal["population", "set", "drawn"] = "population"
    planned: int | None = None  # items, or rounds of the estimand `set`
    population: int = 0  # of the named set, for the estimand `drawn`
    draws: int = 1  # of θ per item, for the same
    block: int = 1  # draws that are one observation, since they depend on each other


def mean_change(changes: Array, design: ChangeDesign, confidence: float) -> Estimate:
    """The mean of changes (S, M) of S draws of M items, in planned order, with its interval."""
    return Estimate.within(float(changes.mean()), _bounds(_rounds(changes, design), design, confidence))


def _rounds(changes: Array, design: ChangeDesign) -> Array:
    """Changes (S, M) by draws → (S / block, M) by observations."""
    return changes if design.block == 1 else changes.reshape(-1, design.block, changes.shape[1]).mean(1)


def _bounds(changes: Array, design: ChangeDesign, confidence: float) -> Bounds:
    if design.estimand == "set":
        planned = None if design.planned is None else design.planned // design.block
        return rounds_bounds(changes, confidence, planned=planned, draws=design.block, support=SUPPORT)
    means = changes.mean(0)
    if design.estimand == "drawn":
        return finite_bounds(
            means,
            confidence,
            population=max(design.population, len(means)),
            draws=design.draws // design.block,
            planned=design.planned,
            support=SUPPORT,
        )
    return betting_bounds(means, confidence, planned=design.planned, support=SUPPORT)


def items_to_tell(changes: Array, design: ChangeDesign, confidence: float, boundary: float) -> int | None:
    """How many items, or rounds of the estimand `set`, would leave `boundary` outside the interval, if those to come
    are like those at hand: the values are repeated until they do. None where even MOST_SEARCHED do not."""
    by_round = design.estimand == "set"
    values = _rounds(changes, design) if by_round else changes.mean(0)[None]
    here = int(values.shape[0] if by_round else values.shape[1])
    most = max(here, MOST_SEARCHED // int(values.shape[1]) if by_round else MOST_SEARCHED)

    def told(count: int) -> bool:
        shape = (count, values.shape[1]) if by_round else (1, count)
        again = np.resize(values, shape)
        plan = None if design.planned is None else count * (design.block if by_round else 1)
        whole = max(design.population, count)
        low, high = _bounds(again, design._replace(planned=plan, population=whole), confidence).pair()
        return not low < boundary <= high

    if abs(float(values.mean()) - boundary) < 1 / most:
        return None
    few, many = here, 2 * here
    while not told(many):
        if many >= most:
            return None
        few, many = many, min(2 * many, most)
    while many > math.ceil(CLOSE_ENOUGH * few):
        middle = math.isqrt(few * many)
        few, many = (few, middle) if told(middle) else (middle, many)
    return many * (design.block if by_round else 1)
