"""Noise on the layers of classifiers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from brittle.api.carried_out import How, Ids, Shown, Where
from brittle.api.one_measure import one_measure
from brittle.images.selection import Selection
from brittle.results import Layers


def layers(
    classifier: Any,
    images: Any,
    *,
    layers: str | Sequence[str] = (),
    attack: str = "random",
    noise: str = "path",
    step: float = 0.1,
    limit: float = 5.0,
    repeats: int = 5,
    networks: int = 20,
    targets: int = 1,
    share: float = 0.9,
    rate: float = 0.02,
    steps: int = 300,
    confidence: float = 0.95,
    count: int | None = 50,
    where: Where = (),
    ids: Ids = (),
    seed: int = 0,
    device: str | None = None,
    batch: int | None = None,
    out: str | Path | None = None,
    progress: Shown = None,
) -> Layers:
    """The noise N(1, σ²) on each layer, and on the weights, at which predictions change, and what they change to.

    With `attack="targeted"`, the change of what a layer gives at which a target is predicted.

    `classifier` may be a dictionary of several, by name. `layers` are names, shell patterns, or numbers and ranges,
    with 0 for the input. `count` images are drawn, all with None. The result has what `brittle layers --json` prints,
    and `rows`, one per image, layer and repeat.
    """
    options = {
        "layers": (layers,) if isinstance(layers, str) else tuple(layers),
        "attack": attack,
        "noise": noise,
        "step": step,
        "limit": limit,
        "repeats": repeats,
        "networks": networks,
        "targets": targets,
        "share": share,
        "rate": rate,
        "steps": steps,
        "confidence": confidence,
    }
    selection, how = Selection.of(None if ids else count, where, ids), How(device, batch, out, progress)
    return Layers.of(one_measure("layers", options, classifier, images, None, selection, seed, how))
