"""From a tally to numbers with intervals: how far a plan may be read, means per image, and what they say of ρ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from brittle.measures.robustness.tally import Array, Tally
from brittle.statistics.intervals import Bounds

if TYPE_CHECKING:
    from brittle.measures.robustness.measure import Robustness


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

    @classmethod
    def within(cls, value: float, bounds: Bounds) -> Estimate:
        """The mean that the bounds are of: they hold it, and here to the last bit, however the sums were rounded."""
        low, high = bounds.pair()
        return cls(value, min(low, value), max(high, value))

    @property
    def half_width(self) -> float | None:
        return None if self.low is None or self.high is None else (self.high - self.low) / 2

    @property
    def interval(self) -> list[float] | None:
        return None if self.low is None or self.high is None else [self.low, self.high]


class Reach(NamedTuple):
    """How far the plan was carried out: images × draws, and whether that was enough for the tolerance."""

    images: int
    draws: int
    units: int
    enough: bool


class Part(NamedTuple):
    """Some of the images, such as those of one class."""

    images: NDArray[np.intp]  # their places among those that were looked at; at least one
    planned: int  # how many of the plan are of this part
    population: int  # and how many of the named set


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
    return Estimate.within(mean, bounds)


def estimates(
    measure: Robustness,
    tally: Tally,
    reach: Reach,
    parts: Sequence[Part],
    what: str = "confidence",
    *,
    confidence: float | None = None,
) -> list[Estimate]:
    """The mean of one quantity over each of several parts of the images; those alike in numbers go together, since
    intervals of a thousand classes one after the other would take a second."""
    values, rounds = means(measure, tally, reach, what)
    alike: dict[tuple[int, int, int], list[int]] = {}
    for number, part in enumerate(parts):
        alike.setdefault((len(part.images), part.planned, part.population), []).append(number)
    found: dict[int, Estimate] = {}
    for (_, planned, population), numbers in alike.items():
        places = np.stack([parts[number].images for number in numbers])
        here, average = values[places], values[places].mean(-1)
        if measure.estimand == "set" and rounds is None:
            found |= {number: Estimate(float(mean)) for number, mean in zip(numbers, average, strict=True)}
            continue
        bounds = measure.bounds(
            here,
            None if rounds is None else np.ascontiguousarray(rounds[:, places].swapaxes(0, 1)),
            planned=planned,
            population=population,
            confidence=measure.confidence if confidence is None else confidence,
            draws=measure.draws,
            share=planned / tally.images,
            paired=False,
        )
        each = zip(numbers, average, bounds.low, bounds.high, strict=True)
        found |= {number: Estimate.within(float(mean), Bounds(low, high)) for number, mean, low, high in each}
    return [found[number] for number in range(len(parts))]


def enough(measure: Robustness, tally: Tally, reach: Reach, population: int) -> bool:
    """Whether the interval of ρ is as narrow as the tolerance asks."""
    rho = estimate(measure, tally, reach, population)
    return rho.half_width is not None and measure.tolerance is not None and rho.half_width <= measure.tolerance
