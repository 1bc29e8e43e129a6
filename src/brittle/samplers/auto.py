"""The default: what the measurements in benchmarks/README.md say, chosen for each image.

Where positions are short and Gaussian, or fall into parts that are nearly so, adaptive importance sampling gives the
most effective draws of all samplers, whether failures are rare or common. Elsewhere the prior's own draws are weighted
where they suffice, and particles are led to the posterior where they don't.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from brittle.registry import option
from brittle.samplers import register
from brittle.samplers.adaptive import Adaptive
from brittle.samplers.diagnostics import kish
from brittle.samplers.importance import Importance
from brittle.samplers.smc import SequentialMonteCarlo
from brittle.samplers.target import Budget, Sampled, Target


@register("auto")
@dataclass(frozen=True)
class Auto:
    """Adaptive importance sampling, weighted prior draws or particles, as suits the nuisance and the image."""

    space: ClassVar[Literal["latent", "parameters"]] = "latent"

    longest: int = option(16, "numbers of a position up to which mixtures are fitted", least=0)
    pilot: float = option(
        0.1, "share of the calls spent on prior draws that decide between the other two", least=0, most=1
    )
    enough: float = option(0.01, "effective share of the pilot's draws from which on prior draws suffice", least=0)

    def check(self, target: Target) -> None:
        """Something suits every target."""

    def sample(self, target: Target, budget: Budget) -> Sampled:
        if target.parts and target.size <= self.longest:
            return Adaptive().sample(target, budget)
        count = max(1, round(self.pilot * budget.calls))
        pilot = target.prior(count)
        common = kish(pilot.seen.log_likelihood) >= self.enough * count
        left = budget._replace(calls=max(1, budget.calls - pilot.calls))
        parts = []
        for images, sampler in ((common, Importance()), (~common, SequentialMonteCarlo())):
            places = images.nonzero()[:, 0]
            if len(places):
                parts.append((places, sampler.sample(target.take(places), left)))
        found = joined(parts)
        return found._replace(calls=found.calls + pilot.calls)


def joined(parts: list[tuple[Tensor, Sampled]]) -> Sampled:
    """Populations of several groups of images as one, in the order of images, filled up with no draws."""
    order = torch.cat([places for places, _ in parts]).argsort()
    longest = max(found.log_weight.shape[2] for _, found in parts)
    families = any(found.families is not None for _, found in parts)

    def together(values: list[Tensor], filling: float) -> Tensor:
        padded = []
        for each in values:
            extra = each.new_full((*each.shape[:2], longest - each.shape[2], *each.shape[3:]), filling)
            padded.append(torch.cat((each, extra), 2))
        return torch.cat(padded)[order]

    def numbered(found: Sampled) -> Tensor:
        """Draws of a population without families are each their own."""
        if found.families is not None:
            return found.families
        return torch.arange(found.log_weight.shape[2], device=order.device).expand(found.log_weight.shape)

    every = [found for _, found in parts]
    methods = [method for found in every for method in found.method]
    return Sampled(
        together([found.position for found in every], 0.0),
        together([found.log_weight for found in every], -torch.inf),
        together([found.log_likelihood for found in every], -torch.inf),
        together([found.record for found in every], 0.0),
        torch.cat([found.calls for found in every])[order],
        torch.cat([found.acceptance for found in every])[order],
        tuple(methods[place] for place in order.tolist()),
        chains=False,
        families=together([numbered(found) for found in every], -1) if families else None,
        evidence=torch.cat([_evidence(found) for found in every])[order],
    )


def _evidence(found: Sampled) -> Tensor:
    return found.evidence if found.evidence is not None else torch.full_like(found.acceptance, torch.nan)
