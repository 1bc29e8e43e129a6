"""Coverage, size and false claims where chance decides, by simulation with known truth, as Markdown tables.

    OMP_NUM_THREADS=1 python benchmarks/chance_levels.py [consistency] [interference] [line] [--studies 300]

Seeded; a few minutes on one core. "before" is the method that was replaced, restated here; "after" is the one in
`brittle.statistics`. All at confidence 0.95.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
from scipy.stats import multivariate_normal, norm

from brittle.statistics.consistency import consistency, from_counts, interval, redrawn, redrawn_together
from brittle.statistics.crossed import resampled

Array = npt.NDArray[np.float64]
CONFIDENCE, DRAWS = 0.95, 500
ENDS = ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2)


# Error consistency


def both_wrong(first: float, second: float, correlation: float) -> float:
    """How often two are wrong whose difficulties are normal with this correlation, at these error rates."""
    return float(
        multivariate_normal.cdf(norm.ppf([first, second]), [0, 0], [[1, correlation], [correlation, 1]])
        if correlation < 1
        else min(first, second)
    )


def kappa_of(first: float, second: float, together: float) -> float:
    cells = np.array([1 - first - second + together, second - together, first - together, together])
    return float(from_counts(cells).kappa)


def plain_quantiles(drawn: Array) -> tuple[float, float]:
    known = drawn[np.isfinite(drawn)]
    low, high = np.quantile(known, ENDS) if len(known) >= len(drawn) / 2 else (np.nan, np.nan)
    return float(low), float(high)


def kappa_intervals(right: Array, pairs: npt.NDArray[np.int64], factors: list[Array]) -> list[tuple[float, float]]:
    """Before and after, of the mean κ over pairs; nothing where κ is undefined in all of them."""
    seen, count = np.ones_like(right), right.shape[1]
    kappa = consistency(right, seen, pairs).kappa
    known = ~np.isnan(kappa)
    if not known.any():
        return []
    here = pairs[known]
    before = resampled(lambda weights: consistency(right, seen, here, weights).kappa, count, factors, DRAWS, 0)
    defined = ~np.isnan(before)
    with np.errstate(invalid="ignore"):
        means = np.where(defined, before, 0).sum(1) / defined.sum(1)
    if len(here) == 1 and not factors:
        after = redrawn(right, here, DRAWS, 0)
    else:
        after = redrawn_together(right, seen, here, factors, DRAWS, 0)
    told = interval(float(kappa[known].mean()), after.mean(1), CONFIDENCE)
    assert told is not None
    return [plain_quantiles(means), told]


def coverage(studies: Iterator[list[tuple[float, float]]], truth: float) -> str:
    """Before and after, of the studies in which there is something to tell."""
    told = np.array([each for each in studies if each])  # (S, 2, 2)
    held = ((told[..., 0] <= truth) & (truth <= told[..., 1])).mean(0)
    return f"{held[0]:.2f} | {held[1]:.2f} | {np.nanmean(told[:, 1, 1] - told[:, 1, 0]):.2f}"


def consistency_table(studies: int) -> None:
    print("| | κ | images | covered before | after | mean width |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    one = np.array([(0, 1)])
    for first, second, together in (
        (0.02, 0.02, 0.0102),
        (0.02, 0.02, 0.0004),
        (0.05, 0.05, 0.0454),
        (0.05, 0.05, 0.049),
        (0.05, 0.05, 0.001),
        (0.05, 0.05, 0.0),
        (0.02, 0.1, 0.01),
        (0.3, 0.3, 0.195),
    ):
        truth = kappa_of(first, second, together)
        for count in (20, 100, 500):
            rng = np.random.default_rng(count)

            def drawn(rng: np.random.Generator, count: int) -> Array:
                where = rng.random(count)
                only = first - together
                return np.array([where >= first, (where >= first + second - together) | (where < only)], float)

            found = (kappa_intervals(drawn(rng, count), one, []) for _ in range(studies))
            print(
                f"| errors {first:.0%} and {second:.0%} | {truth:.2f} | {count} | {coverage(found, truth)} |",
                flush=True,
            )
    for shapes, textures in ((10, 10), (20, 20), (40, 12)):
        for rate, shared, correlation in ((0.03, 0.0, 0.5), (0.03, 0.5, 0.75), (0.05, 0.8, 0.8), (0.3, 0.5, 0.75)):
            truth = kappa_of(rate, rate, both_wrong(rate, rate, correlation))
            rng = np.random.default_rng(shapes)
            found = (
                kappa_intervals(*crossed(rng, shapes, textures, rate, shared, correlation)) for _ in range(studies)
            )
            about = f"{shapes} shapes × {textures} textures, {shared:.0%} of difficulty by these, errors {rate:.0%}"
            print(f"| {about} | {truth:.2f} | {shapes * textures} | {coverage(found, truth)} |", flush=True)
    for people in (3, 10):
        pairs = np.array([(0, person) for person in range(1, people + 1)])
        for rate, correlation in ((0.03, 0.0), (0.03, 0.9), (0.05, 0.99), (0.3, 0.5)):
            truth = kappa_of(rate, rate, both_wrong(rate, rate, correlation))
            for count in (20, 100, 500):
                rng = np.random.default_rng(people)
                found = (
                    kappa_intervals(difficult(rng, people + 1, count, rate, correlation), pairs, [])
                    for _ in range(studies)
                )
                about = f"mean over {people} people, errors {rate:.0%}"
                print(f"| {about} | {truth:.2f} | {count} | {coverage(found, truth)} |", flush=True)


def difficult(rng: np.random.Generator, deciders: int, count: int, rate: float, correlation: float) -> Array:
    """Who is right (N, n), where difficulties are normal and correlate between deciders."""
    hard = np.sqrt(correlation) * rng.normal(size=count)
    return (hard + np.sqrt(1 - correlation) * rng.normal(size=(deciders, count)) > norm.ppf(rate)).astype(np.float64)


def crossed(
    rng: np.random.Generator, shapes: int, textures: int, rate: float, shared: float, correlation: float
) -> tuple[Array, npt.NDArray[np.int64], list[Array]]:
    """Two deciders on every combination; `shared` of the variance of difficulties is of shapes and textures."""
    shape, texture = np.divmod(np.arange(shapes * textures), textures)
    hard = np.sqrt(shared / 2) * (rng.normal(size=shapes)[shape] + rng.normal(size=textures)[texture])
    hard = hard + np.sqrt(correlation - shared if correlation > shared else 0) * rng.normal(size=len(shape))
    own = np.sqrt(1 - max(correlation, shared)) * rng.normal(size=(2, len(shape)))
    return (hard + own > norm.ppf(rate)).astype(np.float64), np.array([(0, 1)]), [shape, texture]


TABLES: dict[str, Callable[[int], None]] = {"consistency": consistency_table}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("tables", nargs="*", choices=[*TABLES, []])
    parser.add_argument("--studies", type=int, default=300)
    given = parser.parse_args()
    for name in given.tables or TABLES:
        print(f"\n### {name.capitalize()}\n")
        TABLES[name](given.studies)


if __name__ == "__main__":
    main()
