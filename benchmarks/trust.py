"""How far trust in weak points is deserved where failures are rare and sharp, on targets whose 1 − µ is known.

    OMP_NUM_THREADS=1 python benchmarks/trust.py [--images 100]

z ~ N(0, I) in 2 to 6 dimensions; p(not ℓ) is 1 in a region of probability 10⁻⁴ (beyond a plane, or in a ball off the
centre; direction by image) and e⁻⁶⁰ elsewhere. Of the images that `adaptive` would call trusted, the table counts those
whose 1 − µ is off by more than a factor of two. Images without a draw of another label are counted apart.

A second table has two islands, beyond planes in two directions at a right angle, each with half of 1 − µ: of the images
whose draws are good by size and k̂, how many lack one of the islands (have less than a twentieth of the draws' weight
there), and the same of those that are trusted, that is, whose 1 − µ̂ is also no less than what would have been met.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass, replace

import scipy.optimize
import scipy.stats
import torch
from torch import Tensor

from brittle.measures.weak_points.diagnosis import FEWEST, GREATEST_K, least_met
from brittle.random import fold, normal, stream_root
from brittle.samplers import sampler
from brittle.samplers.diagnostics import kish, pareto_k, weighted_ess
from brittle.samplers.target import Budget, Evaluation, PosteriorDraws, PriorDraws

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


@dataclass(frozen=True)
class TwoIslands(RareFailures):
    """Failures beyond a plane in the first half of `direction` (B, 2 d), and in the second, of probability `rare`."""

    rare: float = 1e-3

    @property
    def size(self) -> int:
        return self.direction.shape[1] // 2

    def islands(self, position: Tensor) -> Tensor:
        """(B, n, 2) whether positions (B, n, d) lie in each."""
        both = self.direction.unflatten(1, (2, -1)).mT
        return position @ both > -scipy.stats.norm.ppf(self.rare / 2)

    def evaluate(self, position: Tensor) -> Evaluation:
        wrong = self.islands(position).any(-1)
        return Evaluation(torch.where(wrong, 0.0, SURE).double(), position[..., :1].float())


def good(found: PosteriorDraws) -> Tensor:
    """(B,) by size and k̂."""
    weight, values = found.log_weight.flatten(1), found.position.flatten(1, 2)
    effective = torch.minimum(weighted_ess(values, weight).amin(-1), kish(weight))
    return (effective >= FEWEST) & (pareto_k(weight) <= GREATEST_K)


def met(found: PosteriorDraws) -> Tensor:
    """(B,) whether there is a draw of another label."""
    return (found.log_likelihood.flatten(1) > math.log(0.5)).any(1)


def common_enough(found: PosteriorDraws) -> Tensor:
    """(B,) whether 1 − µ̂ is no less than what would have been met."""
    assert found.evidence is not None
    assert found.from_prior is not None
    least = torch.tensor([least_met(int(draws)) for draws in found.from_prior])
    return found.evidence.exp() >= least


def roots(count: int) -> list[Tensor]:
    return [fold(stream_root(0, name), torch.arange(count)) for name in ("sampler", "prior")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--images", type=int, default=100)
    count = parser.parse_args().images
    one_island(count)
    print()
    two_islands(count)


def one_island(count: int) -> None:
    print("| failures | dimensions | images | good draws | of these, 1 − µ off by 2× | trusted | no other label |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for shape in ("beyond a plane", "in a ball"):
        for size in (2, 3, 4, 5, 6):
            towards = normal(fold(stream_root(0, "direction"), torch.arange(count)), size)
            towards = torch.nn.functional.normalize(towards, dim=-1)
            target = RareFailures(*roots(count), towards, None if shape == "beyond a plane" else ball(size))
            found = sampler("adaptive").sample(target, Budget())  # type: ignore[arg-type]
            assert found.evidence is not None
            fine, other = good(found), met(found)
            off = ((found.evidence - math.log(RARE)).abs() > math.log(2)) & fine
            print(
                f"| {shape} | {size} | {count} | {int((fine & other).sum())} | {int((off & other).sum())} "
                f"| {int((fine & other & common_enough(found)).sum())} "
                f"| {int((~other).sum())} (of which {int((fine & ~other).sum())} by size and k̂ alone) |",
                flush=True,
            )


def two_islands(count: int) -> None:
    print("| 1 − µ | dimensions | images | good draws | of these, one island missed | trusted | of these, one missed |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for rare in (1e-3, 5e-3, 2e-2, 5e-2):
        for size in (2, 4, 6):
            some = normal(fold(stream_root(0, "direction"), torch.arange(count)), 2 * size).unflatten(1, (size, 2))
            towards = torch.linalg.qr(some).Q.mT.flatten(1)
            target = TwoIslands(*roots(count), towards, None, rare=rare)
            found = sampler("adaptive").sample(target, Budget())  # type: ignore[arg-type]
            share = found.log_weight.flatten(1).softmax(1)[..., None]
            held = (share * target.islands(found.position.flatten(1, 2).double())).sum(1)  # (B, 2)
            fine, missed = good(found) & met(found), (held < 0.05).any(1)
            trusted = fine & common_enough(found)
            print(
                f"| {rare:g} | {size} | {count} | {int(fine.sum())} | {int((fine & missed).sum())} "
                f"| {int(trusted.sum())} | {int((trusted & missed).sum())} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
