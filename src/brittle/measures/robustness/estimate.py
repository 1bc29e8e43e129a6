"""From a tally to numbers with intervals: how far a plan may be read, means per image, and what they say of ρ."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

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

TOGETHER = 1 << 20  # numbers of samples whose intervals are computed together


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


class Sample(NamedTuple):
    """What the interval of a mean over images is computed from: per-image values (M,), or of the estimand `set` rounds
    (R, M), without which that has none.

    `planned` images were meant to be read, a `share` of the plan: where a tolerance stops the reading of all, an
    interval for a share of them can be expected to be wider by the root of it."""

    values: Array
    rounds: Array | None
    population: int  # how many such images the named set holds
    planned: int
    share: float = 1.0
    single: bool = False  # whether a value is one observation, whatever the number of draws
    paired: bool = False  # a difference, in [−1, 1]

    @property
    def form(self) -> tuple[Any, ...]:
        """What samples that are computed together have in common."""
        return self.values.shape, None if self.rounds is None else self.rounds.shape, *self[2:]


def sample(
    options: RobustnessOptions,
    tally: Tally,
    reach: PlanReach,
    population: int,
    what: str = "confidence",
    *,
    only: NDArray[np.bool_] | None = None,
    minus: Tally | None = None,
) -> Sample:
    """One quantity over the images, or over `only` those of the plan marked (M planned,), or its paired difference to
    `minus`; `population` is how many such images the named set holds."""
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
    share = planned / tally.images
    return Sample(values, rounds, population, planned, share, single=what == "worst", paired=minus is not None)


def part_samples(
    options: RobustnessOptions, tally: Tally, reach: PlanReach, parts: Iterable[ImagesPart], what: str = "confidence"
) -> Iterator[Sample]:
    """One quantity over each of several parts of the images."""
    values, rounds = means(options, tally, reach, what)
    for part in parts:
        here, share = part.images, part.planned / tally.images
        of_part = None if rounds is None else rounds[:, here]
        yield Sample(values[here], of_part, part.population, part.planned, share)


def estimates(options: RobustnessOptions, samples: Iterable[Sample], confidence: float | None = None) -> list[Estimate]:
    """The mean of each sample with the interval of the estimand; nothing of no images. Many go together: intervals of a
    thousand classes, or of every pair of classifiers, one after the other would take a second."""
    return [each for some in _stretches(samples) for each in _estimates(options, some, confidence)]


def _stretches(samples: Iterable[Sample]) -> Iterator[list[Sample]]:
    """Samples as they are made, as many at a time as memory should hold."""
    some, held = list[Sample](), 0
    for each in samples:
        some.append(each)
        held += (each.values if each.rounds is None else each.rounds).size
        if held >= TOGETHER:
            yield some
            some, held = [], 0
    yield some


def _estimates(options: RobustnessOptions, samples: Sequence[Sample], confidence: float | None) -> list[Estimate]:
    """Of samples of one form at once."""
    found = [Estimate()] * len(samples)
    alike: dict[tuple[Any, ...], list[int]] = {}
    for number, each in enumerate(samples):
        if len(each.values):
            alike.setdefault(each.form, []).append(number)
    for numbers in alike.values():
        bounds = _bounds(options, [samples[number] for number in numbers], confidence)
        for place, number in enumerate(numbers):
            mean = float(samples[number].values.mean())
            found[number] = (
                Estimate(mean)
                if bounds is None
                else Estimate.within(mean, Bounds(bounds.low[place], bounds.high[place]))
            )
    return found


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
    """The mean of one `sample`."""
    return estimates(options, [sample(options, tally, reach, population, what, only=only, minus=minus)], confidence)[0]


def _bounds(options: RobustnessOptions, samples: Sequence[Sample], confidence: float | None) -> Bounds | None:
    """The intervals of samples of one form."""
    first, values = samples[0], np.stack([each.values for each in samples])
    level = options.confidence if confidence is None else confidence
    target = None if options.tolerance is None else min(0.5, options.tolerance / math.sqrt(first.share))
    support, each = (-1.0, 1.0) if first.paired else (0.0, 1.0), 1 if first.single else options.block
    most = 1 if first.single else options.draws // each
    if options.estimand == "population":
        return betting_bounds(values, level, planned=first.planned, target=target, support=support)
    if options.estimand == "drawn":
        return finite_bounds(
            values,
            level,
            population=first.population,
            draws=most,
            planned=first.planned,
            target=target,
            support=support,
        )
    if first.rounds is None:
        return None
    rounds = np.stack([each.rounds for each in samples if each.rounds is not None])
    return rounds_bounds(rounds, level, planned=most, target=target, draws=each, support=support)


def meets_tolerance(options: RobustnessOptions, tally: Tally, reach: PlanReach, population: int) -> bool:
    """Whether the interval of ρ is as narrow as the tolerance asks."""
    return options.tolerance is not None and estimate(options, tally, reach, population).half_width <= options.tolerance
