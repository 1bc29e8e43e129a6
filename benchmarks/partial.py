"""Partial correlations beside pingouin's and a regression by statsmodels, as a Markdown table.

    python benchmarks/partial.py

Needs pingouin and statsmodels, which the package does not. Seeded; a row per number of models, over 200 made-up studies
each: the greatest distance between Brittle's ρ(attribute, y · x) and pingouin's, between their p-values, and between
that p-value and the one that statsmodels gives the attribute in y ~ x + attribute.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import numpy.typing as npt

from brittle.statistics.line import partial

Array = npt.NDArray[np.float64]
STUDIES = 200
MODELS = (5, 8, 16, 40)


def peers() -> tuple[Any, Any, Any]:
    try:
        import pandas
        import pingouin
        import statsmodels.api
    except ImportError as error:
        sys.exit(f"{error.name} is not installed: pip install -c constraints.txt pandas pingouin statsmodels")
    return pandas, pingouin, statsmodels.api


def made_up(random: np.random.Generator, count: int) -> tuple[Array, Array, Array]:
    """Accuracy without a shift, accuracy under it, and an attribute that goes with both."""
    x = random.uniform(0.5, 0.95, count)
    attribute = np.exp(3 * x + random.standard_normal(count))
    return x, 0.9 * x - 0.1 + 0.03 * random.standard_normal(count), attribute


def main() -> None:
    pandas, pingouin, statsmodels = peers()
    random = np.random.default_rng(0)
    print("| models | ρ, pingouin | p, pingouin | p, statsmodels |\n| --- | --- | --- | --- |")
    for count in MODELS:
        apart = np.zeros(3)
        for _ in range(STUDIES):
            x, y, attribute = made_up(random, count)
            found = partial(attribute, y, x)
            assert found.p_value is not None
            frame = pandas.DataFrame({"x": x, "y": y, "a": attribute})
            told = pingouin.partial_corr(frame, x="a", y="y", covar="x").iloc[0]
            p_value = next(told[name] for name in told.index if name.lower().startswith("p"))  # p-val or p_val
            design = statsmodels.add_constant(np.stack([x, (attribute - attribute.mean()) / attribute.std()], 1))
            fitted = statsmodels.OLS(y, design).fit()
            apart = np.maximum(
                apart,
                np.abs(
                    [found.correlation.value - told["r"], found.p_value - p_value, found.p_value - fitted.pvalues[2]]
                ),
            )
        print(f"| {count} | {apart[0]:.1e} | {apart[1]:.1e} | {apart[2]:.1e} |")


if __name__ == "__main__":
    main()
