"""Shape against texture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from brittle.api.carried_out import How, Ids, Shown, Where
from brittle.api.one_measure import one_measure
from brittle.images.selection import Selection
from brittle.results import CueConflicts


def cue_conflict(
    classifier: Any,
    images: Any,
    *,
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
) -> CueConflicts:
    """Shape bias on cue-conflict stimuli: how often classifiers answer with the shape, and how often with the texture.

    `classifier` may be a dictionary of several, by name. `decisions` are CSV files of what people or other models said
    of the same images, as model-vs-human has them. The result has what `brittle cue-conflict --json` prints; `rows` are
    clean predictions, from which it is derived.
    """
    files = (decisions,) if isinstance(decisions, str) else tuple(decisions)
    options = {"decisions": files, "resamples": resamples, "confidence": confidence}
    selection, how = Selection.of(count, where, ids), How(device, batch, out, progress)
    done = one_measure("cue-conflict", options, classifier, images, None, selection, seed, how)
    return CueConflicts.of(done, "cue-conflict")
