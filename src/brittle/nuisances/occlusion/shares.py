"""How large a share of the image a mask hides: always the same, uniform, or Beta."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
import scipy.special
import torch
from torch import Tensor

from brittle.errors import BrittleError
from brittle.registry import option

_KNOTS = 2**16  # in the table of the Beta quantile function
_SMALLEST, _LARGEST = torch.finfo(torch.float32).tiny, 1 - 2.0**-24  # float32's numbers next to 0 and 1


@dataclass(frozen=True, kw_only=True)
class ShareLaw:
    """Options for how the hidden share is drawn, for a nuisance to inherit."""

    share: float | None = option(None, "law=exact: the hidden share (default 0.3)", above=0, most=1)
    law: Literal["exact", "uniform", "beta"] = option("exact", "how the share is drawn: exact, uniform or beta")
    low: float | None = option(None, "law=uniform: the smallest share (default 0.1)", least=0, below=1)
    high: float | None = option(None, "law=uniform: the largest share (default 1)", above=0, most=1)
    a: float | None = option(None, "law=beta: the first parameter (default 2)", above=0)
    b: float | None = option(None, "law=beta: the second parameter (default 1)", above=0)

    def check_law(self) -> None:
        """Raises where an option does not belong to the law, or the smallest share is not below the largest."""
        belongs = {"share": "exact", "low": "uniform", "high": "uniform", "a": "beta", "b": "beta"}
        for name, law in belongs.items():
            if getattr(self, name) is not None and law != self.law:
                raise BrittleError(f"option {name!r} means nothing with law={self.law}", f"It goes with law={law}.")
        low, high = self._numbers
        if self.law == "uniform" and not low < high:
            raise BrittleError(f"options 'low' and 'high' are {low:g} and {high:g}", "Take low < high.")

    @property
    def on_host(self) -> bool:
        """A table of the Beta distribution's quantiles."""
        return self.law == "beta"

    @property
    def share_latent(self) -> int:
        """How many numbers the share is drawn from."""
        return 0 if self.law == "exact" else 1

    def draw_share(self, uniforms: Tensor) -> Tensor:
        """Uniform numbers (..., share_latent) on (0, 1) → shares (..., 1)."""
        first, second = self._numbers
        if self.law == "exact":
            return uniforms.new_full((*uniforms.shape[:-1], 1), first)
        if self.law == "uniform":
            return first + (second - first) * uniforms
        table = _beta_quantiles(first, second, uniforms.device)
        place = uniforms * _KNOTS
        below = place.long().clamp_(max=_KNOTS - 1)
        # θ is rounded to float32, and exactly at 0 and 1 a density with a or b below 1 is infinite.
        return torch.lerp(table[below], table[below + 1], place - below).clamp(_SMALLEST, _LARGEST)

    @property
    def share_is_exact(self) -> bool:
        return self.law == "exact"

    @property
    def share_of(self) -> str:
        return "pixels"

    def with_share(self, theta: Tensor, share: Tensor) -> Tensor:
        """θ (..., d) that hides another share (...) at the same place: the first number of θ is the share."""
        return torch.cat((share[..., None].to(theta), theta[..., 1:]), -1)

    def share_log_prior(self, share: Tensor) -> Tensor | None:
        """Shares (...) → log density (...); None if the share is always the same, which has no density."""
        first, second = self._numbers
        if self.law == "exact":
            return None
        if self.law == "uniform":
            inside = (share >= first) & (share <= second)
            return torch.where(inside, share.new_full((), -math.log(second - first)), -math.inf)
        inside = (share > 0) & (share < 1)
        density = torch.xlogy(share.new_full((), first - 1), share) + torch.xlogy(
            share.new_full((), second - 1), 1 - share
        )
        return torch.where(inside, density - float(scipy.special.betaln(first, second)), -math.inf)

    @property
    def share_words(self) -> str:
        """In words: "30 %", "10 % to 100 % (uniform)"."""
        first, second = self._numbers
        if self.law == "exact":
            return f"{100 * first:.3g} %"
        if self.law == "uniform":
            return f"{100 * first:.3g} % to {100 * second:.3g} % (uniform)"
        return f"{100 * first / (first + second):.3g} % on average (Beta({first:g}, {second:g}))"

    @property
    def _numbers(self) -> tuple[float, float]:
        def given(value: float | None, otherwise: float) -> float:
            return otherwise if value is None else value

        if self.law == "beta":
            return given(self.a, 2.0), given(self.b, 1.0)
        if self.law == "uniform":
            return given(self.low, 0.1), given(self.high, 1.0)
        return given(self.share, 0.3), 0.0


@lru_cache(maxsize=16)
def _beta_quantiles(a: float, b: float, device: torch.device) -> Tensor:
    """scipy's quantiles at evenly spaced probabilities: torch has no inverse of the incomplete beta function."""
    with torch.inference_mode(False):  # cached for later calls
        return torch.from_numpy(scipy.special.betaincinv(a, b, np.linspace(0, 1, _KNOTS + 1))).to(device)
