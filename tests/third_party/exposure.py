"""How long the shutter was open: every value is multiplied by 2^θ, and what grows beyond white is white."""

from dataclasses import dataclass
from typing import ClassVar

import torch

from brittle.extend import GaussianNuisance, option, register_nuisance


@register_nuisance("exposure")
@dataclass(frozen=True)
class Exposure(GaussianNuisance):
    """A longer or shorter exposure, x·2^θ. Prior: θ ~ N(0, sigma²), in stops. Severity 2 is twice as many stops."""

    runs_code: ClassVar = False
    clamps: ClassVar = True
    parameters: ClassVar = ("exposure",)
    parameter_units: ClassVar = {"exposure": "stops"}

    sigma: float = option(1.0, "standard deviation of θ, in stops", above=0)

    def centre(self, batch):
        return torch.zeros(1, dtype=torch.float64, device=batch.images.device)

    def deviations(self, batch):
        return torch.full((1,), self.sigma, dtype=torch.float64, device=batch.images.device)

    def apply(self, batch, theta):
        return batch.images * theta.exp2()[:, :, None, None]

    def describe(self, height, width):
        return f"exposures with a standard deviation of {self.sigma:g} stops"
