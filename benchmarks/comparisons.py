"""How long it takes to compare many classifiers pair by pair, beside bisection alone, and that the numbers are equal.

    python benchmarks/comparisons.py

25 made-up classifiers on 10,000 images, one draw each: 300 pairs, two intervals per pair. Both ways take turns, five
times; median seconds with their range.
"""

from __future__ import annotations

import statistics
import time
from unittest.mock import patch

import numpy as np

from brittle.measures.base import ImageSetFacts
from brittle.measures.robustness.estimate import PlanReach
from brittle.measures.robustness.measure import Robustness
from brittle.measures.robustness.summary import ClassifierTally, compare_all
from brittle.statistics import betting
from brittle.statistics.betting import Array, Horizon

CLASSIFIERS, IMAGES, NUISANCES, TURNS = 25, 10_000, 13, 5
PAIRS = CLASSIFIERS * (CLASSIFIERS - 1) // 2


def made_up(measure: Robustness) -> dict[str, ClassifierTally]:
    """Classifiers that find the same images hard, each a little better than the one before."""
    random = np.random.default_rng(0)
    easy = random.standard_normal(IMAGES)
    found = {}
    for number in range(CLASSIFIERS):
        margin, tally = easy + random.normal(1 + 0.05 * number, 0.5, IMAGES), measure.tally(IMAGES)
        tally.draws[:], tally.confidence[:], tally.correct[:] = 1, 1 / (1 + np.exp(-2 * margin)), margin > 0
        found[f"classifier {number}"] = ClassifierTally(tally, PlanReach(IMAGES, 1, 1, True), {})
    return found


def by_bisection(values: Array, delta: float, horizon: Horizon, population: int | None) -> Array:
    flat = values.reshape(-1, values.shape[-1])
    wager = betting.bets(flat, delta, horizon)
    return betting._bisected(flat, wager, float(np.log(2 / delta)), population).reshape(values.shape[:-1])


def main() -> None:
    measure = Robustness(samples=1)
    labels = np.zeros(IMAGES, np.int64)
    subject = ImageSetFacts("made up", np.arange(IMAGES), labels, (), [""] * IMAGES, (1, 1, 1), IMAGES, labels)
    findings, ways = made_up(measure), {"now": betting.lower_end, "bisection alone": by_bisection}
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    said = {}
    for _ in range(TURNS):
        for way, end in ways.items():
            with patch.object(betting, "lower_end", end):
                start = time.perf_counter()
                said[way] = compare_all(measure, findings, subject, PAIRS * NUISANCES)
                seconds[way].append(time.perf_counter() - start)
    assert said["now"] == said["bisection alone"]
    print(f"{PAIRS} pairs of {CLASSIFIERS} classifiers on {IMAGES:,} images: equal numbers")
    for way, times in seconds.items():
        print(f"{way}: {statistics.median(times):.2f} s ({min(times):.2f} to {max(times):.2f})")


if __name__ == "__main__":
    main()
