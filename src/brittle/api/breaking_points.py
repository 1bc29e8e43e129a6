"""Breaking points of classifiers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from brittle.api.carried_out import How, Ids, Shown, Where
from brittle.api.one_measure import one_measure
from brittle.images.selection import Selection
from brittle.results import BreakingPoints


def breaking_points(
    classifier: Any,
    images: Any,
    nuisance: Any = None,
    *,
    noise: str = "path",
    step: float | None = None,
    limit: float | None = None,
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
) -> BreakingPoints:
    """The severity at which predictions leave the clean prediction, per image and path, and averaged.

    `classifier` may be a dictionary of several, by name. The nuisance is `noise` where none is given; an image set in
    scales brings its own. Under `noise`, `step` and `limit` are σ on the scale from 0 to 255; under other nuisances,
    severities. The result has what `brittle break --json` prints, and `rows`, one per image and path.
    """
    options = {"noise": noise, "step": step, "limit": limit, "repeats": repeats, "confidence": confidence}
    selection, how = Selection.of(count, where, ids), How(device, batch, out, progress)
    done = one_measure("breaking-points", options, classifier, images, nuisance, selection, seed, how)
    return BreakingPoints.of(done)
