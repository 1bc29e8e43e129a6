"""Intervals for ρ, valid at any stopping time, one for each thing ρ can be the ρ of.

(a) the population the images are drawn from: `betting_bounds` on the per-image means µ̂(x);
(b) exactly this image set, only θ being random: `rounds_bounds` on pairs of rounds over all images;
(c) a named set of which some images were drawn: `finite_bounds` on the µ̂(x) of those drawn.

The methods are Waudby-Smith & Ramdas 2023 (`betting.py`), Howard et al. 2021 (`rounds.py`) and Hoeffding
1963. Values come in planned order, never in the order of arrival. Leading dimensions are separate studies.
docs/statistics.md says what each interval promises.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv

from brittle.errors import BrittleError
from brittle.statistics import betting, rounds

Array = npt.NDArray[np.float64]
Support = tuple[float, float]

# Of δ, what `finite_bounds` gives to the noise of θ. Widths move with sqrt(log(1/δ)), so the share hardly
# matters; a fifth suits the usual case, in which the choice of images is the larger part.
NOISE_SHARE = 0.2
# float32 probabilities and their means overshoot their range by rounding; that much is clipped, not refused.
ROUNDING = 1e-6


class Bounds(NamedTuple):
    """An interval per study: arrays of the leading dimensions of the values, 0-d for one study."""

    low: Array
    high: Array

    @property
    def half_width(self) -> Array:
        """What `--tolerance` is compared with."""
        return np.asarray((self.high - self.low) / 2)

    def pair(self) -> tuple[float, float]:
        """(low, high) of a single study as plain numbers."""
        return float(self.low), float(self.high)


def betting_bounds(
    values: npt.ArrayLike,
    confidence: float,
    *,
    planned: int | None = None,
    target: float | None = None,
    population: int | None = None,
    support: Support = (0.0, 1.0),
) -> Bounds:
    """Betting interval for the mean behind values (..., T), at time T of a sequence valid at every time.

    planned: the number of values meant to be looked at, fixed beforehand; the sequence is then tightest
    there, and still valid before and after. target: the half-width at which looking will stop; the sequence
    is then tightest about there (or at `planned`, if that comes first). population: the values were drawn
    without replacement from that many, whose mean is meant; at T = population the interval is that mean.

    If the data exclude every candidate (probability at most 1 − confidence where the values are what they
    are said to be; otherwise a sign that their order was not random), nothing is claimed: the result is all
    that is possible, which is the support, or what the undrawn values leave open.
    """
    delta = _delta(confidence)
    unit = _unit(values, support, dimensions=1)
    count = unit.shape[-1]
    _check_count("planned", planned)
    if population is not None and population < max(count, 1):
        raise BrittleError(
            f"population is {population}, but there are {count} values drawn without replacement",
            "Give the size of the whole set.",
        )
    if count == 0:
        return _everything(unit.shape[:-1], support)
    least, most = betting.possible(unit, population)
    horizon = betting.Horizon(planned, None if target is None else target / (support[1] - support[0]))
    low, below_high = betting.lower_end(np.stack((unit, 1 - unit)), delta, horizon, population)
    return _finished(low, 1 - below_high, least, most, unit.mean(-1), support)


def rounds_bounds(
    values: npt.ArrayLike,
    confidence: float,
    *,
    planned: int | None = None,
    target: float | None = None,
    draws: int = 1,
    support: Support = (0.0, 1.0),
) -> Bounds:
    """Empirical-Bernstein interval for ρ of exactly P images, from values (..., R, P): R rounds of one fresh θ each, or
    of the mean of several `draws` that may depend on each other.

    The running intersection over the ends of pairs of rounds, valid at every one. planned: the number of rounds
    meant, fixed beforehand (16 if not said); target: the half-width at which reading will stop. They and `draws` set
    where the sequence is tightest; an odd plan begins with a single round, an even one with a pair.
    An empty intersection gives the support, as in `betting_bounds`, and so do too few rounds.
    """
    delta = _delta(confidence)
    unit = _unit(values, support, dimensions=2)
    _check_count("planned", planned)
    _check_count("draws", draws)
    if 0 in unit.shape[-2:]:
        return _everything(unit.shape[:-2], support)
    width = None if target is None else target / (support[1] - support[0])
    lows, highs = rounds.round_ends(unit, delta, planned, width, draws)
    low, high = lows.max(-1, initial=0.0), highs.min(-1, initial=1.0)
    return _finished(low, high, np.zeros_like(low), np.ones_like(high), unit.mean((-2, -1)), support)


def finite_bounds(
    values: npt.ArrayLike,
    confidence: float,
    *,
    population: int,
    draws: int,
    planned: int | None = None,
    target: float | None = None,
    support: Support = (0.0, 1.0),
) -> Bounds:
    """Interval for ρ of a set of `population` images, from the µ̂ (..., M) of M drawn without replacement.

    Each µ̂ is a mean over `draws` independent θ. Betting without replacement holds the mean of all µ̂, those
    never computed included, with 4/5 of δ; Hoeffding holds its distance from ρ, a mean of population·draws
    independent terms, with the rest. Valid at every M. When M = population, `rounds_bounds` is usually tighter.
    """
    delta = _delta(confidence)
    _check_count("draws", draws)
    noise = hoeffding_half_width(population * draws, 1 - NOISE_SHARE * delta, support)
    left = None if target is None or target <= noise else target - noise
    low, high = betting_bounds(
        values, 1 - (1 - NOISE_SHARE) * delta, planned=planned, target=left, population=population, support=support
    )
    least, most = support
    return Bounds(np.maximum(low - noise, least), np.minimum(high + noise, most))


def binomial_bounds(successes: npt.ArrayLike, trials: int, confidence: float) -> Bounds:
    """Clopper and Pearson's (1934) interval for a chance, from successes (...) among independent trials: exact for any
    number of them that was fixed beforehand."""
    _check_count("trials", trials)
    tail, seen = _delta(confidence) / 2, np.asarray(successes, np.float64)
    low = np.where(seen > 0, betaincinv(np.maximum(seen, 1), trials - seen + 1, tail), 0.0)
    high = np.where(seen < trials, betaincinv(seen + 1, np.maximum(trials - seen, 1), 1 - tail), 1.0)
    return Bounds(low, high)


def hoeffding_half_width(count: int, confidence: float, support: Support = (0.0, 1.0)) -> float:
    """(b − a) sqrt(ln(2/δ) / (2 count)): for a mean of that many independent values, the count fixed beforehand."""
    _check_count("count", count)
    least, most = _ordered(support)
    return (most - least) * math.sqrt(math.log(2 / _delta(confidence)) / (2 * count))


def theorem1_images(tolerance: float, delta: float) -> int:
    """Images that hold |ρ̂ − ρ| ≤ tolerance with probability 1 − δ: M ≥ ln(2/δ) / (2t²), whatever N.

    Fawzi & Frossard 2016, Theorem 1, first bound (Hoeffding's inequality on the M independent µ̂).
    """
    if not tolerance > 0:
        raise BrittleError(f"tolerance is {tolerance}", "Give a half-width above 0.")
    if not 0 < delta < 1:
        raise BrittleError(f"delta is {delta}", "Give a number between 0 and 1, such as 0.05.")
    return math.ceil(math.log(2 / delta) / (2 * tolerance**2))


def theorem1_pairs(tolerance: float, delta: float) -> int:
    """Pairs (image, θ) by Fawzi & Frossard 2016, Theorem 1, second bound: NM ≥ ln(2/δ) / (2t²). It does not hold.

    The NM terms are not independent: those of one image share it. If p(ℓ | θ, x) does not depend on θ, all N
    draws of an image are the same number and N is worth nothing, whatever the prior. Here for comparison with
    the paper, under its name; never a default.
    """
    return theorem1_images(tolerance, delta)


def simultaneous(confidence: float, count: int) -> float:
    """The confidence each of `count` intervals needs for all to hold together with `confidence` (Bonferroni)."""
    _check_count("count", count)
    return 1 - _delta(confidence) / count


def _finished(low: Array, high: Array, least: Array, most: Array, mean: Array, support: Support) -> Bounds:
    """Ends on [0, 1] → clipped to what is possible, all of it where they have crossed, on the support's scale.

    A running intersection may exclude the mean of the values themselves. What is given always holds it: an interval
    that holds another covers at least as often, whenever one stops."""
    crossed = low > high
    low = np.where(crossed, least, np.minimum(np.clip(low, least, most), mean))
    high = np.where(crossed, most, np.maximum(np.clip(high, least, most), mean))
    start, stop = support
    return Bounds(start + (stop - start) * low, start + (stop - start) * high)


def _everything(shape: tuple[int, ...], support: Support) -> Bounds:
    return Bounds(np.full(shape, support[0], dtype=np.float64), np.full(shape, support[1], dtype=np.float64))


def _unit(values: npt.ArrayLike, support: Support, dimensions: int) -> Array:
    """Values checked and moved from the support to [0, 1]."""
    least, most = _ordered(support)
    array = np.asarray(values, dtype=np.float64)
    if array.ndim < dimensions:
        raise BrittleError(f"values have {array.ndim} dimensions, and at least {dimensions} are needed")
    unit = (array - least) / (most - least)
    wrong = ~((unit >= -ROUNDING) & (unit <= 1 + ROUNDING))
    if wrong.any():
        place = np.unravel_index(int(wrong.argmax()), wrong.shape)
        where = ", ".join(str(int(index)) for index in place)
        raise BrittleError(
            f"value {float(array[place])} at [{where}] is not in [{least:g}, {most:g}]",
            "An interval needs finite values within the support.",
        )
    return np.clip(unit, 0, 1)


def _ordered(support: Support) -> Support:
    if not (math.isfinite(support[0]) and math.isfinite(support[1]) and support[0] < support[1]):
        raise BrittleError(f"support {support} is not an interval", "Give two finite numbers, the smaller first.")
    return support


def _delta(confidence: float) -> float:
    if not 0 < confidence < 1:
        raise BrittleError(f"confidence is {confidence}", "Give a number between 0 and 1, such as 0.95.")
    return 1 - confidence


def _check_count(name: str, count: int | None) -> None:
    if count is not None and count < 1:
        raise BrittleError(f"{name} is {count}", "Give a whole number of at least 1.")
