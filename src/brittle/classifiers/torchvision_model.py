"""torchvision's models by name: `torchvision:resnet50`, or `torchvision:resnet50.IMAGENET1K_V1` for other weights."""

from __future__ import annotations

import dataclasses
import fnmatch
from pathlib import Path
from typing import Any

import torch
from torch import nn

from brittle.classifiers import register
from brittle.classifiers.checkpoint import load_weights, read_weights
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
from brittle.libraries import first_line, library
from brittle.network_access import reachable
from brittle.registry import did_you_mean, option
from brittle.registry.arguments import argument


def torchvision_configuration(entry: Any, who: str) -> Configuration:
    """What an entry of torchvision's weights says: its transforms, and the categories it was trained on."""
    steps = entry.transforms()
    try:
        preprocess = Preprocess(
            size=_side(steps.resize_size),
            crop=_side(steps.crop_size),
            interpolation=interpolation(steps.interpolation, who),
            channels="rgb",
            mean=tuple(map(float, steps.mean)),
            std=tuple(map(float, steps.std)),
        )
    except (AttributeError, TypeError, ValueError) as error:
        raise BrittleError(
            f"{who} is not an image classifier that Brittle can prepare images for: {first_line(error)}",
            "Load it yourself and give the module.",
        ) from error
    categories = entry.meta.get("categories")
    return Configuration(preprocess, None if categories is None else tuple(map(str, categories)))


def cached(entry: Any) -> Path:
    """Where torchvision keeps the weights of an entry once they are fetched."""
    return Path(torch.hub.get_dir(), "checkpoints", entry.url.rpartition("/")[2])


def _side(sides: Any) -> int:
    (side,) = [sides] if isinstance(sides, int) else sides
    return int(side)


@register("torchvision")
@dataclasses.dataclass(frozen=True, kw_only=True)
class TorchvisionLoader(NamedModelOptions):
    """A model of torchvision, with its own preprocessing and label names."""

    model: str = option(
        dataclasses.MISSING,
        "its name, such as resnet50, or resnet50.IMAGENET1K_V1 for one of its weights",
        positional=True,
    )
    arguments: tuple[str, ...] = option((), "name=value/… that the model is made with, such as num_classes=10")

    def load(self, device: str = "cpu") -> TorchClassifier:
        who = f"torchvision:{self.model}"
        models = library("torchvision.models", "torchvision", f"the classifier {who}")
        name, _, tag = self.model.partition(".")
        known = models.list_models(module=models)
        if name not in known:
            raise BrittleError(f"torchvision has no classifier {name!r}", did_you_mean(name, known))
        entries = models.get_model_weights(name).__members__
        if tag and tag not in entries:
            raise BrittleError(f"torchvision has no weights {tag!r} for {name}", did_you_mean(tag, entries))
        entry = entries[tag or "DEFAULT"]
        own = torchvision_configuration(entry, who)
        given = dict(argument(each) for each in self.arguments)
        module = self._made(models, name, entry, given, who)
        if own.labels is not None and given.get("num_classes", len(own.labels)) != len(own.labels):
            own = dataclasses.replace(own, labels=None)
        return TorchClassifier(module, device=device, name=who, **settings_with(self, own))

    def matching(self) -> list[str]:
        """Models that match, those whose weights are here; all of them where they are to have random weights."""
        models = library("torchvision.models", "torchvision", f"the classifier torchvision:{self.model}")
        own = self.weights is None and self.pretrained
        names = fnmatch.filter(models.list_models(module=models), self.model)
        return sorted(name for name in names if not own or cached(models.get_model_weights(name).DEFAULT).is_file())

    def _made(self, models: Any, name: str, entry: Any, given: dict[str, Any], who: str) -> nn.Module:
        try:
            if self.weights is not None or not self.pretrained:
                with same_random_weights():
                    module: nn.Module = models.get_model(name, weights=None, **given)
                if self.weights is not None:
                    load_weights(module, self.weights)
                return module
            file = cached(entry)
            if file.is_file():
                read_weights(file)  # which refuses a file that would run code; torchvision itself does not
            elif not reachable(entry.url):
                raise missing_weights(
                    who, entry.url, "Connect, or give weights=FILE, or pretrained=no for random ones."
                )
            found: nn.Module = models.get_model(name, weights=entry, progress=False, **given)
        except BrittleError:
            raise
        except Exception as error:
            raise BrittleError(
                f"{who} can't be made: {first_line(error)}", "Check arguments=…, or give weights=FILE."
            ) from error
        return found
