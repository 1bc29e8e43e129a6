"""A classifier that looks at nothing but how bright an image is on average."""

from dataclasses import dataclass
from typing import ClassVar

import torch

from brittle.extend import AdaptedClassifier, AdapterOptions, option, register_classifier


class MeanGrey(AdaptedClassifier):
    """p(bright | x) = σ(sharpness·(mean(x) − ½)). Gradients flow."""

    def __init__(self, sharpness, **settings):
        super().__init__(name="grey-level", **settings)
        self.sharpness = sharpness

    def scores(self, prepared):
        bright = self.sharpness * (prepared.mean((1, 2, 3)) - 0.5)
        return torch.stack((torch.zeros_like(bright), bright), 1)

    def logits(self, images):
        return self.scores(self.preprocess(images))


@register_classifier("grey-level")
@dataclass(frozen=True, kw_only=True)
class GreyLevel(AdapterOptions):
    """Whether images are dark or bright, by their mean."""

    runs_code: ClassVar = False

    sharpness: float = option(9.0, "how fast it becomes sure of itself", above=0)

    def load(self, device="cpu"):
        settings = self.settings()
        settings["labels"] = settings["labels"] or ("dark", "bright")
        return MeanGrey(self.sharpness, device=device, **settings)
