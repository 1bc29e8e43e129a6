"""Targeted perturbations of classifiers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from brittle.api.carried_out import How, Ids, Shown, Where
from brittle.api.one_measure import one_measure, opened, source_of
from brittle.images.selection import Selection
from brittle.results import Perturbations


def perturb(
    classifier: Any,
    images: Any,
    *,
    method: str = "adam",
    targets: str | int | Sequence[str | int] = "all",
    draw: int | None = None,
    share: float = 0.9,
    rate: float = 0.005,
    steps: int = 1000,
    iterations: int = 10,
    clip: bool = True,
    per_class: int | None = None,
    quality: int = 75,
    cap: float = 0.5,
    confidence: float = 0.95,
    count: int | None = 100,
    where: Where = (),
    ids: Ids = (),
    seed: int = 0,
    device: str | None = None,
    batch: int | None = None,
    out: str | Path | None = None,
    progress: Shown = None,
) -> Perturbations:
    """How far images must be changed until a classifier gives another class with probability `share`.

    `classifier` may be a dictionary of several, by name. `targets` are "all", or classes by name or number. `count`
    images are drawn, all with None. The result has what `brittle perturb --json` prints, `rows`, one per image and
    target, and `matrix()`.
    """
    whole = opened(images)
    options = {
        "method": method,
        "targets": (str(targets),) if isinstance(targets, (str, int)) else tuple(map(str, targets)),
        "draw": draw,
        "share": share,
        "rate": rate,
        "steps": steps,
        "iterations": iterations,
        "clip": clip,
        "per-class": per_class,
        "quality": quality,
        "cap": cap,
        "confidence": confidence,
        "count": len(whole),
    }
    selection, how = Selection.of(None if ids else count, where, ids), How(device, batch, out, progress)
    source = source_of(images, whole)
    return Perturbations.of(one_measure("perturbation", options, classifier, source, None, selection, seed, how))
