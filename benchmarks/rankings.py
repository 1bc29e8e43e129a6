"""How often rankings are wrong: the paper's rule for ties beside paired tests, by simulation, as Markdown tables.

    python benchmarks/rankings.py

Seeded; about a minute on one core. Classifiers are right where an image's hardness plus their own noise lies below a
level, so that answers are correlated through hardness. Each row is 1,000 studies of 500 images at five severities.
First with equal accuracies: studies with any false difference, and with any pair that is said to change places. Then
with classifiers of which two really change places, and are 8 points apart at both ends: how often that is found.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.stats import norm

from brittle.statistics.ranking import better, holm, one_sigma, pair_differences, pairs

Array = npt.NDArray[np.float64]
Verdicts = npt.NDArray[np.int64]
STUDIES, IMAGES, SEVERITIES = 1000, 500, 5
EQUAL = np.linspace(0.9, 0.6, SEVERITIES)
APART = 0.08


def right(random: np.random.Generator, accuracies: Array, hardness: float) -> npt.NDArray[np.int64]:
    """(K, M, S) of classifiers with accuracies (K, S); `hardness` is the share of variance that is common."""
    own = np.sqrt(1 - hardness) * random.standard_normal((len(accuracies), IMAGES, accuracies.shape[1]))
    shared = np.sqrt(hardness) * random.standard_normal((1, IMAGES, 1))
    return (own + shared < norm.ppf(accuracies)[:, None]).astype(np.int64)


def by_overlap(scores: npt.NDArray[np.int64]) -> Verdicts:
    """(P, S): 1 where the first's interval of one standard error lies wholly above the second's, −1 below, 0 a tie."""
    low, high = (np.stack(each) for each in zip(*(one_sigma(one.astype(np.float64)) for one in scores), strict=True))
    return np.stack([(low[a] > high[b]).astype(np.int64) - (low[b] > high[a]) for a, b in pairs(len(scores))])


def by_tests(scores: npt.NDArray[np.int64]) -> Verdicts:
    found = pair_differences(scores, 1)
    return better(found.difference, holm(found.p_value), 0.05)


def swapping(verdicts: Verdicts) -> npt.NDArray[np.bool_]:
    return np.asarray((verdicts > 0).any(1) & (verdicts < 0).any(1))


def main() -> None:
    rules = {"overlap": by_overlap, "tests": by_tests}
    print(
        "| equal classifiers | hardness in common | false differences, overlap | tests | false swaps, overlap | tests |"
    )
    print("| --- | --- | --- | --- | --- | --- |")
    for count in (2, 5, 10):
        for hardness in (0.3, 0.8):
            random = np.random.default_rng(count)
            found = {name: np.zeros(2) for name in rules}
            for _ in range(STUDIES):
                scores = right(random, np.tile(EQUAL, (count, 1)), hardness)
                for name, rule in rules.items():
                    verdicts = rule(scores)
                    found[name] += [bool(verdicts.any()), bool(swapping(verdicts).any())]
            shares = [f"{100 * found[name][what] / STUDIES:.1f} %" for what in (0, 1) for name in rules]
            print(f"| {count} | {hardness:.1f} | {' | '.join(shares)} |")
    print("\n| classifiers, of which two change places | hardness in common | found, overlap | tests |")
    print("| --- | --- | --- | --- |")
    tilt = np.linspace(APART / 2, -APART / 2, SEVERITIES)
    for count in (2, 5, 10):
        for hardness in (0.3, 0.8):
            random = np.random.default_rng(100 + count)
            accuracies = np.tile(EQUAL, (count, 1))
            accuracies[0] += tilt
            accuracies[1] -= tilt
            hits = dict.fromkeys(rules, 0)
            for _ in range(STUDIES):
                scores = right(random, accuracies, hardness)
                for name, rule in rules.items():
                    hits[name] += bool(swapping(rule(scores))[0])
            print(
                f"| {count} | {hardness:.1f} | {' | '.join(f'{100 * hits[name] / STUDIES:.1f} %' for name in rules)} |"
            )


if __name__ == "__main__":
    main()
