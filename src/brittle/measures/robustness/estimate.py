"""From a tally to numbers with intervals: how far a plan may be read, means per image, and what they say of ρ."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from brittle.measures.arrays import Array
from brittle.measures.robustness.options import RobustnessOptions
from brittle.measures.robustness.tally import Tally
from brittle.statistics.estimate import Estimate
from brittle.statistics.intervals import Bounds, betting_bounds, finite_bounds, rounds_bounds

METHODS: Mapping[str, str] = {
    "population": "betting confidence sequence on the per-image means (Waudby-Smith & Ramdas 2023)",
    "set": "empirical-Bernstein confidence sequence over pairs of rounds (after Howard et al. 2021)",
    "drawn": "betting confidence sequence without replacement, plus Hoeffding for the draws of θ",
}
ESTIMANDS: Mapping[str, str] = {
    "population": "the population that the images were drawn from",
    "set": "exactly this image set",
    "drawn": "the whole set that these images were drawn from without replacement",
}


class PlanReach(NamedTuple):
    """How far the plan was carried out: images × draws, and whether that was enough for the tolerance."""

    images: int
    draws: int
    units: int
    enough: bool


class ImagesPart(NamedTuple):
    """Some of the images, such as those of one class."""

    images: NDArray[np.intp]  # their places among those that were looked at; at least one
    planned: int  # how many of the plan are of this part
    population: int  # and how many of the named set


def means(options: RobustnessOptions, tally: Tally, reach: PlanReach, what: str) -> tuple[Array, Array | None]:
    """Per-image means (M,) of one sum of the tally, and its rounds (R, M) for estimand `set`: draws that depend on each
    other make up one."""
    here = slice(0, reach.images)
    if what == "worst":
        worst = (tally.wrong_among_first[here] == 0).astype(np.float64)
        return worst, worst[None] if options.estimand == "set" else None
    rounds = getattr(tally, f"{what}_by_round", None) if options.estimand == "set" else None
    if rounds is None:
        return getattr(tally, what)[here] / tally.draws[here], None
    rounds = rounds[: reach.draws].astype(np.float64).reshape(-1, options.block, rounds.shape[-1]).mean(1)
    return rounds.mean(0), rounds


def estimate(
    options: RobustnessOptions,
    tally: Tally,
    reach: PlanReach,
    population: int,
    what: str = "confidence",
    *,
    only: NDArray[np.bool_] | None = None,
    minus: Tally | None = None,
    confidence: float | None = None,
) -> Estimate:
    """The mean of one quantity over the images, or over `only` those of the plan marked (M planned,), or its paired
    difference to `minus`; `population` is how many such images the named set holds."""
    values, rounds = means(options, tally, reach, what)
    planned = tally.images if only is None else int(only.sum())
    if minus is not None:
        others, other_rounds = means(options, minus, reach, what)
        values = values - others
        if rounds is not None and other_rounds is not None:
            rounds = rounds - other_rounds
    if only is not None:
        here = only[: reach.images]
        values, rounds = values[here], None if rounds is None else rounds[:, here]
    if not len(values):
        return Estimate()
    return bounded(
        options,
        values,
        rounds,
        population,
        planned,
        confidence=confidence,
        draws=1 if what == "worst" else None,
        share=planned / tally.images,
        paired=minus is not None,
    )


def bounded(
    options: RobustnessOptions,
    values: Array,
    rounds: Array | None,
    population: int,
    planned: int,
    *,
    confidence: float | None = None,
    draws: int | None = None,
    share: float = 1.0,
    paired: bool = False,
) -> Estimate:
    """The mean of per-image values (M,) with the interval of the estimand; `set` reads rounds (R, M) instead, and has
    none without.

    `planned` images were meant to be read, a `share` of the plan: where a tolerance stops the reading of all, an
    interval for a share of them can be expected to be wider by the root of it."""
    bounds = _bounds(
        options, values, rounds, population, planned, confidence=confidence, draws=draws, share=share, paired=paired
    )
    value = float(values.mean())
    return Estimate(value) if bounds is None else Estimate.within(value, bounds)


def _bounds(
    options: RobustnessOptions,
    values: Array,
    rounds: Array | None,
    population: int,
    planned: int,
    *,
    confidence: float | None = None,
    draws: int | None = None,
    share: float = 1.0,
    paired: bool = False,
) -> Bounds | None:
    """The intervals of several parts at once: values (…, M), rounds (…, R, M)."""
    level = options.confidence if confidence is None else confidence
    target = None if options.tolerance is None else min(0.5, options.tolerance / math.sqrt(share))
    support, each = (-1.0, 1.0) if paired else (0.0, 1.0), options.block if draws is None else 1
    most = (options.draws if draws is None else draws) // each
    if options.estimand == "population":
        return betting_bounds(values, level, planned=planned, target=target, support=support)
    if options.estimand == "drawn":
        return finite_bounds(
            values, level, population=population, draws=most, planned=planned, target=target, support=support
        )
    if rounds is None:
        return None
    return rounds_bounds(rounds, level, planned=most, target=target, draws=each, support=support)


def estimates(
    options: RobustnessOptions,
    tally: Tally,
    reach: PlanReach,
    parts: Sequence[ImagesPart],
    what: str = "confidence",
    *,
    confidence: float | None = None,
) -> list[Estimate]:
    """The mean of one quantity over each of several parts of the images; those alike in numbers go together, since
    intervals of a thousand classes one after the other would take a second."""
    values, rounds = means(options, tally, reach, what)
    alike: dict[tuple[int, int, int], list[int]] = {}
    for number, part in enumerate(parts):
        alike.setdefault((len(part.images), part.planned, part.population), []).append(number)
    found: dict[int, Estimate] = {}
    for (_, planned, population), numbers in alike.items():
        places = np.stack([parts[number].images for number in numbers])
        here, share = values[places], planned / tally.images
        by_round = None if rounds is None else np.ascontiguousarray(rounds[:, places].swapaxes(0, 1))
        bounds = _bounds(options, here, by_round, population, planned, confidence=confidence, share=share)
        for place, (number, mean) in enumerate(zip(numbers, here.mean(1).tolist(), strict=True)):
            found[number] = (
                Estimate(mean)
                if bounds is None
                else Estimate.within(mean, Bounds(bounds.low[place], bounds.high[place]))
            )
    return [found[number] for number in range(len(parts))]


def meets_tolerance(options: RobustnessOptions, tally: Tally, reach: PlanReach, population: int) -> bool:
    """Whether the interval of ρ is as narrow as the tolerance asks."""
    return options.tolerance is not None and estimate(options, tally, reach, population).half_width <= options.tolerance
