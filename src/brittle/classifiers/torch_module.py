"""torch modules: `torch:package.module:factory,weights=file.safetensors`."""

from __future__ import annotations

import dataclasses
from typing import Any

import torch
from torch import Tensor, nn

from brittle.classifiers import register
from brittle.classifiers.base import AdaptedClassifier, AdapterOptions
from brittle.classifiers.checkpoint import load_weights
from brittle.classifiers.factory import make
from brittle.errors import BrittleError
from brittle.registry import option

# On a CPU a small network is fastest while its activations stay in cache, whatever the size of the batch that is
# transformed and summarised at once (benchmarks/README.md).
CACHED_NUMBERS = 1 << 17
LEAST_IMAGES = 16


class TorchClassifier(AdaptedClassifier):
    """A module images → logits or probabilities, or an object that holds them as its `logits`.

    The module itself is used, not a copy: it is put into evaluation mode, moved to `device`, and, if it has
    convolutions, its weights are laid out channels_last (20 to 50 % faster, with the same values).
    """

    def __init__(
        self, module: nn.Module, *, device: str | torch.device = "cpu", name: str = "", **settings: Any
    ) -> None:
        super().__init__(
            name=name or type(module).__name__, device=device, can=frozenset({"gradients", "layers"}), **settings
        )
        self.module = module.eval().to(self.device)
        floats = (parameter.dtype for parameter in module.parameters() if parameter.is_floating_point())
        self._dtype = next(floats, torch.float32)
        convolves = any(isinstance(part, nn.Conv2d) for part in module.modules())
        self._channels_last = convolves and self.preprocess.layout != "nhwc"
        if self._channels_last:
            module.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def scores(self, prepared: Tensor) -> Tensor:
        prepared = prepared.to(self._dtype)
        if self._channels_last:
            prepared = prepared.contiguous(memory_format=torch.channels_last)
        if prepared.device.type != "cpu":
            return self._forward(prepared)
        fitting = max(LEAST_IMAGES, CACHED_NUMBERS // max(1, prepared[0].numel()))
        size = 1 << fitting.bit_length() - 1  # a power of two divides the engine's batches
        parts = [self._forward(prepared[start : start + size]) for start in range(0, len(prepared), size)]
        return parts[0] if len(parts) == 1 else torch.cat(parts)

    def _forward(self, prepared: Tensor) -> Tensor:
        outputs = self.module(prepared)
        outputs = getattr(outputs, "logits", outputs)
        if not isinstance(outputs, Tensor):
            raise BrittleError(
                f"classifier {self.name} returns an object of type {type(outputs).__name__}, not a tensor",
                "Wrap it in a module that returns its scores.",
            )
        return outputs


@register("torch")
@dataclasses.dataclass(frozen=True, kw_only=True)
class TorchLoader(AdapterOptions):
    """A torch module, made by a function or ready-made, with weights from a file if given."""

    factory: str = option(
        dataclasses.MISSING,
        "package.module:name or file.py:name of a module or of a function that makes one",
        positional=True,
    )
    weights: str | None = option(None, "weights to load: .safetensors, or .pt or .pth with nothing but weights")

    def load(self, device: str = "cpu") -> TorchClassifier:
        module = make(self.factory, lambda found: isinstance(found, nn.Module))
        if not isinstance(module, nn.Module):
            raise BrittleError(
                f"{self.factory} returns an object of type {type(module).__name__}, not a torch.nn.Module",
                "Name a function without arguments that returns one.",
            )
        if self.weights is not None:
            load_weights(module, self.weights)
        return TorchClassifier(module, device=device, name=self.factory, **self.settings())
