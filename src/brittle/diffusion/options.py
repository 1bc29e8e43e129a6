"""How sliders and words are trained. Why so, and what the paper gives of it: docs/generated-shifts.md."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from brittle.registry.options import option


@dataclass(frozen=True, kw_only=True)
class SliderOptions:
    """How sliders are trained."""

    target: Literal["direction", "printed", "unconditional"] = option(
        "direction", "what a slider is to say; printed is the paper's equation 2 as it stands"
    )
    eta: float = option(1.0, "how much of the shift there is at scale 1", above=0)
    rank: int = option(4, "rank of what is added to each layer", least=1)
    training_steps: int = option(300, "steps", least=1)
    batch: int = option(32, "images per slider and step", least=1)
    rate: float = option(1e-3, "peak learning rate of AdamW", above=0)
    pool: int = option(128, "images per class, which the pipeline makes, that noise is added to", least=1)
    seed: int = option(0, "the seed of first values, noise and times")


@dataclass(frozen=True, kw_only=True)
class TokenOptions:
    """How words are learned."""

    training_steps: int = option(300, "steps", least=1)
    batch: int = option(32, "images per class and step", least=1)
    rate: float = option(5e-3, "peak learning rate of AdamW", above=0)
    seed: int = option(0, "the seed of noise and times")
