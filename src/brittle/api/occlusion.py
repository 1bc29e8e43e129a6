"""Accuracy of classifiers as images are hidden."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from brittle.api.carried_out import How, Ids, Shown, Where
from brittle.api.one_measure import one_measure
from brittle.images.selection import Selection
from brittle.results import Occlusions


def occlusion(
    classifier: Any,
    images: Any,
    nuisance: Any = None,
    *,
    train: Any = None,
    groups: Mapping[str, str] | None = None,
    shares: Sequence[float] | None = None,
    repeats: int = 1,
    confidence: float = 0.95,
    train_count: int | None = None,
    count: int | None = None,
    where: Where = (),
    ids: Ids = (),
    seed: int = 0,
    device: str | None = None,
    batch: int | None = None,
    out: str | Path | None = None,
    progress: Shown = None,
) -> Occlusions:
    """Accuracy as more and more of an image is hidden: CutOcclusion and, with `train`, iOcclusion.

    `classifier` may be a dictionary of several, by name, and `groups` says which of them are runs of one model.
    `nuisance` is one that hides pixels, or a list; patch, fourier-mask and tiles by default. `train` is the image set
    that the classifiers were trained on, of which `train_count` images are drawn, as many as `count` by default. The
    result has what `brittle occlude --json` prints, and `rows`, one per image, mask and share.
    """
    options = {"shares": None if shares is None else tuple(shares), "repeats": repeats, "confidence": confidence}
    done = one_measure(
        "occlusion",
        options,
        classifier,
        images,
        nuisance,
        Selection.of(count, where, ids),
        seed,
        How(device, batch, out, progress),
        train=train,
        train_selection=Selection.of(count if train_count is None else train_count, (), ()),
        groups=groups,
    )
    return Occlusions.of(done)
