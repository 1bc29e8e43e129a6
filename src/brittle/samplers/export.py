"""Draws as an ArviZ InferenceData, for users with their own plots and tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from brittle.errors import BrittleError, MissingPackage


def to_arviz(
    theta: Tensor,
    parameters: Sequence[str],
    ids: Tensor | Sequence[int],
    *,
    log_likelihood: Tensor | None = None,
    log_weight: Tensor | None = None,
    accepted: Tensor | None = None,
) -> Any:
    """θ (B, chains, draws, d) → an arviz.InferenceData whose posterior is `theta` (chain, draw, image, parameter).

    `sample_stats` contains, if given, each of shape (B, chains, draws): `log_not_label`, which is log p(not ℓ | T_θ x),
    `log_weight`, and `accepted`. A population is a single chain and is not resampled: ArviZ's own summaries count every
    draw once, so if the posterior's attribute `weighted` is 1, they need the weights too. A draw of weight −∞ does not
    count, and its θ is NaN.
    """
    try:
        import arviz  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError:
        raise MissingPackage("arviz", "arviz", "an export to ArviZ") from None
    names = list(parameters)
    if len(names) == 1 and theta.shape[-1] > 1:
        names = [f"{names[0]} {number}" for number in range(1, theta.shape[-1] + 1)]
    if len(names) != theta.shape[-1]:
        raise BrittleError(f"θ has {theta.shape[-1]} numbers, but {len(names)} names were given for them")
    weighted = False
    if log_weight is not None:
        drawn = log_weight > -torch.inf
        theta = theta.masked_fill(~drawn.unsqueeze(-1), torch.nan)
        highest = log_weight.masked_fill(~drawn, -torch.inf).flatten(1).amax(1)
        weighted = bool((drawn & (log_weight != highest[:, None, None])).any())
    given = {"log_not_label": log_likelihood, "log_weight": log_weight, "accepted": accepted}
    stats = {name: _chains_first(values) for name, values in given.items() if values is not None}
    return arviz.from_dict(
        posterior={"theta": _chains_first(theta)},
        sample_stats=stats or None,
        coords={"image": [int(number) for number in ids], "parameter": names},
        dims={"theta": ["image", "parameter"], **{name: ["image"] for name in stats}},
        posterior_attrs={"inference_library": "brittle", "weighted": int(weighted)},
    )


def _chains_first(values: Tensor) -> Any:
    """(B, chains, draws, …) → an array (chains, draws, B, …)."""
    return values.detach().movedim(0, 2).cpu().numpy()
