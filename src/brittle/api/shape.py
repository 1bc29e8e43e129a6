"""Shape and texture: shuffled patches, cue conflict, and whose errors are alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from brittle.api.carried_out import How, Ids, Shown, Where
from brittle.api.one_measure import one_measure
from brittle.images.selection import Selection
from brittle.results import Shape


def shape(
    classifier: Any,
    images: Any,
    *,
    groups: Mapping[str, str] | None = None,
    grids: Sequence[int] = (2, 4),
    samples: int = 4,
    moves: str = "permutation",
    decisions: str | Sequence[str] = (),
    resamples: int = 2000,
    confidence: float = 0.95,
    count: int | None = None,
    where: Where = (),
    ids: Ids = (),
    seed: int = 0,
    device: str | None = None,
    batch: int | None = None,
    out: str | Path | None = None,
    progress: Shown = None,
) -> Shape:
    """Accuracy on shuffled patches, or on cue-conflict stimuli the shape bias; and whose errors are alike.

    `classifier` may be a dictionary of several, by name, and `groups` says which of them are runs of one model, whose
    errors may gather in the same class. `decisions` are CSV files of what people or other models said
    of the same images, as model-vs-human has them. The result has what `brittle shape --json` prints; where patches
    were shuffled, `rows` has one per image, grid and shuffle.
    """
    files = (decisions,) if isinstance(decisions, str) else tuple(decisions)
    options = {"grids": tuple(grids), "samples": samples, "moves": moves, "decisions": files}
    options |= {"resamples": resamples, "confidence": confidence}
    selection, how = Selection.of(count, where, ids), How(device, batch, out, progress)
    return Shape.of(one_measure("shape", options, classifier, images, None, selection, seed, how, groups=groups))
