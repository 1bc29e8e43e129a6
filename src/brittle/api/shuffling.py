"""Accuracy on shuffled patches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from brittle.api.carried_out import How, Ids, Shown, Where
from brittle.api.one_measure import one_measure
from brittle.images.selection import Selection
from brittle.results import Shuffling


def shuffling(
    classifier: Any,
    images: Any,
    *,
    groups: Mapping[str, str] | None = None,
    grids: Sequence[int] = (2, 4),
    samples: int = 4,
    moves: str = "permutation",
    confidence: float = 0.95,
    count: int | None = None,
    where: Where = (),
    ids: Ids = (),
    seed: int = 0,
    device: str | None = None,
    batch: int | None = None,
    out: str | Path | None = None,
    progress: Shown = None,
) -> Shuffling:
    """What is left of accuracy when the patches of images change places.

    `classifier` may be a dictionary of several, by name, and `groups` says which of them are runs of one model, whose
    errors may gather in the same class. The result has what `brittle shuffling --json` prints, and `rows`, one per
    image, grid and shuffle.
    """
    options = {"grids": tuple(grids), "samples": samples, "moves": moves, "confidence": confidence}
    selection, how = Selection.of(count, where, ids), How(device, batch, out, progress)
    done = one_measure("shuffling", options, classifier, images, None, selection, seed, how, groups=groups)
    return Shuffling.of(done)
