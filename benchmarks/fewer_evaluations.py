"""Draws that depend on each other, and control variates: how often the intervals cover, and what they save.

`OMP_NUM_THREADS=1 python benchmarks/fewer_evaluations.py` prints the tables of benchmarks/README.md. Coverage is
simulated with a made-up p(ℓ | θ, x) of known mean: a logistic function of six Gaussian numbers, steeper for some images
than for others. What is saved is measured with the bundled classifiers and images.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import norm, qmc
from torch import Tensor

import brittle
from brittle.measures.designs import DESIGNS
from brittle.measures.draws import design_theta
from brittle.random import normal, stream_root
from brittle.statistics.intervals import Bounds, betting_bounds, finite_bounds, rounds_bounds, theorem1_images
from brittle.types import Batch

Array = NDArray[np.float64]

NUMBERS = 6  # of θ
CONFIDENCE = 0.95
NUISANCE = "affine:alpha=50"
NEARBY = ("affine:alpha=60", "affine:alpha=100")
ROUNDS = 32
SEEDS = range(5)
TARGETS = (1, 2, 6)  # that share one control


class GaussianNumbers:
    """As much of a nuisance as draws ask for: θ is z itself."""

    def latent(self, batch: Batch) -> int:
        return NUMBERS

    def push(self, z: Tensor, batch: Batch) -> Tensor:
        return z

    def sample(self, batch: Batch, keys: Tensor) -> Tensor:
        return normal(keys, NUMBERS)


def drawn(design: str, ids: Tensor, draws: int, seed: int) -> Tensor:
    """z (M, N, 6) of every image."""
    every = ids.repeat_interleave(draws)
    batch = Batch(torch.zeros(len(every), 1, dtype=torch.float64), every, every)
    numbers = torch.arange(draws).repeat(len(ids))
    z = design_theta(design, GaussianNumbers(), batch, numbers, stream_root(seed, "simulated"))  # type: ignore[arg-type]
    return z.view(len(ids), draws, NUMBERS)


class MadeUp:
    """p(ℓ | z, x) = logistic(a + b·z₁ − c·|z|²), with a, b and c of each image."""

    def __init__(self, images: int, seed: int) -> None:
        made = np.random.default_rng(seed)
        self.a, self.b = made.normal(4, 3, images), made.normal(0, 2, images)
        self.c = made.exponential(0.5, images)

    def at(self, z: Array) -> Array:
        """z (M, N, 6) → (M, N)."""
        above = self.a[:, None] + self.b[:, None] * z[..., 0] - self.c[:, None] * np.square(z).sum(-1)
        found: Array = 1 / (1 + np.exp(-np.clip(above, -700, 700)))
        return found

    def means(self, points: int = 1 << 12) -> Array:
        """µ(x) of every image, by many points of an unscrambled net."""
        z = norm.ppf((qmc.Sobol(NUMBERS, scramble=False).random(points) + 0.5 / points) % 1)
        return np.concatenate([self._one(place).at(z[None]).mean(1) for place in range(len(self.a))])

    def _one(self, place: int) -> MadeUp:
        one = MadeUp.__new__(MadeUp)
        one.a, one.b, one.c = self.a[place, None], self.b[place, None], self.c[place, None]
        return one


def coverage(studies: int) -> None:
    print("| estimand | images | draws each | design | coverage | mean half-width |")
    print("| --- | ---: | ---: | --- | ---: | ---: |")
    population = float(MadeUp(20_000, 7).means(1 << 10).mean())
    for images in (20, 1000):
        for estimand, draws in (("population", 4), ("population", 8), ("set", 8), ("set", 32), ("drawn", 8)):
            for design, (_, block, _) in DESIGNS.items():
                found = simulated(estimand, images, draws, design, block, studies, population)
                held, width = np.array(found).T
                print(f"| {estimand} | {images:,} | {draws} | {design} | {held.mean():.3f} | {width.mean():.4f} |")


def simulated(
    estimand: str, images: int, draws: int, design: str, block: int, studies: int, population: float
) -> list[tuple[bool, float]]:
    """Whether each interval covers, and its half-width."""
    whole = 5 * images if estimand == "drawn" else images
    fixed = MadeUp(whole, 1)
    truth = population if estimand == "population" else float(fixed.means().mean())
    found = []
    for study in range(studies):
        ids = torch.arange(whole)
        made = fixed
        if estimand == "population":
            made = MadeUp(images, 1000 + study)
        p = made.at(drawn(design, ids, draws, study).numpy())
        bounds = interval(estimand, p, images, block, np.random.default_rng(study))
        found.append((bool(bounds.low <= truth <= bounds.high), float(bounds.half_width)))
    return found


def interval(estimand: str, p: Array, images: int, block: int, order: np.random.Generator) -> Bounds:
    """As `robustness` has it, from p (M, N)."""
    rounds = p.reshape(len(p), -1, block).mean(2).T
    if estimand == "set":
        return rounds_bounds(rounds, CONFIDENCE, planned=len(rounds), draws=block)
    if estimand == "drawn":
        some = order.permutation(len(p))[:images]
        return finite_bounds(p.mean(1)[some], CONFIDENCE, population=len(p), draws=len(rounds), planned=images)
    return betting_bounds(p.mean(1), CONFIDENCE, planned=images)


def saved() -> None:
    """Evaluations until the interval is narrow enough, and how narrow it is after as many: the median over seeds."""
    print(
        "| estimand | tolerance | Hoeffding's bound | "
        + " | ".join(DESIGNS)
        + " |\n| --- | ---: | ---: |"
        + " ---: |" * 3
    )
    for estimand, tolerance, samples in (("set", 0.01, None), ("set", 0.005, None), ("population", 0.03, 4)):
        cells = []
        for design in DESIGNS:
            runs = [measured(design, seed, estimand=estimand, tolerance=tolerance, samples=samples) for seed in SEEDS]
            assert all(found["tolerance_reached"] for found in runs)
            cells.append(f"{median(found['images'] * found['samples'] for found in runs):,.0f}")
        plain = f"{theorem1_images(tolerance, 0.05):,}" if estimand == "set" else "–"
        print(f"| {estimand} | {tolerance} | {plain} | {' | '.join(cells)} |")
    print("\n| estimand | draws of each image | " + " | ".join(DESIGNS) + " |\n| --- | ---: |" + " ---: |" * 3)
    for samples in (8, 16, 32):
        runs = {
            design: [measured(design, seed, estimand="set", samples=samples) for seed in SEEDS] for design in DESIGNS
        }
        cells = [f"±{median(found['half_width'] for found in each):.4f}" for each in runs.values()]
        print(f"| set | {samples} | {' | '.join(cells)} |")


def measured(design: str, seed: int, **how: Any) -> dict[str, Any]:
    found: dict[str, Any] = brittle.measure(
        "bundled:plain", "sample", NUISANCE, design=design, seed=seed, device="cpu", progress=False, **how
    )
    return found


def variances() -> None:
    """How much of the variance over θ is left: by designs, and by a control variate whose mean is known; and how many
    evaluations, of those of independent draws, give the same variance if that mean has to be estimated as well."""
    costs = " | ".join(f"evaluations, {count} measured with it" for count in TARGETS)
    print(f"| what | variance left, of that of independent draws | {costs} |")
    print("| --- | ---: |" + " ---: |" * len(TARGETS))
    plain = by_round("bundled:plain", NUISANCE, "independent")
    alone = float(plain.var(0, ddof=1).mean())
    for design, (_, block, _) in list(DESIGNS.items())[1:]:
        means = by_round("bundled:plain", NUISANCE, design).reshape(-1, block, plain.shape[1]).mean(1)
        left = block * float(means.var(0, ddof=1).mean()) / alone
        print(f"| design={design} | {left:.2f} |" + f" {left:.2f} |" * len(TARGETS))
    controls: dict[str, Callable[[], Array]] = {
        "the answers of `bundled:augmented` to the same pictures": lambda: by_round(
            "bundled:augmented", NUISANCE, "independent"
        )
    }
    controls |= {
        f"its own at the same z under {other}": lambda other=other: by_round("bundled:plain", other, "independent")
        for other in NEARBY
    }
    for name, control in controls.items():
        left = left_by(plain, control()) / alone
        costs = " | ".join(f"{with_its_mean(left, count):.2f}" for count in TARGETS)
        print(f"| control variate: {name} | {left:.2f} | {costs} |")


def by_round(classifier: str, nuisance: str, design: str) -> Array:
    """p(ℓ) (draws, images). Nuisances of one kind share their random numbers."""
    rows = brittle.robustness(
        classifier, "sample", nuisance, samples=ROUNDS, estimand="set", design=design, device="cpu", progress=False
    ).rows
    order = np.lexsort((rows["image"].to_numpy(), rows["draw"].to_numpy()))
    p: Array = np.exp(rows["log_p_label"].to_numpy().astype(np.float64))[order].reshape(ROUNDS, -1)
    return p


def left_by(values: Array, control: Array) -> float:
    """The variance over θ of values minus β times a control, β from the rounds before alone, as if the control's mean
    were known for nothing."""
    found, far = [], control - control.mean(0)
    for place in range(1, len(values)):
        before, past = values[:place] - values[:place].mean(0), far[:place]
        beta = float((before * past).sum() / max((past * past).sum(), 1e-12))
        found.append((values[place] - values.mean(0) - beta * far[place]) ** 2)
    return float(np.mean(found[1:])) * len(values) / (len(values) - 1)


def with_its_mean(left: float, targets: int) -> float:
    """Evaluations of a control and of so many targets that it is equally good for, each of them as dear, for the same
    variance: n draws of each target and m ≥ n of the control leave left/n + (1 − left)/m."""
    more = max(1.0, math.sqrt(targets * (1 - left) / left))  # m/n at its best
    return (targets + more) / targets * (left + (1 - left) / more)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--studies", type=int, default=400)
    parser.add_argument("--only", choices=("coverage", "saved", "variances"))
    asked = parser.parse_args()
    torch.set_num_threads(1)
    parts = {"coverage": lambda: coverage(asked.studies), "saved": saved, "variances": variances}
    for name, part in parts.items():
        if asked.only in (None, name):
            part()
            print()


if __name__ == "__main__":
    main()
