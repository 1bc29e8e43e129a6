"""The data interference (DI) index of Marcu & Prügel-Bennett 2022, equation 1, and what chance alone would give.

For run r and class c, c_r is the increase of wrong predictions into c, positive part, as a share of the evaluated
images times the number of classes. With c_max the class of the highest mean increase over the runs,

    DI = E_r[c_max,r / Σ_c c_r] · E_r[c_max,r].

In the worst case (B.1), c_max is the class of the highest increase in any run, and that increase replaces its mean.
So can the paper's Table 9 be read: nearly all of its cells are those of Table 1 times a factor, spread included.

Of classes with the same mean increase, c_max is the one with the higher share. The maximum and the positive part bias
the index upwards, so that it is read against chance and never against zero. Draws of one image, and runs on it, are not
independent, and clean errors may persist or not: chance is therefore simulated image by image from the answers there
are, and nothing is assumed about how they came about.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import gammaincinv

from brittle.statistics.seeded import generator_of

Array = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64] | npt.NDArray[np.int32]
ROUNDING = 1e-9  # numbers that differ by less, relatively, are equal
FEWEST_DRAWS = 200
MOST_MOVES = 1 << 27  # answers renamed in all: fewer draws of chance where there are very many
AT_ONCE, COUNTED = 1 << 17, 1 << 14
CELLS, FEW_CELLS = 1 << 18, 1 << 12  # of tables to draw classes from


class InterferenceIndex(NamedTuple):
    """The index of some runs. Where nothing increases in any run it is undefined: None."""

    value: float | None
    top: int | None  # the class of the highest mean increase
    share: float | None  # of a run's increase that goes there, on average over the runs that have one
    increase: float  # mean increase into it, times the number of classes
    agreeing: int  # runs in which it is itself the top class, alone or with others
    tied: tuple[int, ...]  # other classes with the same mean increase
    undefined: int  # runs without any increase
    worst: float | None  # with the greatest increase of any run and class in place of the greatest mean (B.1)


class ChanceLevel(NamedTuple):
    """The index by chance: its mean, its 95 % quantile, and how often it reaches the one observed."""

    mean: float
    high: float
    p_value: float
    increase: float  # mean increase into the top class, times the number of classes


class WrongAnswers(NamedTuple):
    """Wrong answers of R runs on M distorted images: one of E rows for each image, run and class that was given."""

    image: Ints  # (E,) 0 … M − 1
    run: Ints  # (E,)
    given: Ints  # (E,) a class
    share: Array  # (E,) of all of the run's answers
    kept: Ints  # (M, X) classes that keep their names: the label and wrong answers to the untouched image; K if fewer


def increases(wrong: Array, wrong_clean: Array) -> Array:
    """Shares (R, K) of all evaluated images that are wrongly given each class, distorted and clean → c_r (R, K)."""
    found: Array = wrong.shape[-1] * np.maximum(wrong - wrong_clean, 0.0)
    return found


def index(increase: Array) -> InterferenceIndex:
    """c_r (R, K) → the index."""
    value, top, share, mean = (each[0] for each in _indices(increase[None]))
    total = increase.sum(1)
    undefined = int((total <= 0).sum())
    if undefined == len(total):
        return InterferenceIndex(None, None, None, 0.0, 0, (), undefined, None)
    agreeing = int((_greatest(increase)[:, top] & (total > 0)).sum())
    tied = tuple(each for each in np.flatnonzero(_greatest(increase.mean(0))).tolist() if each != top)
    return InterferenceIndex(
        float(value), int(top), float(share), float(mean), agreeing, tied, undefined, _worst(increase)
    )


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


def renamed_at_random(
    answers: WrongAnswers,
    wrong_clean: Array,
    observed: float,
    draws: int = 4000,
    seed: int = 0,
    shares: Array | None = None,
) -> ChanceLevel:
    """Chance if the names of wrong answers mean nothing: a randomisation test by image.

    The classes of an image's wrong answers are renamed together, in all of its draws and runs, so that answers that
    were equal stay equal; its label, and what it is wrongly given untouched, keep their names. By default every class
    in turn takes the place of another (a rotation by a random number): where no class attracts errors, this is as
    likely as what was observed, and p exact. With `shares` (K,), each answer is renamed to a class drawn from these
    instead, as a classifier would that goes by how frequent classes are.

    wrong_clean (R, K): shares of the images."""
    runs, classes = wrong_clean.shape
    held = (answers.kept[answers.image] == answers.given[:, None]).any(1)
    where = answers.run * classes
    base = np.bincount((where + answers.given)[held], answers.share[held], runs * classes)
    where, share = where[~held], answers.share[~held]
    draws = min(draws, max(FEWEST_DRAWS, MOST_MOVES // max(1, len(share))))
    rename: _Rotation | _ByShare
    rename = _Rotation(answers, ~held, classes) if shares is None else _ByShare(answers, ~held, shares)
    generator, simulated = generator_of(seed), np.empty((draws, runs * classes))
    for start in range(0, draws, step := max(1, AT_ONCE // max(1, len(share), len(answers.kept)))):
        renamed = rename.drawn(min(step, draws - start), generator)
        simulated[start : start + step] = base + _sums(renamed, where, share, runs * classes)
    return _chance(increases(simulated.reshape(draws, runs, classes), wrong_clean), observed)


def _sums(names: Ints, where: Ints, share: Array, bins: int) -> Array:
    """names (D, E), each counted from `where` (E,) on → the sum of the shares (E,) in each bin (D, bins): those of
    several draws in one pass, and of no more than stay in a cache."""
    step = max(1, COUNTED // max(1, len(share)))
    shares, found = np.tile(share, step), np.empty((len(names), bins))
    for start in range(0, len(names), step):
        some = names[start : start + step]
        apart = some + (where + bins * np.arange(len(some))[:, None])
        found[start : start + step] = np.bincount(apart.ravel(), shares[: apart.size], bins * len(some)).reshape(
            -1, bins
        )
    return found


class _Rotation:
    """Every image's classes but those that it keeps, in order and moved on by a random number."""

    def __init__(self, answers: WrongAnswers, moves: npt.NDArray[np.bool_], classes: int) -> None:
        kept = np.sort(answers.kept, 1).astype(np.int32)
        given, self.image = answers.given[moves].astype(np.int32), answers.image[moves]
        self.free = (classes - (kept < classes).sum(1)).astype(np.int32)  # (M,)
        self.kept = np.ascontiguousarray(kept[self.image].T)  # (X, E) in ascending order
        self.place = given - (self.kept < given).sum(0, dtype=np.int32)  # (E,) among the classes that are free
        self.most = self.free[self.image]

    def drawn(self, draws: int, generator: np.random.Generator) -> Ints:
        """Other names (D, E)."""
        on = (generator.random((draws, len(self.free)), np.float32) * self.free).astype(np.int32)
        found: Ints = on[:, self.image] + self.place
        # Less than nothing is more than anything without a sign: the smaller one is what lies in [0, most).
        unsigned = found.view(np.uint32)
        np.minimum(unsigned, unsigned - self.most.view(np.uint32), out=unsigned)
        for each in self.kept:
            found += found >= each
        return found


class _ByShare:
    """Classes drawn from shares, one for every class that an image is given in any run, but those that it keeps."""

    def __init__(self, answers: WrongAnswers, moves: npt.NDArray[np.bool_], shares: Array) -> None:
        classes = len(shares)
        pairs, self.pair = np.unique((answers.image * classes + answers.given)[moves], return_inverse=True)
        self.kept = np.ascontiguousarray(np.sort(answers.kept, 1)[pairs // classes].T)  # (X, U)
        self.given = (pairs % classes).astype(np.int32)
        with_none, ends = np.append(shares, 0.0), np.append(np.cumsum(shares), np.inf)
        # Where the kept classes' shares begin and how long they are, (X, U), and what the others leave, (U,).
        self.begin, self.long = (ends - with_none)[self.kept], with_none[self.kept]
        self.left = ends[-2] - with_none[np.ascontiguousarray(self.kept.T)].sum(1)
        self.total, self.ends = ends[-2], np.append(ends[:-2], np.inf)  # the last class has no end
        middles = (np.arange(CELLS) + 0.5) / CELLS * self.total
        first = np.searchsorted(middles, ends[:-2])  # the first cell of the next class
        self.quickly = np.arange(classes, dtype=np.int32).repeat(np.diff(first, prepend=0, append=CELLS))
        below = (np.arange(FEW_CELLS) - 1) / FEW_CELLS * self.total
        self.least = np.searchsorted(ends[:-2], below, side="right").astype(np.int32)

    def drawn(self, draws: int, generator: np.random.Generator) -> Ints:
        """Other names (D, E): from a table, and where that gives a class that is kept, from what the others leave."""
        found: Ints = self.quickly[generator.integers(CELLS, size=(draws, len(self.given)), dtype=np.uint32)]
        again = np.zeros(found.shape, bool)
        for each in self.kept:
            again |= found == each
        place = np.flatnonzero(again)
        which = place % len(self.given) if len(place) else place
        left = self.left[which]
        at = generator.random(len(which)) * left
        for begin, long in zip(self.begin, self.long, strict=True):
            at += np.where(at >= begin[which], long[which], 0.0)
        found.reshape(-1)[place] = np.where(left > ROUNDING, self._class_at(at), self.given[which])
        return found[:, self.pair]

    def _class_at(self, at: Array) -> Ints:
        """The class (n,) whose share holds each point of [0, total): from a table the least that it can be."""
        found: Ints = self.least[np.minimum(at * (FEW_CELLS / self.total), FEW_CELLS - 1).astype(np.int32)]
        while (beyond := at >= self.ends[found]).any():
            found += beyond
        return found


def unequal_shares(counts: Array) -> Array | None:
    """How often classes are given, as shares (K,), from counts (K,); None where the counts are what equal shares give
    (χ² test at 1 %). Chance makes counts unequal too: what it can explain is taken off the differences."""
    classes, total = len(counts), float(counts.sum())
    if total <= 0 or classes < 2:
        return None
    apart = float(((counts - total / classes) ** 2).sum() * classes / total)
    by_chance = 2 * float(gammaincinv((classes - 1) / 2, 0.99))  # the quantile of χ²; scipy.stats is slow to import
    weight = 1 - by_chance / max(apart, 1e-300)
    return weight * counts / total + (1 - weight) / classes if weight > 0 else None


def all_to_one(wrong: Array, wrong_clean: Array, observed: float, draws: int = 4000, seed: int = 0) -> ChanceLevel:
    """Chance if everything that a run has wrong beyond its clean errors goes to one class, drawn for each run."""
    generator = generator_of(seed)
    runs, classes = wrong.shape
    extra = np.maximum(wrong.sum(1) - wrong_clean.sum(1), 0.0)
    simulated = np.zeros((draws, runs, classes))
    chosen = generator.integers(classes, size=(draws, runs))
    np.put_along_axis(simulated, chosen[..., None], np.broadcast_to(classes * extra[:, None], (draws, runs, 1)), 2)
    return _chance(simulated, observed)


def _chance(simulated: Array, observed: float) -> ChanceLevel:
    found, _, _, highest = _indices(simulated)
    reached = (1 + int((found >= observed * (1 - ROUNDING)).sum())) / (1 + len(found))
    return ChanceLevel(float(found.mean()), float(np.quantile(found, 0.95)), reached, float(highest.mean()))


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
