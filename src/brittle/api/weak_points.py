"""Weak points of a classifier."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from brittle.api.carried_out import How, Ids, Shown, Where
from brittle.api.one_measure import one_measure, opened, refuse_several, source_of
from brittle.images.selection import Selection
from brittle.nuisances.suites import by_name
from brittle.results import WeakPoints


def sample(
    classifier: Any,
    images: Any,
    nuisance: Any = None,
    *,
    sampler: str = "auto",
    budget: int = 2000,
    chains: int = 8,
    steps: int = 1000,
    burn_in: int = 500,
    start: str = "worst",
    tries: int = 64,
    keep: int = 200,
    failing: bool = False,
    count: int | None = 20,
    where: Where = (),
    ids: Ids = (),
    seed: int = 0,
    device: str | None = None,
    batch: int | None = None,
    out: str | Path | None = None,
    progress: Shown = None,
) -> WeakPoints:
    """Weak points of a classifier: draws from p(θ | not ℓ, x) for each of `count` images, all with None.

    With `failing`, draws from the prior where the prediction is another label: p(θ | the prediction is not ℓ, x)."""
    remedy = "Call it for each, or use brittle.run with a [weak-points] table, which takes several."
    refuse_several("nuisances", by_name(nuisance), remedy)
    refuse_several("classifiers", classifier if isinstance(classifier, Mapping) else (), remedy)
    whole = opened(images)
    options = {
        "sampler": sampler,
        "budget": budget,
        "chains": chains,
        "steps": steps,
        "burn-in": burn_in,
        "start": start,
        "tries": tries,
        "keep": keep,
        "failing": failing,
        "count": len(whole),
    }
    selection, how = Selection.of(None if ids else count, where, ids), How(device, batch, out, progress)
    source = source_of(images, whole)
    return WeakPoints.of(one_measure("weak-points", options, classifier, source, nuisance, selection, seed, how))
