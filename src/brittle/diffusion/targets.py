"""What a slider is trained to say (Dünkel et al. 2025, equations 1 and 2; Gandikota et al. 2024).

With the noise ε(·) that the pipeline predicts for the class's prompt c, the shifted prompt c₊ and no words at all ∅:

- `direction`: ε(c) + η · [ε(c₊) − ε(c)], the score of p(x | c) · [p(x | c₊) / p(x | c)]^η, with the noise of one image.
- `printed`: ε(c) + ε(c₊), equation 2 as printed. It drops η and the term that is subtracted, so that two noises are
  added: the target is about twice as large as noise is, and a slider that reaches it makes no images.
- `unconditional`: ε(c) + η · [ε(c₊) − ε(∅)], concept sliders' own, which also pushes towards the class.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from torch import Tensor

Target = Literal["direction", "printed", "unconditional"]


class Weights(NamedTuple):
    """How much of each prediction is in a target."""

    of_class: float
    of_shifted: float
    of_nothing: float


def weights_of(target: Target, eta: float) -> Weights:
    if target == "direction":
        return Weights(1 - eta, eta, 0.0)
    if target == "printed":
        return Weights(1.0, 1.0, 0.0)
    return Weights(1.0, eta, -eta)


def noise_in(said: Tensor, latents: Tensor, alpha: Tensor, prediction: str) -> Tensor:
    """The noise ε that a prediction means, for latents (B, C, h, w) with ᾱ (B,): networks predict ε, v or x."""
    alpha = alpha.to(latents).view(-1, 1, 1, 1)
    if prediction == "v_prediction":
        return alpha.sqrt() * said + (1 - alpha).sqrt() * latents
    if prediction == "sample":
        return (latents - alpha.sqrt() * said) / (1 - alpha).sqrt()
    return said
