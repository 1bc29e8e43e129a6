"""Robustness µ(x) and ρ under a nuisance's prior (Fawzi & Frossard 2016, equations 1 and 2), with intervals.

ρ is a mean confidence; beside it stand accuracy clean and under the nuisance, worst-of-k accuracy and
the flip rate. What is estimated is named, and each estimand has its own interval (see docs/statistics.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from brittle.errors import BrittleError
from brittle.measures import register
from brittle.measures.intervals import (
    Bounds,
    betting_bounds,
    finite_bounds,
    rounds_bounds,
)
from brittle.measures.plan import Unit, by_image, by_round, rows_per_unit
from brittle.measures.tally import Array, Tally
from brittle.registry import option

Estimand = Literal["population", "set", "drawn"]

METHODS: Mapping[str, str] = {
    "population": "betting confidence sequence on the per-image means (Waudby-Smith & Ramdas 2023)",
    "set": "empirical-Bernstein confidence sequence over rounds (Howard et al. 2021)",
    "drawn": "betting confidence sequence without replacement, plus Hoeffding for the draws of θ",
}
ESTIMANDS: Mapping[str, str] = {
    "population": "the population that the images were drawn from",
    "set": "exactly this image set",
    "drawn": "the whole set that these images were drawn from without replacement",
}


class Estimate(NamedTuple):
    """A mean with its interval; the bounds are None where there is none to give."""

    value: float
    low: float | None = None
    high: float | None = None

    @property
    def half_width(self) -> float | None:
        return None if self.low is None or self.high is None else (self.high - self.low) / 2

    @property
    def interval(self) -> list[float] | None:
        return None if self.low is None or self.high is None else [self.low, self.high]


@register("robustness")
@dataclass(frozen=True)
class Robustness:
    """µ̂(x) per image and ρ̂ over the set, under draws from the nuisance's prior."""

    samples: int | None = option(None, "draws of θ per image; 100, or with a tolerance 10 (estimand set: at most 1000)")
    tolerance: float | None = option(None, "stop as soon as the interval's half-width is this small")
    estimand: Estimand = option("population", "what ρ is of: population, set (exactly these images) or drawn")
    confidence: float = option(0.95, "of every interval")
    worst_of: int = option(10, "an image counts for worst-of-k accuracy if its first k draws are all right")
    extra: tuple[Literal["nll", "ece", "top5"], ...] = option((), "also report nll, ece, top5")

    def __post_init__(self) -> None:
        if self.samples is not None and self.samples < 1:
            raise BrittleError(f"samples is {self.samples}", "At least one draw per image is needed.")
        if self.tolerance is not None and not 0 < self.tolerance < 0.5:
            raise BrittleError(f"tolerance is {self.tolerance:g}", "Give a half-width between 0 and 0.5, such as 0.01.")
        if not 0 < self.confidence < 1:
            raise BrittleError(f"confidence is {self.confidence:g}", "Give a number between 0 and 1, such as 0.95.")
        if self.worst_of < 1:
            raise BrittleError(f"worst-of is {self.worst_of}", "Give a whole number of at least 1.")

    @property
    def draws(self) -> int:
        """The most draws an image can get."""
        if self.samples is not None:
            return self.samples
        return 100 if self.tolerance is None else 1000 if self.estimand == "set" else 10

    def plan(self, images: int, numbers_per_image: int) -> list[Unit]:
        """The units in planned order; with a tolerance they are small, since stopping looks at their ends."""
        rows = rows_per_unit(numbers_per_image)
        if self.estimand == "set":
            rounds = 1 if self.tolerance is not None else max(1, rows // images)
            return by_round(images, self.draws, min(images, rows), rounds)
        per_unit = max(1, rows // self.draws) if self.tolerance is None else 32
        return by_image(images, self.draws, per_unit, min(self.draws, rows))

    def tally(self, images: int) -> Tally:
        return Tally(images, self.worst_of, self.draws if self.estimand == "set" else 0)

    def bounds(
        self,
        per_image: Array,
        by_round: Array | None,
        *,
        planned: int,
        population: int,
        confidence: float,
        draws: int,
        share: float,
        paired: bool,
    ) -> Bounds:
        """The interval for the mean of `per_image` (M,); estimand `set` reads `by_round` (R, M) instead.

        `planned` images were meant to be read, a `share` of the plan: where a tolerance stops the reading of all, an
        interval for a share of them can be expected to be wider by the root of it.
        """
        support = (-1.0, 1.0) if paired else (0.0, 1.0)
        target = None if self.tolerance is None else min(0.5, self.tolerance / math.sqrt(share))
        if self.estimand == "population":
            return betting_bounds(per_image, confidence, planned=planned, target=target, support=support)
        if self.estimand == "drawn":
            return finite_bounds(
                per_image,
                confidence,
                population=population,
                draws=draws,
                planned=planned,
                target=target,
                support=support,
            )
        assert by_round is not None
        return rounds_bounds(by_round, confidence, planned=draws, target=target, support=support)


class Reach(NamedTuple):
    """How far the plan was carried out: images × draws, and whether that was enough for the tolerance."""

    images: int
    draws: int
    units: int
    enough: bool


def complete(measure: Robustness, units: Sequence[Unit], count: int) -> list[tuple[int, int, int]]:
    """Where the plan may be read: (units done, images, draws), all images having the same number of draws."""
    places = []
    for place, unit in enumerate(units, 1):
        if measure.estimand == "set":
            if unit.end_image == count:
                places.append((place, count, unit.end_draw))
        elif unit.end_draw == measure.draws:
            places.append((place, unit.end_image, measure.draws))
    return places


def checkpoints(measure: Robustness, units: Sequence[Unit], count: int) -> list[tuple[int, int, int]]:
    """Where the tolerance is looked at: complete places, each at least 5 % further than the last."""
    chosen: list[tuple[int, int, int]] = []
    places = complete(measure, units, count)
    for place in places:
        if not chosen or place[1] * place[2] >= 1.05 * chosen[-1][1] * chosen[-1][2] or place is places[-1]:
            chosen.append(place)
    return chosen


def means(measure: Robustness, tally: Tally, reach: Reach, what: str) -> tuple[Array, Array | None]:
    """Per-image means (M,) of one sum of the tally, and its rounds (R, M) for estimand `set`."""
    here = slice(0, reach.images)
    if what == "worst":
        worst = (tally.wrong_among_first[here] == 0).astype(np.float64)
        return worst, worst[None] if measure.estimand == "set" else None
    rounds = getattr(tally, f"{what}_by_round", None) if measure.estimand == "set" else None
    if rounds is None:
        return getattr(tally, what)[here] / tally.draws[here], None
    rounds = rounds[: reach.draws].astype(np.float64)
    return rounds.mean(0), rounds


def estimate(
    measure: Robustness,
    tally: Tally,
    reach: Reach,
    population: int,
    what: str = "confidence",
    *,
    only: NDArray[np.bool_] | None = None,
    minus: Tally | None = None,
    confidence: float | None = None,
) -> Estimate:
    """The mean of one quantity over the images, or over `only` those of the plan marked (M planned,), or its paired
    difference to `minus`; `population` is how many such images the named set holds."""
    values, rounds = means(measure, tally, reach, what)
    planned = tally.images if only is None else int(only.sum())
    if minus is not None:
        others, other_rounds = means(measure, minus, reach, what)
        values = values - others
        if rounds is not None and other_rounds is not None:
            rounds = rounds - other_rounds
    if only is not None:
        here = only[: reach.images]
        values, rounds = values[here], None if rounds is None else rounds[:, here]
    if not len(values):
        return Estimate(float("nan"), None, None)
    mean = float(values.mean())
    if measure.estimand == "set" and rounds is None:
        return Estimate(mean, None, None)
    bounds = measure.bounds(
        values,
        rounds,
        planned=planned,
        population=population,
        confidence=measure.confidence if confidence is None else confidence,
        draws=1 if what == "worst" else measure.draws,
        share=planned / tally.images,
        paired=minus is not None,
    )
    return Estimate(mean, float(bounds.low), float(bounds.high))


def enough(measure: Robustness, tally: Tally, reach: Reach, population: int) -> bool:
    """Whether the interval of ρ is as narrow as the tolerance asks."""
    rho = estimate(measure, tally, reach, population)
    return rho.half_width is not None and measure.tolerance is not None and rho.half_width <= measure.tolerance
