"""The data interference (DI) index of Marcu & Prügel-Bennett 2022, equation 1, and what chance alone would give.

For run r and class c, c_r is the increase of wrong predictions into c, positive part, as a share of the evaluated
images times the number of classes. With c_max the class of the highest mean increase over the runs,

    DI = E_r[c_max,r / Σ_c c_r] · E_r[c_max,r].

In the worst case (B.1), c_max is the class of the highest increase in any run, and that increase replaces its mean.
So can the paper's Table 9 be read: nearly all of its cells are those of Table 1 times a factor, spread included.

Of classes with the same mean increase, c_max is the one with the higher share. The maximum and the positive part bias
the index upwards, so that it is read against chance and never against zero.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from brittle.statistics.seeded import generator_of

Array = npt.NDArray[np.float64]
ROUNDING = 1e-9  # numbers that differ by less, relatively, are equal


class Index(NamedTuple):
    """The index of some runs. Where nothing increases in any run it is undefined: None."""

    value: float | None
    top: int | None  # the class of the highest mean increase
    share: float | None  # of a run's increase that goes there, on average over the runs that have one
    increase: float  # mean increase into it, times the number of classes
    agreeing: int  # runs in which it is itself the top class, alone or with others
    tied: tuple[int, ...]  # other classes with the same mean increase
    undefined: int  # runs without any increase
    worst: float | None  # with the greatest increase of any run and class in place of the greatest mean (B.1)


class Chance(NamedTuple):
    """The index by chance: its mean, its 95 % quantile, and how often it reaches the one observed."""

    mean: float
    high: float
    p_value: float
    increase: float  # mean increase into the top class, times the number of classes


def increases(wrong: Array, wrong_clean: Array) -> Array:
    """Shares (R, K) of all evaluated images that are wrongly given each class, distorted and clean → c_r (R, K)."""
    found: Array = wrong.shape[-1] * np.maximum(wrong - wrong_clean, 0.0)
    return found


def index(increase: Array) -> Index:
    """c_r (R, K) → the index."""
    value, top, share, mean = (each[0] for each in _indices(increase[None]))
    total = increase.sum(1)
    undefined = int((total <= 0).sum())
    if undefined == len(total):
        return Index(None, None, None, 0.0, 0, (), undefined, None)
    agreeing = int((_greatest(increase)[:, top] & (total > 0)).sum())
    tied = tuple(each for each in np.flatnonzero(_greatest(increase.mean(0))).tolist() if each != top)
    return Index(float(value), int(top), float(share), float(mean), agreeing, tied, undefined, _worst(increase))


def _worst(increase: Array) -> float:
    """The worst case (B.1) of c_r (R, K), some of which are above 0."""
    greatest = increase.max(0)
    shares = _shares(increase[None])[0]
    return float(np.where(_greatest(greatest), shares, 0.0).max() * greatest.max())


def _indices(increase: Array) -> tuple[Array, npt.NDArray[np.int64], Array, Array]:
    """c_r (S, R, K) of many studies → (S,) each: the index, its class, the mean share and the mean increase."""
    mean = increase.mean(1)
    leading = _greatest(mean)
    top, tied = leading.argmax(1), leading.sum(1) > 1
    if tied.any():
        top[tied] = _greatest(np.where(leading[tied], _shares(increase[tied]), -1.0)).argmax(1)
    share = _shares(np.take_along_axis(increase, top[:, None, None], 2), increase.sum(2, keepdims=True))[:, 0]
    highest = np.take_along_axis(mean, top[:, None], 1)[:, 0]
    return share * highest, top, share, highest


def _shares(increase: Array, total: Array | None = None) -> Array:
    """c_r (S, R, K), or of some classes with the total (S, R, 1) over all → (S, K): each class's share of a run's
    total, on average over the runs that have one."""
    total = increase.sum(2, keepdims=True) if total is None else total
    shares = np.divide(increase, total, out=np.zeros_like(increase), where=total > 0)
    return np.asarray(shares.sum(1) / np.maximum((total > 0).sum(1), 1))


def _greatest(values: Array) -> npt.NDArray[np.bool_]:
    """Which values (..., K) are the greatest of their row. Sums of the same numbers differ by rounding, and a tie must
    not be decided by that."""
    most = values.max(-1, keepdims=True)
    return np.asarray(values >= most - ROUNDING * np.abs(most))


def evenly(gained: Array) -> Array:
    """Where errors go that are spread at random, as shares (K,): an image is as likely to be given any class but its
    own. gained (K,) ≥ 0: errors among the images of each class."""
    classes, total = len(gained), float(gained.sum())
    found = (total - gained) / (total * (classes - 1)) if total > 0 and classes > 1 else np.full(classes, 1 / classes)
    return np.asarray(found, np.float64)


def spread_at_random(
    wrong: Array,
    wrong_clean: Array,
    images: int,
    observed: float,
    draws: int = 4000,
    seed: int = 0,
    towards: Array | None = None,
) -> Chance:
    """Chance if what is wrong beyond the clean errors is spread at random.

    wrong, wrong_clean (R, K): shares of the images; towards (R, K): where errors then go (see `evenly`), every class
    alike by default. Each run's wrong predictions are drawn anew, as many as there were, from its clean ones and the
    rest so spread; draws of one image are not independent, so images are counted, not draws."""
    generator = generator_of(seed)
    goes = np.full(wrong.shape, 1 / wrong.shape[1]) if towards is None else towards
    simulated = np.empty((draws, *wrong.shape))
    for run, (now, before) in enumerate(zip(wrong, wrong_clean, strict=True)):
        extra = max(0.0, now.sum() - before.sum())
        expected = before + extra * goes[run]
        count = round(images * float(now.sum()))
        if count == 0 or expected.sum() <= 0:
            simulated[:, run] = 0.0
            continue
        simulated[:, run] = generator.multinomial(count, expected / expected.sum(), draws) / images
    return _chance(increases(simulated, wrong_clean), observed)


def all_to_one(wrong: Array, wrong_clean: Array, observed: float, draws: int = 4000, seed: int = 0) -> Chance:
    """Chance if everything that a run has wrong beyond its clean errors goes to one class, drawn for each run."""
    generator = generator_of(seed)
    runs, classes = wrong.shape
    extra = np.maximum(wrong.sum(1) - wrong_clean.sum(1), 0.0)
    simulated = np.zeros((draws, runs, classes))
    chosen = generator.integers(classes, size=(draws, runs))
    np.put_along_axis(simulated, chosen[..., None], np.broadcast_to(classes * extra[:, None], (draws, runs, 1)), 2)
    return _chance(simulated, observed)


def _chance(simulated: Array, observed: float) -> Chance:
    found, _, _, highest = _indices(simulated)
    reached = (1 + int((found >= observed).sum())) / (1 + len(found))
    return Chance(float(found.mean()), float(np.quantile(found, 0.95)), reached, float(highest.mean()))


def bootstrap(increase: Array, confidence: float, draws: int = 2000, seed: int = 0) -> tuple[float, float] | None:
    """Quantiles of the index over runs drawn with replacement. Rough: there are seldom more than five, and the index is
    biased; None for fewer than three."""
    runs = len(increase)
    if runs < 3:
        return None
    chosen = generator_of(seed).integers(runs, size=(draws, runs))
    found = _indices(increase[chosen])[0]
    low, high = np.quantile(found, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)
