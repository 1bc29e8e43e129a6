"""How far trust in weak points is deserved where failures are rare and sharp, on targets whose 1 − µ is known.

    OMP_NUM_THREADS=1 python benchmarks/trust.py [--images 100]

z ~ N(0, I) in 2 to 6 dimensions; p(not ℓ) is 1 in a region of probability 10⁻⁴ (beyond a plane, or in a ball off the
centre; direction by image) and e⁻⁶⁰ elsewhere. Of the images that `adaptive` would call trusted, the table counts those
whose 1 − µ is off by more than a factor of two. Images without a draw of another label are counted apart.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass, replace

import scipy.optimize
import scipy.stats
import torch
from torch import Tensor

from brittle.measures.weak_points.diagnosis import FEWEST, GREATEST_K
from brittle.random import fold, normal, stream_root
from brittle.samplers import sampler
from brittle.samplers.diagnostics import kish, pareto_k, weighted_ess
from brittle.samplers.target import Budget, Evaluation, PriorDraws

RARE, SURE, DISTANCE = 1e-4, -60.0, 3.0


@dataclass(frozen=True)
class RareFailures:
    """A target for samplers: failures beyond a plane, or within `radius` of a point at DISTANCE."""

    keys: Tensor
    prior_keys: Tensor
    direction: Tensor  # (B, d)
    radius: float | None
    gaussian: bool = True
    parts: int = 1
    hard: bool = False
    differentiable: bool = False
    measured: int = 0

    @property
    def size(self) -> int:
        return self.direction.shape[1]

    def draw(self, keys: Tensor) -> Tensor:
        return normal(keys, self.size)

    def prior(self, count: int) -> PriorDraws:
        position = self.draw(fold(self.prior_keys[:, None], torch.arange(count)))
        return PriorDraws(position, self.evaluate(position), count)

    def log_prior(self, position: Tensor) -> Tensor:
        return -0.5 * position.square().sum(-1)

    def evaluate(self, position: Tensor) -> Evaluation:
        towards = self.direction[:, None]
        if self.radius is None:
            wrong = (position * towards).sum(-1) > -scipy.stats.norm.ppf(RARE)
        else:
            wrong = (position - DISTANCE * towards).norm(dim=-1) < self.radius
        return Evaluation(torch.where(wrong, 0.0, SURE).double(), position[..., :1].float())

    def take(self, images: Tensor) -> RareFailures:
        chosen = {name: getattr(self, name)[images] for name in ("keys", "prior_keys", "direction")}
        return replace(self, **chosen)


def ball(size: int) -> float:
    """The radius at which a ball at DISTANCE has probability RARE."""
    return math.sqrt(
        scipy.optimize.brentq(lambda r: scipy.stats.ncx2.cdf(r, size, DISTANCE**2) / RARE - 1, 1e-6, DISTANCE**2)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--images", type=int, default=100)
    count = parser.parse_args().images
    print("| failures | dimensions | images | trusted | of these, 1 − µ off by more than 2× | no other label |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for shape in ("beyond a plane", "in a ball"):
        for size in (2, 3, 4, 5, 6):
            ids = torch.arange(count)
            roots = [fold(stream_root(0, name), ids) for name in ("sampler", "prior")]
            towards = torch.nn.functional.normalize(normal(fold(stream_root(0, "direction"), ids), size), dim=-1)
            target = RareFailures(*roots, towards, None if shape == "beyond a plane" else ball(size))
            found = sampler("adaptive").sample(target, Budget())  # type: ignore[arg-type]
            weight, values = found.log_weight.flatten(1), found.position.flatten(1, 2)
            effective = torch.minimum(weighted_ess(values, weight).amin(-1), kish(weight))
            good = (effective >= FEWEST) & (pareto_k(weight) <= GREATEST_K)
            other = (found.log_likelihood.flatten(1) > math.log(0.5)).any(1)
            assert found.evidence is not None
            off = ((found.evidence - math.log(RARE)).abs() > math.log(2)) & good
            print(
                f"| {shape} | {size} | {count} | {int((good & other).sum())} | {int((off & other).sum())} "
                f"| {int((~other).sum())} (of which {int((good & ~other).sum())} by size and k̂ alone) |",
                flush=True,
            )


if __name__ == "__main__":
    main()
