"""Targeted changes of what the layers of classifiers give."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from brittle.api.carried_out import How, Ids, Shown, Where
from brittle.api.one_measure import one_measure
from brittle.images.selection import Selection
from brittle.results import LayerChanges


def layer_changes(
    classifier: Any,
    images: Any,
    *,
    layers: str | Sequence[str] = (),
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
) -> LayerChanges:
    """The change of what each layer gives at which a target is predicted.

    `classifier` may be a dictionary of several, by name. `layers` are names, shell patterns, or numbers and ranges,
    with 0 for the input. `count` images are drawn, all with None. The result has what `brittle layer-changes --json`
    prints, and `rows`, one per image, layer and target.
    """
    options = {
        "layers": (layers,) if isinstance(layers, str) else tuple(layers),
        "targets": targets,
        "share": share,
        "rate": rate,
        "steps": steps,
        "confidence": confidence,
    }
    selection, how = Selection.of(None if ids else count, where, ids), How(device, batch, out, progress)
    return LayerChanges.of(one_measure("layer-changes", options, classifier, images, None, selection, seed, how))
