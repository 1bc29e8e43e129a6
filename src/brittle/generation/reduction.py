"""Which generated images people need to label (Dünkel et al. 2025, A.9.1 and table 8).

(i) All images. (ii) Seeds whose image at scale 0 is of its class without doubt: what goes wrong later is then the
slider's doing. (iii) Of these, the easy images count as in class without being looked at: a linear probe finds their
class, *and* one of some classifiers does, *and* their alignment with the class's words is above a threshold. (iv) The
rest are labelled, and those that are called in class are added to the easy ones. The paper keeps a seed where the image
at scale 0 is classified correctly and well aligned; its table counts all of these as easy, so the same test is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from brittle.errors import BrittleError
from brittle.generation.stored import StoredImages
from brittle.images.scales.cns import write_annotations

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


class Evidence(NamedTuple):
    """What is known of images without a label."""

    probe: Mask  # (n,) the linear probe finds the class
    classifiers: Mask  # (n, k) each classifier does
    text: Array  # (n,) alignment with the class's words


class Reduction(NamedTuple):
    """Of all images (n,)."""

    kept: Mask  # (ii) of a seed that is kept
    easy: Mask  # (iii) of these, in class without a label

    @property
    def to_label(self) -> Mask:
        return self.kept & ~self.easy


class StageCounts(NamedTuple):
    """A line of table 8: the images of one scale after each stage."""

    scale: float
    generated: int
    kept: int
    easy: int
    in_class: int | None  # None until there are labels
    unlabelled: int  # of those to label, so far


def reduced(evidence: Evidence, scale: Array, path: NDArray[np.int64], threshold: float) -> Reduction:
    """Stages (ii) and (iii), for images at a scale (n,) of a path (n,): a seed of a class under a shift."""
    without_doubt = evidence.probe & evidence.classifiers.any(1) & (evidence.text > threshold)
    origins = scale == 0
    first = np.zeros(int(path.max()) + 1 if len(path) else 0, dtype=bool)
    first[path[origins]] = True
    if not first[path].all():
        raise BrittleError("some paths have no image at scale 0", "Generate scale 0, by which seeds are chosen.")
    good = np.zeros_like(first)
    good[path[origins & without_doubt]] = True
    kept = good[path]
    return Reduction(kept, kept & without_doubt)


def stage_counts(scale: Array, found: Reduction, verdict: Sequence[str] | None = None) -> list[StageCounts]:
    """Table 8; `verdict` (n,) are what labels say of images, "" where there is none."""
    said = np.array([""] * len(scale) if verdict is None else list(verdict))
    lines = []
    for each in np.unique(scale):
        here = scale == each
        labelled = here & found.to_label & (said != "")
        in_class = int((here & found.easy).sum() + (labelled & (said == "in class")).sum())
        lines.append(
            StageCounts(
                float(each),
                int(here.sum()),
                int((here & found.kept).sum()),
                int((here & found.easy).sum()),
                None if verdict is None else in_class,
                int((here & found.to_label & (said == "")).sum()),
            )
        )
    return lines


def quantile_threshold(text: Array, share: float = 0.9) -> float:
    """The threshold that so many alignments of *real* images (n,) lie above: the paper's 24 is about 90 %."""
    return float(np.quantile(text, 1 - share))


def write_to_label(path: Path, images: StoredImages, found: Reduction) -> int:
    """The images to label as annotations, which `brittle label --annotations` takes; returns how many there are."""
    chosen = [each for each, wanted in zip(images.files, found.to_label, strict=True) if wanted]
    write_annotations(path, chosen, {"stage": "(iv), to be labelled"})
    return len(chosen)
