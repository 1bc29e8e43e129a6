"""Do intervals cover where images are few, or nothing varies? Before and after, by simulation, as Markdown tables.

    python benchmarks/small_samples.py

Seeded; some minutes on one core. All intervals are nominal 95 %. "Before" restates what Brittle did until these
intervals replaced it; "after" calls it. Every table has 20, 100 and 1,000 images, and cases in which nothing is wrong,
or everything.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
from scipy.special import expit
from scipy.stats import norm

from brittle.statistics.betting_ratio import quotient_bounds
from brittle.statistics.corruption_error import ShiftErrors, corruption_errors
from brittle.statistics.crossed import enough, resampled, share_interval
from brittle.statistics.fieller import SignedSample, difference_of_shares, ratio
from brittle.statistics.intervals import simultaneous
from brittle.statistics.survival import survival

Array = npt.NDArray[np.float64]
Ends = tuple[float, float]
COUNTS = (20, 100, 1000)
Z = float(norm.ppf(0.975))
CLOSE = 1e-9
STUDIES_OF_FAMILIES = 150


def table(title: str, *columns: str) -> None:
    print(f"\n{title}\n\n| {' | '.join(columns)} |\n|{' --- |' * len(columns)}")


def row(*cells: object) -> None:
    print(f"| {' | '.join(f'{cell:.3f}' if isinstance(cell, float) else str(cell) for cell in cells)} |")


def covers(ends: Ends | None, truth: float) -> bool:
    return ends is not None and ends[0] - CLOSE <= truth <= ends[1] + CLOSE


def studies(count: int, most: int) -> int:
    return most if count < 1000 else most // 2


def chance(random: np.random.Generator, chances: Array | float, shape: tuple[int, ...]) -> Array:
    return (random.random(shape) < chances).astype(np.float64)


# Breaking points.


def greenwood(whole: Array) -> Ends:
    """Kaplan and Meier's estimate at one time before the limit, of independent paths, in log(−log S)."""
    share = float(whole.mean())
    if share in (0.0, 1.0):
        return share, share
    reach = Z * math.sqrt((1 - share) / (share * len(whole))) / math.log(share)
    low, high = sorted((share ** math.exp(-reach), share ** math.exp(reach)))
    return low, high


def of_survival() -> None:
    table(
        "Survival band of breaking points, at one severity. With 5 paths images differ, as Beta with the mean S.",
        *("images", "paths", "S", "covers, before", "after", "curve outside its band, before", "after", "mean width"),
    )
    for count in COUNTS:
        for paths in (1, 5):
            for truth in (1.0, 0.98, 0.5, 0.02, 0.0):
                random, many = np.random.default_rng(1), studies(count, 400)
                hits, outside, width = np.zeros(2), np.zeros(2), 0.0
                for _ in range(many):
                    own = random.beta(2 * truth, 2 * (1 - truth), (count, 1)) if 0 < truth < 1 else truth
                    whole = chance(random, own, (count, paths))
                    curve = survival(np.ones((count, paths)), whole < 1, np.ones(1), 0.95)
                    ends = greenwood(whole[:, 0]), (float(curve.low[0]), float(curve.high[0]))
                    hits += [covers(each, truth) for each in ends]
                    outside += [not covers(each, float(whole.mean())) for each in ends]
                    width += ends[1][1] - ends[1][0]
                shares = [each / many for each in (*hits.tolist(), *outside.tolist())]
                row(count, paths, f"{truth:g}", *shares, width / many)


# Occlusion.


def moments(samples: Sequence[SignedSample]) -> tuple[float, float, float, float, float]:
    """N, D, their variances and covariance, from the items alone."""
    pairs = [np.cov(each.x, each.y) / len(each.x) for each in samples]
    above, below = (sum(each.sign * float(values.mean()) for each, values in part) for part in (
        [(each, each.x) for each in samples], [(each, each.y) for each in samples],
    ))  # fmt: skip
    total = np.sum(pairs, 0)
    return above, below, float(total[0, 0]), float(total[1, 1]), float(total[0, 1])


def fieller(samples: Sequence[SignedSample], asked: float = Z) -> Ends | None:
    """Told where the denominator is `asked` standard errors above 0."""
    above, below, var_above, var_below, both = moments(samples)
    if not below > max(asked, Z) * math.sqrt(var_below):
        return None
    a, b, c = below**2 - Z**2 * var_below, above * below - Z**2 * both, above**2 - Z**2 * var_above
    reach = math.sqrt(max(0.0, b**2 - a * c))
    return (b - reach) / a, (b + reach) / a


def of_relative() -> None:
    table(
        "A/A₀ on test images. A₀ is the accuracy, and so much of it is left; one answer in 50 becomes right.",
        *("images", "masks", "A₀", "left", "covers, before", "after", "mean width"),
    )
    for count in COUNTS:
        for accuracy, left, masks in (
            (1.0, 1.0, 1), (1.0, 0.99, 1), (0.95, 0.98, 1), (0.9, 0.6, 1), (0.9, 0.0, 1), (0.5, 0.5, 1),
            (0.95, 0.98, 5),
        ):  # fmt: skip
            random, many = np.random.default_rng(2), studies(count, 400)
            clean = chance(random, accuracy, (many, count))
            kept = np.where(clean > 0, left, 0.02)[..., None]
            occluded = chance(random, kept, (many, count, masks)).mean(-1)
            truth = left + 0.02 * (1 - accuracy) / accuracy
            after = quotient_bounds(occluded, clean, 0.95)
            before = [covers(fieller([SignedSample(*each)]), truth) for each in zip(occluded, clean, strict=True)]
            good = (after.low - CLOSE <= truth) & (truth <= after.high + CLOSE)
            width = float((after.high - after.low).mean())
            row(count, masks, f"{accuracy:g}", f"{left:g}", float(np.mean(before)), float(good.mean()), width)


def of_gaps() -> None:
    table(
        "Gap between the accuracies on as many training and test images.",
        *("images", "masks", "training", "test", "covers, before", "after", "mean width"),
    )
    for count in COUNTS:
        for train, test, masks in (
            (1.0, 1.0, 1), (1.0, 0.98, 1), (0.98, 0.95, 1), (0.9, 0.7, 1), (0.02, 0.02, 1), (0.0, 0.0, 1),
            (0.98, 0.95, 5),
        ):  # fmt: skip
            random, many = np.random.default_rng(3), studies(count, 1000)
            hits, width = np.zeros(2), 0.0
            for _ in range(many):
                pair = []
                for share in (train, test):
                    own = random.beta(2 * share, 2 * (1 - share), (count, 1)) if masks > 1 else share
                    pair.append(chance(random, own, (count, masks)).mean(1))
                value = pair[0].mean() - pair[1].mean()
                reach = Z * math.sqrt(sum(float(each.var(ddof=1)) / count for each in pair))
                found = difference_of_shares(*pair, 0.95)
                hits += [abs(value - (train - test)) <= reach + CLOSE, covers((found.low, found.high), train - test)]
                width += found.high - found.low
            row(count, masks, f"{train:g}", f"{test:g}", *(hits / many).tolist(), width / many)


def two_sets(random: np.random.Generator, count: int, train: float, test: float, left: float) -> list[SignedSample]:
    """Images that are right with these chances, of which so many stay so."""
    found = []
    for sign, share in ((1, train), (-1, test)):
        clean = chance(random, share, (count,))
        found.append(SignedSample(clean * chance(random, left, (count,)), clean, sign))
    return found


def of_iocclusion() -> None:
    table(
        "iOcclusion with a gap to divide by: coverage where it is told.",
        *("images of each set", "training", "test", "iOcclusion", "told, before", "after", "covers, before", "after"),
    )
    for count in COUNTS:
        for train, test, left in ((1.0, 0.5, 1.0), (1.0, 0.5, 0.98), (0.99, 0.6, 0.995), (0.95, 0.4, 0.3)):
            random, many = np.random.default_rng(4), studies(count, 1000)
            told: tuple[list[bool], list[bool]] = [], []
            for _ in range(many):
                samples = two_sets(random, count, train, test, left)
                after = ratio(samples, 0.95)
                ends = fieller(samples), after.interval
                for into, each in zip(told, ends, strict=True):
                    into += [] if each is None else [covers(each, left)]
            shares = [len(each) / many for each in told]
            row(count, f"{train:g}", f"{test:g}", f"{left:g}", *shares, *(float(np.mean(each)) for each in told))


def of_small_gaps() -> None:
    """A true iOcclusion of 1.5 in the limit of many images: N and D are normal, D with a standard error of 1."""
    table(
        "iOcclusion of 1.5 where the gap is barely above 0 (many images): told if the gap is so many standard errors.",
        *("true gap, standard errors", "asked for", "told", "covers, where told", "told and misses", "median"),
    )
    truth, spread, random = 1.5, 0.9, np.random.default_rng(5)
    for gap in (0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0):
        for asked in (Z, 3.0, 5.0):
            below = gap + random.standard_normal(400_000)
            above = truth * gap + spread * random.standard_normal(400_000)
            told = below > asked
            good = np.abs(above - truth * below) <= Z * math.hypot(spread, truth)
            median = float(np.median(above[told] / below[told])) if told.any() else math.nan
            covered = float(good[told].mean()) if told.any() else math.nan
            row(f"{gap:g}", f"{asked:.3g}", float(told.mean()), covered, float((told & ~good).mean()), median)


# Corruption errors.


def percentiles(random: np.random.Generator, own: Array, other: Array, draws: int) -> Ends | None:
    weights = random.multinomial(len(own), np.full(len(own), 1 / len(own)), draws)
    above, below = weights @ own, weights @ other
    if (below <= 0).mean() > 0.025:
        return None
    low, high = np.quantile(above[below > 0] / below[below > 0], [0.025, 0.975])
    return float(low), float(high)


def of_corruption_errors() -> None:
    table(
        "CE over three severities; half of the answers go by an image's hardness.",
        *("images", "paths", "error", "reference", "covers, before", "after", "mean width"),
    )
    for count in COUNTS:
        for error, other, paths in (
            (0.0, 0.5, 1), (0.001, 0.5, 1), (0.01, 0.3, 1), (0.3, 0.3, 1), (0.98, 0.98, 1), (1.0, 1.0, 1),
            (0.01, 0.3, 5),
        ):  # fmt: skip
            random, many, draws = np.random.default_rng(6), studies(count, 600), 400
            told: tuple[list[bool], list[bool]] = [], []
            width = 0.0
            for study in range(many):
                hardness, alike = random.random((count, 1, 1)), random.random((count, 3, paths)) < 0.5
                wrong = [
                    np.where(alike, hardness < share, random.random((count, 3, paths)) < share).mean(-1)
                    for share in (error, other)
                ]
                own, reference = (ShiftErrors.of(np.arange(count), 1 - each, np.ones(count)) for each in wrong)
                found = corruption_errors({"own": {"shift": own}}, {"shift": reference}, 0.95, draws, study)
                ends = percentiles(random, own.shifted, reference.shifted, draws), found["own"].ce["shift"].interval
                for into, each in zip(told, ends, strict=True):
                    into += [] if each is None else [covers(each, error / other)]
                width += ends[1][1] - ends[1][0] if ends[1] is not None else 0.0
            row(count, paths, f"{error:g}", f"{other:g}", *(float(np.mean(each)) for each in told), width / many)


# Shape bias.


def of_shape_bias() -> None:
    table(
        "Shape bias over shapes × textures, both with an effect of their own, by the crossed bootstrap.",
        *("shape images", "texture images", "mean logit", "covers"),
    )
    for shapes, textures in ((20, 3), (40, 5), (40, 10), (40, 20)):
        for middle in (0.0, -1.5):
            random = np.random.default_rng(7)
            truth = float(expit(middle + math.sqrt(2) * random.standard_normal(400_000)).mean())
            factors = list(np.divmod(np.arange(shapes * textures), textures))
            hits = []
            for study in range(300):
                effects = [
                    random.standard_normal(size)[which] for size, which in zip((shapes, textures), factors, strict=True)
                ]
                said = chance(random, expit(middle + sum(effects)), (shapes * textures,))
                drawn = resampled(_mean_of(said), len(said), factors, 400, study)
                ends = share_interval(float(said.mean()), drawn, factors, np.ones(len(said)), 0.95)
                hits.append(covers(ends, truth))
            row(shapes, textures, f"{middle:g}", float(np.mean(hits)))


def of_families() -> None:
    table(
        "Equal shape biases of ten classifiers, 20 × 20 stimuli: studies in which some of the 45 pairs is told apart.",
        *("draws", "in each tail", "told apart", "mean width"),
    )
    factors, classifiers = list(np.divmod(np.arange(400), 20)), 10
    confidence = simultaneous(0.95, classifiers * (classifiers - 1) // 2)
    grown = enough(2000, confidence)
    apart, width = np.zeros(2), np.zeros(2)
    for study in range(STUDIES_OF_FAMILIES):
        random = np.random.default_rng([8, study])
        effects = [random.standard_normal((20, 1))[which] for which in factors]
        said = chance(random, expit(sum(effects)), (400, classifiers))
        biases = resampled(_mean_of(said), 400, factors, grown, study)
        first, second = np.triu_indices(classifiers, 1)
        for place, draws in enumerate((2000, grown)):
            drawn = biases[:draws, first] - biases[:draws, second]
            low, high = np.quantile(drawn, [(1 - confidence) / 2, (1 + confidence) / 2], axis=0)
            apart[place] += ((low > 0) | (high < 0)).any()
            width[place] += (high - low).mean()
    for place, draws in enumerate((2000, grown)):
        shares = (each[place] / STUDIES_OF_FAMILIES for each in (apart, width))
        row(f"{draws:,}", f"{draws * (1 - confidence) / 2:.1f}", *map(float, shares))


def _mean_of(values: Array) -> Callable[[Array], Array]:
    """Of values (n,) or (n, K)."""
    return lambda weights: np.asarray((weights @ values).T / weights.sum(1)).T


def main() -> None:
    for make in (
        of_survival,
        of_relative,
        of_gaps,
        of_iocclusion,
        of_small_gaps,
        of_corruption_errors,
        of_shape_bias,
        of_families,
    ):
        make()


if __name__ == "__main__":
    main()
