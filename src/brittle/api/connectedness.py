"""Connectedness of the classes of classifiers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from brittle.api.carried_out import How, Ids, Shown, Where
from brittle.api.one_measure import one_measure
from brittle.images.selection import Selection
from brittle.results import Connectedness


def connect(
    classifier: Any,
    images: Any,
    *,
    per_class: int = 100,
    method: str = "auto",
    tries: int = 5,
    steps: int = 64,
    kappa: float = 10.0,
    until: float = 0.99,
    points: int = 128,
    pictures: int = 1,
    confidence: float = 0.95,
    count: int | None = None,
    where: Where = (),
    ids: Ids = (),
    seed: int = 0,
    device: str | None = None,
    batch: int | None = None,
    out: str | Path | None = None,
    progress: Shown = None,
) -> Connectedness:
    """Which images of a class lie in one region, a bubble, that the classifier gives that class.

    UREM means the images that a classifier was trained on. `classifier` may be a dictionary of several, by name. The
    result has what `brittle connect --json` prints, `rows`, one per pair tried, and `images`, one per image.
    """
    options = {
        "per-class": per_class,
        "method": method,
        "tries": tries,
        "steps": steps,
        "kappa": kappa,
        "until": until,
        "points": points,
        "pictures": pictures,
        "confidence": confidence,
    }
    selection, how = Selection.of(count, where, ids), How(device, batch, out, progress)
    return Connectedness.of(one_measure("connectedness", options, classifier, images, None, selection, seed, how))
