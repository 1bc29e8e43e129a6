"""Failure points of classifiers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from brittle.api.carried_out import How, Ids, Shown, Where
from brittle.api.one_measure import one_measure
from brittle.images.selection import Selection
from brittle.results import FailurePoints


def failure_points(
    classifier: Any,
    images: Any,
    nuisance: Any | None = None,
    *,
    severities: Sequence[float] = (),
    step: float | None = None,
    limit: float | None = None,
    only: Literal["first"] | None = None,
    tolerance: float | None = None,
    repeats: int = 1,
    confidence: float = 0.95,
    count: int | None = None,
    where: Where = (),
    ids: Ids = (),
    seed: int = 0,
    device: str | None = None,
    batch: int | None = None,
    out: str | Path | None = None,
    progress: Shown = None,
) -> FailurePoints:
    """The severity at which predictions become wrong, per image and path, and accuracy at every severity on the way.

    `classifier` may be a dictionary of several, by name; an image set that comes in scales brings its own nuisances.
    `severities` are those above 0: levels of a corruption, σ on the scale from 0 to 255 under `noise`, otherwise the
    nuisance's own; `step` and `limit` stand for an even list. The result has what `brittle fail --json` prints, and
    `rows`, one per image, path and severity.
    """
    options = {
        "severities": tuple(severities),
        "step": step,
        "limit": limit,
        "only": only,
        "tolerance": tolerance,
        "repeats": repeats,
        "confidence": confidence,
    }
    selection, how = Selection.of(count, where, ids), How(device, batch, out, progress)
    return FailurePoints.of(one_measure("failure-points", options, classifier, images, nuisance, selection, seed, how))
