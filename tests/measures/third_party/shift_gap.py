"""Shift gap: what classifiers lose from one image set to a shifted version of it, image by image. All of it is derived
from clean predictions of both."""

from dataclasses import dataclass
from typing import ClassVar

from brittle.errors import BrittleError
from brittle.measures import register
from brittle.measures.base import Measure, Read
from brittle.registry import option


@register("shift-gap")
@dataclass(frozen=True)
class ShiftGap(Measure):
    """Accuracy lost to a shift, and agreement of predictions on images with the same id."""

    over: ClassVar = frozenset({"classifier"})
    reads: ClassVar = (Read("clean"),)

    original: str = option("original", "an image set of the study")
    shifted: str = option("shifted", "the same images, shifted")

    def summarise(self, run):
        clean, results = run.read("clean"), []
        for name in (self.original, self.shifted):
            if name not in run.images:
                raise BrittleError(f"the study has no image set {name!r}", "Name it: original = …, shifted = ….")
        for cell in run.cells():
            before, after = (
                {
                    row["image"]: row
                    for part in clean.rows(clean.cell(cell.classifier, images))
                    for row in part.to_pylist()
                }
                for images in (self.original, self.shifted)
            )
            both = [(before[id], after[id]) for id in before.keys() & after.keys()]
            right = [(one["rank"] == 0, other["rank"] == 0) for one, other in both]
            results.append(
                {
                    "classifier": cell.classifier,
                    "images": len(both),
                    "lost": sum(one - other for one, other in right) / len(both),
                    "agreement": sum(one["predicted"] == other["predicted"] for one, other in both) / len(both),
                }
            )
        return {"results": results}
