"""timm's models by name: `timm:resnet50.a1_in1k`, and what any timm model says of itself."""

from __future__ import annotations

import dataclasses
import importlib
import math
from pathlib import Path
from typing import Any

import torch
from torch import nn

from brittle.classifiers import register
from brittle.classifiers.checkpoint import load_weights
from brittle.classifiers.configured import (
    Configuration,
    NamedModelOptions,
    interpolation,
    missing_weights,
    same_random_weights,
    settings_with,
)
from brittle.classifiers.preprocess import Preprocess
from brittle.classifiers.torch_module import TorchClassifier
from brittle.errors import BrittleError
from brittle.libraries import first_line, imported, library
from brittle.network_access import hugging_face_hub, reachable
from brittle.registry import did_you_mean, option
from brittle.registry.arguments import argument

FILES = ("model.safetensors", "pytorch_model.bin")  # of a repository, in the order in which timm asks for them


def is_timm(module: nn.Module) -> bool:
    """Whether a module is one of timm's, which carry their configuration with them."""
    found = getattr(module, "pretrained_cfg", None)
    return isinstance(found, dict) and "input_size" in found


def timm_configuration(module: Any) -> Configuration:
    """What `timm.data.resolve_data_config` and the names of ImageNet's subsets say of a model."""
    data = library("timm.data", "timm", "a model of timm")
    who = f"{module.pretrained_cfg.get('architecture', type(module).__name__)} of timm"
    found = data.resolve_data_config({}, model=module)
    channels, height, width = found["input_size"]
    taken = _channels(module, channels)
    mean, std = (_for(tuple(map(float, found[key])), taken) for key in ("mean", "std"))
    steps: dict[str, Any] = {
        **_resizing(found, height, width, who),
        "interpolation": interpolation(found["interpolation"], who),
        "channels": {1: "grey", 3: "rgb"}.get(taken),
        "mean": mean,
        "std": std,
    }
    return Configuration(Preprocess(**steps), _labels(module, data))


def _resizing(found: dict[str, Any], height: int, width: int, who: str) -> dict[str, Any]:
    """Evaluation as timm does it: resized to input size / crop_pct, then a central crop."""
    share, mode = float(found["crop_pct"]), found["crop_mode"]
    before = math.floor(height / share), math.floor(width / share)
    if before == (height, width) and (mode == "squash" or height != width):
        return {"size": (height, width)}
    if height != width or mode not in ("center", "squash"):
        raise BrittleError(
            f"{who} prepares images in a way that Brittle lacks ({height}×{width}, crop mode {mode!r})",
            "Give size=… and, where needed, crop=….",
        )
    return {"size": before if mode == "squash" else before[0], "crop": height}


def _channels(module: Any, configured: int) -> int:
    """How many channels it takes: of its first convolution, since it may have been made for other images."""
    name = module.pretrained_cfg.get("first_conv")
    first = dict(module.named_modules()).get(name) if isinstance(name, str) else None
    return int(getattr(first, "in_channels", configured))


def _for(values: tuple[float, ...], channels: int) -> tuple[float, ...] | float:
    return values if len(values) == channels else sum(values) / len(values)


def _labels(module: Any, data: Any) -> tuple[str, ...] | None:
    named = module.pretrained_cfg.get("label_names")
    if not named:
        subset = data.infer_imagenet_subset(module)
        named = data.ImageNetInfo(subset).label_names() if subset else ()
    return tuple(map(str, named)) if len(named) == getattr(module, "num_classes", None) else None


@register("timm")
@dataclasses.dataclass(frozen=True, kw_only=True)
class TimmLoader(NamedModelOptions):
    """A model of timm, with its own preprocessing and label names."""

    model: str = option(dataclasses.MISSING, "its name, such as resnet50.a1_in1k", positional=True)
    arguments: tuple[str, ...] = option((), "name=value/… for timm.create_model, such as num_classes=10")

    def load(self, device: str = "cpu") -> TorchClassifier:
        timm, who = library("timm", "timm", f"the classifier timm:{self.model}"), f"timm:{self.model}"
        with imported("timm", "timm", f"the classifier {who}"):
            known = timm.is_model(self.model)
        if not known and ":" not in self.model:
            raise BrittleError(f"timm has no model {self.model!r}", did_you_mean(self.model, timm.list_models()))
        given = dict(argument(each) for each in self.arguments)
        module = self._made(timm, who, given)
        if self.weights is not None:
            load_weights(module, self.weights)
        settings = settings_with(self, timm_configuration(module))
        return TorchClassifier(module, device=device, name=who, **settings)

    def matching(self) -> list[str]:
        """Models that match, those whose weights are here; all of them where they are to have random weights."""
        timm = library("timm", "timm", f"the classifier timm:{self.model}")
        own = self.weights is None and self.pretrained
        names: list[str] = timm.list_models(self.model, pretrained=own)
        return sorted(name for name in names if not own or _cached(timm, name) is not None)

    def _made(self, timm: Any, who: str, given: dict[str, Any]) -> nn.Module:
        try:
            if self.weights is not None or not self.pretrained:
                with same_random_weights():
                    module: nn.Module = timm.create_model(self.model, pretrained=False, **given)
                return module
            overlay = _cached(timm, self.model)
            if overlay is None and not reachable(hugging_face_hub()):
                raise missing_weights(
                    who, hugging_face_hub(), "Connect, or give weights=FILE, or pretrained=no for random ones."
                )
            found: nn.Module = timm.create_model(self.model, pretrained=True, pretrained_cfg_overlay=overlay, **given)
        except BrittleError:
            raise
        except Exception as error:
            raise BrittleError(
                f"{who} can't be made: {first_line(error)}", "Check its name and arguments=…, or give weights=FILE."
            ) from error
        return found


def _cached(timm: Any, model: str) -> dict[str, Any] | None:
    """The weights of a model on this machine: what makes timm read them without asking the hub first; None where there
    are none."""
    about = timm.get_pretrained_cfg(model, allow_unregistered=True)
    if about is None:
        return None
    if about.hf_hub_id:
        cached = importlib.import_module("huggingface_hub").try_to_load_from_cache
        for file in filter(None, (about.hf_hub_filename, *FILES)):
            found = cached(about.hf_hub_id, file)
            if isinstance(found, str):
                return {"file": found}
    if about.url:
        found = Path(torch.hub.get_dir()) / "checkpoints" / about.url.rpartition("/")[2]
        if found.is_file():
            return {"file": str(found)}
    return None
