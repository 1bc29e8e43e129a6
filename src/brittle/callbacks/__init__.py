"""Callbacks that measure robustness while a network is trained: for Keras, Lightning, and loops of one's own."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from brittle.callbacks.every import EveryEpochs

if TYPE_CHECKING:
    from brittle.callbacks.keras_callback import KerasCallback
    from brittle.callbacks.lightning_callback import LightningCallback

__all__ = ["EveryEpochs", "KerasCallback", "LightningCallback"]
_LATER = {"KerasCallback": "keras_callback", "LightningCallback": "lightning_callback"}


def __getattr__(name: str) -> Any:
    """Callbacks derive from classes of Keras and Lightning, which are imported when one is asked for."""
    if name not in _LATER:
        raise AttributeError(f"module 'brittle.callbacks' has no attribute {name!r}")
    return getattr(importlib.import_module(f"brittle.callbacks.{_LATER[name]}"), name)
