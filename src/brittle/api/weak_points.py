"""Weak points of a classifier."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from brittle.api.one_measure import IT, one_measure
from brittle.images import image_set
from brittle.images.selection import Selection
from brittle.progress import Progress
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
    count: int | None = 20,
    where: str | Sequence[str] = (),
    ids: str | Sequence[int] = (),
    seed: int = 0,
    device: str | None = None,
    batch: int | None = None,
    progress: Progress | None = None,
) -> WeakPoints:
    """Weak points of a classifier: draws from p(θ | not ℓ, x) for each of `count` images, all with None."""
    whole = image_set(images)
    options = {
        "sampler": sampler,
        "budget": budget,
        "chains": chains,
        "steps": steps,
        "burn-in": burn_in,
        "start": start,
        "tries": tries,
        "keep": keep,
        "count": len(whole),
    }
    selection = Selection.of(None if ids else count, where, ids)
    done = one_measure("weak-points", options, {IT: classifier}, whole, nuisance, selection, seed)(
        device, batch, progress
    )
    return WeakPoints.of(done)
