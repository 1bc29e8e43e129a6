"""The default: the best sampler for each image, according to the measurements in benchmarks/README.md.

Where positions are short and Gaussian, or split into parts that nearly are, adaptive importance sampling gives the
most effective draws of all samplers, whether failures are rare or common. Elsewhere the prior's own draws are weighted
if they suffice, and otherwise particles are moved to the posterior.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from brittle.registry import option
from brittle.samplers import register
from brittle.samplers.adaptive import AdaptiveImportance
from brittle.samplers.diagnostics import kish
from brittle.samplers.importance import Importance
from brittle.samplers.smc import SequentialMonteCarlo
from brittle.samplers.target import Budget, PosteriorDraws, Target


@register("auto")
@dataclass(frozen=True)
class Auto:
    """Adaptive importance sampling, weighted prior draws or particles, as suits the nuisance and the image."""

    space: ClassVar[Literal["latent", "parameters"]] = "latent"

    longest: int = option(16, "longest position, in numbers, to which mixtures are fitted", least=0)
    pilot: float = option(
        0.1, "share of the calls spent on prior draws that decide between the other two", least=0, most=1
    )
    enough: float = option(0.01, "effective share of the pilot's draws above which prior draws suffice", least=0)

    def check(self, target: Target) -> None:
        """There is a sampler for every target."""

    def sample(self, target: Target, budget: Budget) -> PosteriorDraws:
        if target.parts and target.size <= self.longest:
            return AdaptiveImportance().sample(target, budget)
        count = max(1, round(self.pilot * budget.calls))
        pilot = target.prior(count)
        common = kish(pilot.evaluation.log_likelihood) >= self.enough * count
        left = budget._replace(calls=max(1, budget.calls - pilot.calls))
        # Measured draws are weighted alone, as `importance` does, with those the pilot added to them.
        draws = max(count, target.measured) if target.measured else budget.calls
        known, parts = target.with_measured_draws(pilot), []
        if common.any():
            places = common.nonzero()[:, 0]
            parts.append((places, Importance().weigh(known.take(places), draws)))
        if not common.all():
            places = (~common).nonzero()[:, 0]
            parts.append((places, SequentialMonteCarlo().sample(known.take(places), left)))
        found = joined(parts)
        return found._replace(calls=found.calls + pilot.calls)


def joined(parts: list[tuple[Tensor, PosteriorDraws]]) -> PosteriorDraws:
    """Joins the populations of several groups of images, in the order of the images, padded with draws of weight 0."""
    order = torch.cat([places for places, _ in parts]).argsort()
    longest = max(found.log_weight.shape[2] for _, found in parts)
    families = any(found.families is not None for _, found in parts)

    def together(values: list[Tensor], filling: float) -> Tensor:
        padded = []
        for each in values:
            extra = each.new_full((*each.shape[:2], longest - each.shape[2], *each.shape[3:]), filling)
            padded.append(torch.cat((each, extra), 2))
        return torch.cat(padded)[order]

    def numbered(found: PosteriorDraws) -> Tensor:
        """In a population without families, each draw is its own family."""
        if found.families is not None:
            return found.families
        return torch.arange(found.log_weight.shape[2], device=order.device).expand(found.log_weight.shape)

    every = [found for _, found in parts]
    methods = [method for found in every for method in found.method]
    return PosteriorDraws(
        together([found.position for found in every], 0.0),
        together([found.log_weight for found in every], -torch.inf),
        together([found.log_likelihood for found in every], -torch.inf),
        together([found.outcomes for found in every], 0.0),
        torch.cat([found.calls for found in every])[order],
        torch.cat([found.acceptance for found in every])[order],
        tuple(methods[place] for place in order.tolist()),
        chains=False,
        families=together([numbered(found) for found in every], -1) if families else None,
        evidence=torch.cat([_evidence(found) for found in every])[order],
        from_prior=torch.cat([found.from_prior for found in every if found.from_prior is not None])[order],
        bounded=torch.cat([_bounded(found) for found in every])[order],
    )


def _evidence(found: PosteriorDraws) -> Tensor:
    return found.evidence if found.evidence is not None else torch.full_like(found.acceptance, torch.nan)


def _bounded(found: PosteriorDraws) -> Tensor:
    return found.bounded if found.bounded is not None else torch.zeros_like(found.acceptance, dtype=torch.bool)
