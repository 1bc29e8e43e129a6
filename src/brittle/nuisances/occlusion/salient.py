"""The most or least salient pixels are hidden: the masks of iOcclusion (Marcu & Prügel-Bennett 2022, section 3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from brittle.errors import BrittleError
from brittle.nuisances import register
from brittle.nuisances.base.seeds import SEED_NAMES, seed_from, seed_keys
from brittle.nuisances.occlusion.occluder import Occluder
from brittle.nuisances.occlusion.shares import ShareLaw
from brittle.random import uniform_field
from brittle.registry import option
from brittle.registry.spec import write_spec
from brittle.types import Batch

_WHICH = {"either": "most or the least (tossed per draw)", "most": "most", "least": "least"}


@register("salient")
@dataclass(frozen=True, kw_only=True)
class Salient(ShareLaw, Occluder):
    """Hides the pixels that matter most to the classifier, or least, by its own Grad-CAM. Prior: the share by `law`;
    most or least tossed for each image and draw (the paper tosses once per batch); among equally salient pixels, a
    random order.

    It needs a classifier made of a torch module and the package captum; what it hides differs by classifier. θ is the
    share, the toss (most below 0.5) and the seed of the order among equals. Severity s hides s times the share, the
    same pixels first, until the whole image is hidden. The number of hidden pixels is exactly the share rounded to
    whole pixels. The seed has no useful density: log_prior is None."""

    which: Literal["either", "most", "least"] = option(
        "either", "which pixels are hidden: either (tossed), most, least"
    )
    of_class: Literal["predicted", "label"] = option(
        "predicted", "salient to which class: predicted on the clean image, or its label"
    )
    layer: str | None = option(None, "the layer that Grad-CAM looks at; the last convolution by default")

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_law()

    @property
    def saliency(self) -> str:
        """The extra that it reads."""
        options = {"of-class": self.of_class, "layer": self.layer}
        others = {key: value for key, value in options.items() if value not in ("predicted", None)}
        return write_spec("saliency", None, others)

    @property
    def needs(self) -> frozenset[str]:  # type: ignore[override]
        return frozenset({self.saliency})

    @property
    def mask_names(self) -> tuple[str, ...]:
        return ("share", "most or least", *(f"order {name}" for name in SEED_NAMES))

    def mask_size(self, batch: Batch) -> int:
        return 2 + len(SEED_NAMES)

    def mask_latent(self, batch: Batch) -> int:
        return self.share_latent + 1 + len(SEED_NAMES)

    def mask_push(self, z: Tensor, batch: Batch) -> Tensor:
        uniforms, drawn = torch.special.ndtr(z), self.share_latent
        toss = uniforms[..., drawn : drawn + 1]
        return torch.cat((self.draw_share(uniforms[..., :drawn]), toss, seed_from(uniforms[..., drawn + 1 :])), -1)

    def mask_log_prior(self, theta: Tensor, batch: Batch) -> None:
        return None

    def mask_at(self, theta: Tensor, severity: Tensor, batch: Batch) -> Tensor:
        return torch.cat(((theta[..., :1] * severity).clamp(max=1), theta[..., 1:]), -1)

    def mask(self, theta: Tensor, batch: Batch) -> Tensor:
        height, width = batch.images.shape[-2:]
        if self.saliency not in batch.extras:
            raise BrittleError(
                f"the nuisance 'salient' needs {self.saliency}, which these images come without",
                "Measure a classifier with it: what is salient differs by classifier.",
            )
        saliency = batch.extras[self.saliency].flatten(1)
        most = (
            theta[:, 1:2] < 0.5 if self.which == "either" else torch.full_like(theta[:, 1:2], self.which == "most") > 0
        )
        urgency = torch.where(most, -saliency, saliency)  # the lowest are hidden first
        among_equals = uniform_field(seed_keys(theta[:, 2:]), height * width).argsort(1)
        order = among_equals.gather(1, urgency.gather(1, among_equals).argsort(dim=1, stable=True))
        count = (theta[:, :1].double() * (height * width)).round()
        first = torch.arange(height * width, device=theta.device) < count
        return torch.zeros_like(first).scatter_(1, order, first).view(-1, 1, height, width)

    def describe(self, height: int, width: int) -> str:
        return f"the {_WHICH[self.which]} salient {self.share_words} of the pixels, filled with {self.filled_with}"
