"""torch modules: `torch:package.module:factory,weights=file.safetensors`."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from brittle.classifiers import register
from brittle.classifiers.base import AdaptedClassifier, AdapterOptions, Output, log_scores, scores_in
from brittle.classifiers.checkpoint import load_weights, trained_with
from brittle.classifiers.class_mapping import Pooling
from brittle.classifiers.computed_before import Kept, joined, recording, resumed, reuse_before
from brittle.classifiers.factory import make
from brittle.classifiers.folding import folded
from brittle.classifiers.layers import INPUT, OUTPUT, WEIGHTS, changed_layer, changed_weights, traced
from brittle.classifiers.model_files import is_model, refusal
from brittle.classifiers.onnx_session import OnnxGraph, opened
from brittle.classifiers.preprocess import Preprocess
from brittle.errors import BrittleError
from brittle.registry import did_you_mean, option
from brittle.types import LayerChange

# On a CPU a small network is fastest while its activations stay in cache, whatever the size of the batch that is
# transformed and summarised at once (benchmarks/README.md).
CACHED_NUMBERS = 1 << 17
LEAST_IMAGES = 16
LEAST_PROBABILITY = 1e-30  # whose logarithm still has a gradient


class TorchClassifier(AdaptedClassifier):
    """A module images → logits or probabilities, or an object that holds them as its `logits`.

    The module itself is used, not a copy: it is put into evaluation mode, moved to `device`, and, if it has
    convolutions, its weights are laid out channels_last (20 to 50 % faster, with the same values). Whoever measures it
    puts it back as it was (`brittle.classifiers.restore`).
    """

    trained: Mapping[str, Any] = {}  # what its weights say of their training

    def __init__(
        self, module: nn.Module, *, device: str | torch.device = "cpu", name: str = "", **settings: Any
    ) -> None:
        super().__init__(name=name or type(module).__name__, device=device, **settings)
        self.module = self._source = module  # the latter in the numbers that its weights are stored in
        self._layers: tuple[str, ...] = ()
        self._ends: dict[str, LayerChange] = {}  # changes of the images and of the outputs
        self._whole = 0  # layers that are being changed: a change is told of all images at once
        floats = (parameter.dtype for parameter in module.parameters() if parameter.is_floating_point())
        self._dtype = next(floats, torch.float32)
        convolves = any(isinstance(part, nn.Conv2d) for part in module.modules())
        self._channels_last = convolves and self.preprocess.layout != "nhwc"
        self.prepare()

    def prepare(self) -> None:
        """Makes the module ready to be asked; its owner may have gone on training it since."""
        with suppress(NotImplementedError):  # a program that torch.export wrote has no modes
            self.module.eval()
        self.module.to(self.device)
        if self._channels_last:
            self.module.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def graph(self, images: Tensor) -> TorchGraph:
        """See `brittle.types.Graphable`."""
        plain = TorchGraph(
            self.module, self.preprocess, self.output, self._pooling, self._dtype, self._channels_last, self.copies
        )
        with torch.no_grad():
            module = folded(self.module, self._source, plain.prepared(images.to(self.device)))
        return dataclasses.replace(plain, module=module)

    def exported(self, images: Tensor) -> OnnxGraph:
        """See `brittle.classifiers.onnx_session.Exportable`."""
        if self._dtype != torch.float32 or self.device.type != "cpu":
            raise BrittleError("it does not compute in float32 on a CPU", "Leave out compile=onnx.")
        plain = self.graph(images)
        session = opened(self.module, plain.prepared(images))

        def log_probs(scores: Tensor) -> Tensor:
            found = log_scores(scores, self.output)
            return found if self._pooling is None else self._pooling(found)

        return OnnxGraph(plain.prepared, session, log_probs)

    def in_dtype(self, dtype: torch.dtype) -> TorchClassifier:
        """See `brittle.types.AnyPrecision`."""
        found = copy.copy(self)
        found.module, found._dtype = copy.deepcopy(self.module).to(dtype), dtype
        found._ends = {}
        return found

    def logits(self, images: Tensor) -> Tensor:
        """images (B, C, H, W) in [0, 1] → z (B, K) whose softmax is p(c | x); gradients flow."""
        raw = self._raw(images).float()
        if self.output == "auto":
            self._settle(raw, images.shape[0])
        logits = raw if self.output == "logits" else raw.clamp(min=LEAST_PROBABILITY).log()
        if self.mapping is None:
            return logits
        if self._pooling is None:
            self._settle(raw, images.shape[0])
        assert self._pooling is not None
        return self._pooling(logits.log_softmax(1))

    @property
    def layers(self) -> tuple[str, ...]:
        """Known once a first batch has been tried: see `brittle.types.Layered`."""
        return (INPUT, *self._layers, WEIGHTS) if self._layers else ()

    def check(self, images: Tensor) -> None:
        super().check(images)
        with torch.no_grad():
            self._layers = traced(self.module, lambda: self._raw(images[:2].clone()))

    @contextmanager
    def perturbed(self, layer: str, change: LayerChange) -> Iterator[None]:
        """Within it, `change` replaces what a layer gives: see `brittle.types.Layered`."""
        if layer not in self.layers:
            raise BrittleError(f"classifier {self.name} has no layer {layer!r}", did_you_mean(layer, self.layers))
        if layer == WEIGHTS:
            with changed_weights(self.module, change):
                yield
        elif layer in (INPUT, OUTPUT):
            before = self._ends
            self._ends = {**before, layer: change}
            try:
                yield
            finally:
                self._ends = before
        else:
            self._whole += 1
            try:
                with changed_layer(self.module, layer, change, self.name):
                    yield
            finally:
                self._whole -= 1

    @torch.no_grad()
    def before(self, layer: str, images: Tensor, size: int, most: int) -> Kept | None:
        """What is computed of images (M, C, H, W) before a layer gives its value, in batches of one size; None where
        there is nothing to keep, or more numbers than `most`."""
        if layer in (INPUT, WEIGHTS) or self._ends:
            return None
        reuse = reuse_before(self.module, layer, lambda: self._raw(images[:2].clone()))
        if reuse is None or reuse.numbers * len(images) > most:
            return None
        self._whole += 1
        try:
            parts = []
            for start in range(0, len(images), size):
                own = images[start : start + size]
                padded = torch.cat((own, own[:1].expand(size - len(own), *own.shape[1:])))
                found: dict[str, list[Tensor | None]] = {}
                with recording(self.module, reuse, found):
                    self._raw(padded)
                parts.append(
                    {name: [v if v is None else v[: len(own)] for v in values] for name, values in found.items()}
                )
        finally:
            self._whole -= 1
        return joined(parts)

    @contextmanager
    def resumed(self, kept: Kept) -> Iterator[None]:
        """Within it, the classifier is asked once, about the images that `kept` is of."""
        self._whole += 1
        try:
            with resumed(self.module, kept):
                yield
        finally:
            self._whole -= 1

    def _raw(self, images: Tensor, *, watched: bool = False) -> Tensor:
        before, after = self._ends.get(INPUT), self._ends.get(OUTPUT)
        raw = super()._raw(images if before is None else before(images), watched=watched)
        return raw if after is None else after(raw)

    def scores(self, prepared: Tensor) -> Tensor:
        prepared = prepared.to(self._dtype)
        if self._channels_last:
            prepared = prepared.contiguous(memory_format=torch.channels_last)
        if prepared.device.type != "cpu" or self._whole:
            return self._forward(prepared)
        fitting = max(LEAST_IMAGES, CACHED_NUMBERS // max(1, prepared[0].numel()))
        size = 1 << fitting.bit_length() - 1  # a power of two divides the engine's batches
        parts = [self._forward(prepared[start : start + size]) for start in range(0, len(prepared), size)]
        return parts[0] if len(parts) == 1 else torch.cat(parts)

    def _forward(self, prepared: Tensor) -> Tensor:
        return scores_in(self.module(prepared), self.name)


@dataclasses.dataclass(frozen=True, eq=False)
class TorchGraph:
    """What a `TorchClassifier` computes, as a function of tensors alone: see `brittle.types.Graph`."""

    traceable: ClassVar[bool] = True

    module: nn.Module
    preprocess: Preprocess
    output: Output
    pooling: Pooling | None
    dtype: torch.dtype
    channels_last: bool
    copies: bool

    @cached_property
    def structure(self) -> Hashable:
        pooling = None if self.pooling is None else id(self.pooling)
        return repr(self.module), self.preprocess, self.output, pooling, self.dtype, self.channels_last, self.copies

    def prepared(self, images: Tensor) -> Tensor:
        made = self.preprocess(images).to(self.dtype)
        made = made.contiguous(memory_format=torch.channels_last) if self.channels_last else made
        return made.clone() if self.copies else made

    def __call__(self, images: Tensor) -> Tensor:
        found = log_scores(scores_in(self.module(self.prepared(images)), ""), self.output)
        return found if self.pooling is None else self.pooling(found)


@register("torch")
@dataclasses.dataclass(frozen=True, kw_only=True)
class TorchLoader(AdapterOptions):
    """A torch module, made by a function or ready-made, with weights from a file if given."""

    runs_code: ClassVar[bool] = True

    factory: str = option(
        dataclasses.MISSING,
        "package.module:name or file.py:name of a module or of a function that makes one",
        positional=True,
    )
    arguments: tuple[str, ...] = option((), "name=value/… that the function is called with; none by default")
    weights: str | None = option(None, "weights to load: .safetensors, or .pt or .pth with nothing but weights")

    def load(self, device: str = "cpu") -> TorchClassifier:
        if is_model(self.factory):
            raise refusal(self.factory)
        before = torch.random.get_rng_state()
        module = self._made()
        drawn = not torch.equal(before, torch.random.get_rng_state())
        if not isinstance(module, nn.Module):
            raise BrittleError(
                f"{self.factory} returns an object of type {type(module).__name__}, not a torch.nn.Module",
                "Name a function that returns one.",
            )
        if self.weights is not None:
            load_weights(module, self.weights)
        found = TorchClassifier(module, device=device, name=self.factory, **self.settings())
        found.trained = {} if self.weights is None else trained_with(self.weights)
        if self.weights is None and drawn and self._makes_others(module):
            found.remarks = (
                f"has random weights: {self.factory} makes others each time; weights=… loads a file of them",
            )
        return found

    def _made(self) -> Any:
        return make(self.factory, lambda found: isinstance(found, nn.Module), self.arguments)

    def _makes_others(self, module: nn.Module) -> bool:
        """Whether another call gives other weights, so that these are neither trained nor chosen by a seed."""
        with torch.random.fork_rng(devices=[]), suppress(BrittleError):
            again: Any = self._made()
            pairs = zip(module.parameters(), again.parameters(), strict=False)
            return any(not torch.equal(one, other.to(one.device)) for one, other in pairs)
        return False
