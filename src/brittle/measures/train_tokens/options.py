"""Which words are learned, and how."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from brittle.diffusion.options import TokenOptions
from brittle.registry.options import option


@dataclass(frozen=True, kw_only=True)
class TrainTokensOptions(TokenOptions):
    """The options of the measure `train-tokens`."""

    pipeline: str | None = option(
        None, "a folder that save_pretrained of diffusers wrote, or a name on the hub", positional=True, rows=False
    )
    template: str = option("a picture of a {class}", "the prompt that the word stands in")
    fit: Literal["resize", "pad"] = option(
        "resize", "how images come to the pipeline's size: resize, or pad with black"
    )
    most: int = option(1000, "images per class, at most: the first in the study's order", least=1)
    together: int = option(4, "words learned side by side, at most", least=1, rows=False)
    folder: str | None = option(None, "where words are written, a file each, once all are learned", rows=False)
    weights: str = option("", "a hash of the pipeline's weights, found by itself: others are another run")
