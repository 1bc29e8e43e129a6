"""Masks of low-frequency noise (FMix, Harris et al. 2020), used for occlusion by Marcu & Prügel-Bennett (2022).

FMix gives every frequency f of the image's real Fourier transform a normal coefficient of standard deviation
max(f, 1/max(H, W))^(−decay), transforms back, and hides the pixels with the largest values. Here the sum is written
in products of cosines and sines, whose coefficients are θ. It ends where the standard deviations have fallen to a
thousandth of the largest (10 periods across the image for decay 3: what is left out would move an edge by a fifth of a
pixel at 224×224), and after 32 periods at the latest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from brittle.cached import cached, table
from brittle.device import inspectable
from brittle.nuisances import register
from brittle.nuisances.occlusion.occluder import BlindOccluder
from brittle.nuisances.occlusion.shares import ShareLaw
from brittle.registry import option
from brittle.types import Batch


@register("fourier-mask")
@dataclass(frozen=True, kw_only=True)
class FourierMask(ShareLaw, BlindOccluder):
    """Blobs of low-frequency noise hide an exact share of the pixels. Prior: the share by `law`; the noise Gaussian,
    with a spectrum that falls as the power `decay` of the frequency, as in FMix.

    θ is the share and the noise's standard normal coefficients, 440 for a square image (fewer for oblong or tiny
    ones). Severity s hides s times the share, by a lower threshold on the same noise, until the whole image is hidden.
    The number of hidden pixels is exactly the share rounded to whole pixels. log_prior is None if the share is exact,
    since it then has no density."""

    decay: float = option(3.0, "power with which the noise's spectrum falls: larger, smoother; FMix uses 3", above=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_law()

    @property
    def on_host(self) -> bool:
        """A table of waves."""
        return True

    @property
    def mask_names(self) -> tuple[str, ...]:
        return ("share and noise",)

    @property
    def parameters(self) -> tuple[str, ...]:
        return self.mask_names

    def mask_size(self, batch: Batch) -> int:
        return 1 + self._coefficients(batch)

    def mask_latent(self, batch: Batch) -> int:
        return self.share_latent + self._coefficients(batch)

    def mask_push(self, z: Tensor, batch: Batch) -> Tensor:
        drawn = self.share_latent
        return torch.cat((self.draw_share(torch.special.ndtr(z[..., :drawn])), z[..., drawn:]), -1)

    def mask_log_prior(self, theta: Tensor, batch: Batch) -> Tensor | None:
        density = self.share_log_prior(theta[..., 0])
        if density is None:
            return None
        noise = theta[..., 1:]
        return density - 0.5 * noise.square().sum(-1) - 0.5 * noise.shape[-1] * math.log(2 * math.pi)

    def mask_at(self, theta: Tensor, severity: Tensor, batch: Batch) -> Tensor:
        return torch.cat(((theta[..., :1] * severity).clamp(max=1), theta[..., 1:]), -1)

    def noise(self, theta: Tensor, height: int, width: int) -> Tensor:
        """The mask's numbers (B, mask_size) → the noise (B, H, W), float64 so that no two pixels are equal."""
        down, amplitude, across = _waves(height, width, self.decay, theta.device)
        coefficients = F.pad(theta[:, 1:].double(), (1, 0)).view(-1, *amplitude.shape)  # no constant term
        return down @ (coefficients * amplitude) @ across.T

    def hidden(self, theta: Tensor, height: int, width: int) -> Tensor:
        count = (theta[:, :1].double() * (height * width)).round().long()
        noise = self.noise(theta, height, width).flatten(1)
        mask = (noise >= _largest(noise, count)) & (count > 0)
        return mask.view(-1, 1, height, width)

    def describe(self, height: int, width: int) -> str:
        return (
            f"blobs of low-frequency noise that hide {self.share_words} of the pixels, filled with {self.filled_with}"
        )

    def _coefficients(self, batch: Batch) -> int:
        height, width = batch.images.shape[-2:]
        return _waves_in_all(height, width, self.decay) - 1


def _periods(height: int, width: int, decay: float) -> tuple[int, int]:
    """The largest numbers of periods in the sum, down and across."""
    most = min(32.0, 1000 ** (1 / decay)) / max(height, width) + 1e-9
    return min((height - 1) // 2, int(most * height)), min((width - 1) // 2, int(most * width))


@cached(64)
def _waves_in_all(height: int, width: int, decay: float) -> int:
    return math.prod(2 * periods + 1 for periods in _periods(height, width, decay))


@table(16)
def _waves(height: int, width: int, decay: float, device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    """Waves down (H, 2K + 1), standard deviations (2K + 1, 2L + 1), waves across (W, 2L + 1)."""
    sides, periods = (height, width), _periods(height, width, decay)
    waves, numbers = [], []
    for side, most in zip(sides, periods, strict=True):
        number = np.arange(1, most + 1)
        angle = 2 * np.pi * np.arange(side)[:, None] * number / side
        waves.append(np.concatenate((np.ones((side, 1)), np.sqrt(2) * np.cos(angle), np.sqrt(2) * np.sin(angle)), 1))
        numbers.append(np.concatenate(([0], number, number)))
    frequency = np.hypot(numbers[0][:, None] / height, numbers[1] / width)
    amplitude = np.maximum(frequency * max(sides), 1) ** -decay
    amplitude[:, 0] *= np.sqrt(0.5)  # the inverse real transform counts these once and all others with their conjugates
    with torch.inference_mode(False):  # cached for later calls
        down, heights, across = (torch.from_numpy(each).to(device) for each in (waves[0], amplitude, waves[1]))
        return down, heights, across


def _largest(values: Tensor, count: Tensor) -> Tensor:
    """values (B, N), count (B, 1) → (B, 1): the count-th largest of each row."""
    place = (values.shape[1] - count).clamp(max=values.shape[1] - 1)
    if inspectable(values):  # numpy selects and sorts many times faster than torch here
        rows, places = values.detach().numpy(), np.unique(place.numpy())
        ordered = torch.from_numpy(np.partition(rows, places, axis=1) if len(places) == 1 else np.sort(rows, axis=1))
    else:
        ordered = values.sort(1).values
    return ordered.gather(1, place)
