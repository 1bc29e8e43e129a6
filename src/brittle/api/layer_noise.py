"""Noise on the layers of classifiers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from brittle.api.carried_out import How, Ids, Shown, Where
from brittle.api.one_measure import one_measure
from brittle.images.selection import Selection
from brittle.results import LayerNoise


def layer_noise(
    classifier: Any,
    images: Any,
    *,
    layers: str | Sequence[str] = (),
    noise: str = "path",
    step: float = 0.1,
    limit: float = 5.0,
    repeats: int = 5,
    networks: int = 20,
    confidence: float = 0.95,
    count: int | None = 50,
    where: Where = (),
    ids: Ids = (),
    seed: int = 0,
    device: str | None = None,
    batch: int | None = None,
    out: str | Path | None = None,
    progress: Shown = None,
) -> LayerNoise:
    """The noise N(1, σ²) on each layer, and on the weights, at which predictions change, and what they change to.

    `classifier` may be a dictionary of several, by name. `layers` are names, shell patterns, or numbers and ranges,
    with 0 for the input. `count` images are drawn, all with None. The result has what `brittle layer-noise --json`
    prints, and `rows`, one per image, layer and repeat.
    """
    options = {
        "layers": (layers,) if isinstance(layers, str) else tuple(layers),
        "noise": noise,
        "step": step,
        "limit": limit,
        "repeats": repeats,
        "networks": networks,
        "confidence": confidence,
    }
    selection, how = Selection.of(None if ids else count, where, ids), How(device, batch, out, progress)
    return LayerNoise.of(one_measure("layer-noise", options, classifier, images, None, selection, seed, how))
