"""Saliency by Grad-CAM (Selvaraju et al. 2017, equations 1 and 2), through captum.

With A_k the feature maps of a convolution and y the score of a class,

    saliency = ReLU(Σ_k α_k A_k),    α_k = mean over places of ∂y / ∂A_k,

enlarged bilinearly to the image. Pixels that the classifier crops away have the saliency 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from brittle.errors import BrittleError, MissingPackage
from brittle.extras import register
from brittle.memory import slices
from brittle.registry import did_you_mean, option
from brittle.types import Batch, Classifier, Layered, SeesPart

# Images computed at once: always as many, so that no map depends on its neighbours.
AT_ONCE, AT_ONCE_ON_A_GPU = 16, 64
OTHER_MASKS = "Use a mask that needs none: patch, fourier-mask or tiles."


@runtime_checkable
class WithModule(Protocol):
    """A classifier made of a torch module, as `brittle.classifiers.torch_module.TorchClassifier` is."""

    module: nn.Module

    def logits(self, images: Tensor) -> Tensor: ...


@register("saliency")
@dataclass(frozen=True)
class Saliency:
    """Grad-CAM of the class that the classifier predicts on the clean image, (B, H, W) ≥ 0."""

    of_class: Literal["predicted", "label"] = option(
        "predicted", "the class whose score is explained: predicted on the clean image, or its label"
    )
    layer: str | None = option(None, "the layer whose feature maps are weighed; the last convolution by default")

    def check(self, name: str, classifier: Classifier, batch: Batch) -> None:
        module = _with_module(name, classifier).module
        convolutions = _convolutions(classifier)
        if self.layer is None and not convolutions:
            raise BrittleError(
                f"saliency needs a convolution, and the classifier {name!r} has none", f"Name a layer. {OTHER_MASKS}"
            )
        parts = dict(module.named_modules())
        if self.layer is not None and self.layer not in parts:
            known = convolutions or [part for part in parts if part]
            raise BrittleError(f"the classifier {name!r} has no layer {self.layer!r}", did_you_mean(self.layer, known))
        try:
            found = self._maps(classifier, batch)
        except (RuntimeError, AssertionError, KeyError, IndexError) as error:
            if isinstance(error, torch.OutOfMemoryError):
                raise
            chosen = self._layer(classifier)
            others = ", ".join(layer for layer in convolutions if layer != chosen)
            raise BrittleError(
                f"saliency of the classifier {name!r} can't be computed at the layer {chosen!r}: "
                "no gradient reaches it",
                f"Name another layer with layer=…{f' ({others})' if others else ''}. {OTHER_MASKS}",
            ) from error
        if found.ndim != 3:
            raise BrittleError(
                f"the layer {self._layer(classifier)!r} of the classifier {name!r} gives no feature maps",
                f"Name a convolution: {', '.join(convolutions) or 'there is none'}. {OTHER_MASKS}",
            )

    def compute(self, classifier: Classifier, batch: Batch) -> Tensor:
        size = AT_ONCE if batch.images.device.type == "cpu" else AT_ONCE_ON_A_GPU
        height, width = batch.images.shape[-2:]
        found = []
        for part in slices(len(batch.images), size):
            places = torch.arange(part.start, part.start + size, device=batch.images.device)
            maps = self._maps(classifier, batch.take(places.clamp(max=len(batch.images) - 1)))
            found.append(_enlarged(maps, classifier, height, width)[: part.stop - part.start])
        return torch.cat(found) if found else batch.images.new_zeros(0, height, width)

    def _layer(self, classifier: Classifier) -> str:
        return self.layer or _convolutions(classifier)[-1]

    def _maps(self, classifier: Classifier, batch: Batch) -> Tensor:
        """(B, h, w) as large as the layer's feature maps."""
        assert isinstance(classifier, WithModule)
        layer = classifier.module.get_submodule(self._layer(classifier))
        with torch.inference_mode(False), torch.enable_grad():
            images, labels = batch.images.detach().clone().requires_grad_(), batch.labels.clone()

            def score(given: Tensor) -> Tensor:
                logits = classifier.logits(given)
                highest = logits.max(1)
                if self.of_class == "predicted":
                    return highest.values
                return logits.gather(1, torch.where(labels < 0, highest.indices, labels)[:, None])[:, 0]

            found: Tensor = _grad_cam()(score, layer).attribute(images, relu_attributions=True)
        return found.detach().float().squeeze(1)


def _grad_cam() -> Callable[[Callable[[Tensor], Tensor], nn.Module], Any]:
    try:
        from captum.attr import LayerGradCam  # an extra, imported where it is used
    except ImportError:
        raise MissingPackage("captum", "captum", "saliency") from None
    found: Callable[[Callable[[Tensor], Tensor], nn.Module], Any] = LayerGradCam
    return found


def _with_module(name: str, classifier: Classifier) -> WithModule:
    if not isinstance(classifier, WithModule) or not isinstance(classifier.module, nn.Module):
        raise BrittleError(
            f"saliency needs the gradients of a torch module, and the classifier {name!r} is not made of one",
            OTHER_MASKS,
        )
    return classifier


def _convolutions(classifier: Classifier) -> list[str]:
    """The names of a classifier's convolutions: in the order of computation, where its layers are known."""
    assert isinstance(classifier, WithModule)
    there = [name for name, part in classifier.module.named_modules() if isinstance(part, nn.Conv2d)]
    computed = [layer.partition("#")[0] for layer in (classifier.layers if isinstance(classifier, Layered) else ())]
    return [layer for layer in computed if layer in there] or there


def _enlarged(maps: Tensor, classifier: Classifier, height: int, width: int) -> Tensor:
    """maps (B, h, w) → (B, H, W): laid over the part of the image that the classifier sees."""
    whole = (0, 0, height, width)
    top, left, bottom, right = classifier.seen(height, width) if isinstance(classifier, SeesPart) else whole
    seen = F.interpolate(maps[:, None], (bottom - top, right - left), mode="bilinear", align_corners=False)[:, 0]
    return F.pad(seen, (left, width - right, top, height - bottom))
