"""EfficientNet-Lite without weights, which a spec takes from the folder that papers/urem/lite.py --pack wrote."""

from __future__ import annotations

import importlib

from torch import nn


def lite0() -> nn.Module:
    return _made("lite0")


def lite1() -> nn.Module:
    return _made("lite1")


def lite2() -> nn.Module:
    return _made("lite2")


def _made(name: str) -> nn.Module:
    made: nn.Module = importlib.import_module("efficientnet_lite_pytorch").EfficientNet.from_name(
        f"efficientnet-{name}"
    )
    return made
