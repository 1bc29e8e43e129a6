"""Affinity of augmentations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from brittle.api.carried_out import How, Ids, Shown, Where
from brittle.api.one_measure import one_measure
from brittle.images.selection import Selection
from brittle.results import Augmentation


def affinity(
    classifier: Any,
    images: Any,
    of: str | Sequence[str] = ("mixup", "cutmix", "fmix"),
    *,
    reference: str | None = None,
    groups: Mapping[str, str] | None = None,
    attributes: Mapping[str, Mapping[str, Any]] | None = None,
    samples: int = 1,
    confidence: float = 0.95,
    count: int | None = None,
    where: Where = (),
    ids: Ids = (),
    seed: int = 0,
    device: str | None = None,
    batch: int | None = None,
    out: str | Path | None = None,
    progress: Shown = None,
) -> Augmentation:
    """Accuracy on augmented images minus accuracy on clean ones, in points, for each of some augmentations.

    `of` are specs of mixes (mixup, cutmix, fmix, random-masks, cutout) and of nuisances; `classifier` may be a
    dictionary of several, by name, of which `reference` names the one whose accuracy tells affinity, or its group.
    `groups` says which are runs of one model, and `attributes` what they were trained with and to which loss, as in
    {"net": {"mix": "fmix", "diversity": 0.34}}, where their weights don't. The result has what `brittle affinity
    --json` prints, and `rows`, one per image, augmentation and draw.
    """
    options: dict[str, Any] = {"of": (of,) if isinstance(of, str) else tuple(of), "reference": reference}
    options |= {"samples": samples, "confidence": confidence}
    selection, how = Selection.of(count, where, ids), How(device, batch, out, progress)
    done = one_measure(
        "augmentation", options, classifier, images, None, selection, seed, how, groups=groups, attributes=attributes
    )
    return Augmentation.of(done)
