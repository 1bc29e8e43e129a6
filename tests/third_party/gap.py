"""How much less accurate classifiers are on one image set than on another, such as new images of the same classes."""

from dataclasses import dataclass
from typing import ClassVar

from brittle.extend import BrittleError, Derived, Read, clean_columns, did_you_mean, option, register_measure


@register_measure("accuracy-gap")
@dataclass(frozen=True)
class AccuracyGap(Derived):
    """Accuracy on the first image set less accuracy on the second."""

    over: ClassVar = frozenset({"classifier", "images"})
    reads: ClassVar = (Read("clean"),)

    first: str = option("", "name of an image set of the study")
    second: str = option("", "name of another")

    def check(self, about, asked):
        for name in (self.first, self.second):
            if name not in asked.images:
                raise BrittleError(f"there is no image set {name!r} to compare", did_you_mean(name, asked.images))

    def summarise(self, run):
        gaps = []
        for classifier in run.classifiers:
            first, second = (
                float((clean_columns(run, classifier, images)["rank"] == 0).mean())
                for images in (self.first, self.second)
            )
            gaps.append({"classifier": classifier, self.first: first, self.second: second, "gap": first - second})
        return {"gaps": gaps}
