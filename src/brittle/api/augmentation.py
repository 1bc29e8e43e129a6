"""Affinity of augmentations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from brittle.api.one_measure import IT, one_measure
from brittle.images.selection import Selection
from brittle.progress import Progress
from brittle.results import Augmentation


def affinity(
    classifier: Any,
    images: Any,
    of: str | Sequence[str] = ("mixup", "cutmix", "fmix"),
    *,
    samples: int = 1,
    confidence: float = 0.95,
    count: int | None = None,
    where: str | Sequence[str] = (),
    ids: str | Sequence[int] = (),
    seed: int = 0,
    device: str | None = None,
    batch: int | None = None,
    progress: Progress | None = None,
) -> Augmentation:
    """Accuracy on augmented images minus accuracy on clean ones, in points, for each of some augmentations.

    `of` are specs of mixes (mixup, cutmix, fmix, random-masks, cutout) and of nuisances; `classifier`, the reference,
    may be a dictionary of several, by name. The result has what `brittle affinity --json` prints, and `rows`, one per
    image, augmentation and draw.
    """
    options = {"of": (of,) if isinstance(of, str) else tuple(of), "samples": samples, "confidence": confidence}
    several = classifier if isinstance(classifier, Mapping) else {IT: classifier}
    done = one_measure("augmentation", options, several, images, None, Selection.of(count, where, ids), seed)(
        device, batch, progress
    )
    return Augmentation.of(done)
