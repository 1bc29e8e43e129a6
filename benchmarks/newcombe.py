"""The interval for a difference of two shares beside that of statsmodels (`pip install statsmodels`).

python benchmarks/newcombe.py
"""

from __future__ import annotations

import numpy as np
from statsmodels.stats.proportion import confint_proportions_2indep

from brittle.statistics.fieller import difference_of_shares

CONFIDENCES = (0.8, 0.95, 0.99)
SIZES = (5, 20, 100, 1000)


def main() -> None:
    """The greatest distance of either end, over shares from none to all of two samples of several sizes."""
    print("| images of each set | pairs of counts | greatest distance |")
    print("| --- | ---: | ---: |")
    for first in SIZES:
        for second in (size for size in SIZES if size >= first):
            counts = [
                (int(one), int(other))
                for one in np.linspace(0, first, min(first, 10) + 1)
                for other in np.linspace(0, second, min(second, 10) + 1)
            ]
            worst = max(
                distance(one, first, other, second, confidence) for one, other in counts for confidence in CONFIDENCES
            )
            print(f"| {first:,} and {second:,} | {len(counts)} | {worst:.1e} |")


def distance(one: int, first: int, other: int, second: int, confidence: float) -> float:
    ours = difference_of_shares(np.arange(first) < one, np.arange(second) < other, confidence)
    low, high = confint_proportions_2indep(
        one, first, other, second, method="newcomb", compare="diff", alpha=1 - confidence
    )
    return max(abs(ours.low - low), abs(ours.high - high))


if __name__ == "__main__":
    main()
