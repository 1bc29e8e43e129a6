"""Parts of any image set to train on: some images of every class, or every image of some classes.

UREM, section 4, trains on 50 % of each class (subsample) and on all images of 10 % of the classes (subclass).
"""

from __future__ import annotations

from dataclasses import MISSING, dataclass, replace
from typing import Any

import torch
from torch import Tensor

from brittle.errors import BrittleError
from brittle.images import register
from brittle.images.base import ClassNameOfEach, ImageSet, alternatives
from brittle.images.source import open_source
from brittle.random import shuffled
from brittle.registry import option
from brittle.types import UNLABELLED

FEWEST = 2  # classes: with one there is nothing to tell apart


@register("subsample")
@dataclass(frozen=True)
class Subsample:
    """A share of every class of another image set, drawn by a seed from the images' ids, which stay what they were."""

    images: Any = option(MISSING, "the other image set's spec (commas as \\,)", positional=True, image_set=True)
    share: float = option(0.5, "how much of each class, rounded to whole images, at least one", above=0, most=1)
    seed: int = option(0, "what the images are drawn by; a smaller share is part of a larger one")

    def load(self) -> ImageSet:
        whole = open_source(self.images, {})
        order = shuffled(whole.ids, self.seed, "subsample")
        kept = [_first(order[whole.labels[order] == label], self.share) for label in torch.unique(whole.labels)]
        return replace(whole.take(torch.cat(kept).sort().values), name=f"subsample of {whole.name}")


@register("subclass")
@dataclass(frozen=True)
class Subclass:
    """All images of some classes of another image set. The classes keep their names, or where they have none get their
    old numbers as names, and are counted anew from 0, since a classifier trained on them has no others."""

    images: Any = option(MISSING, "the other image set's spec (commas as \\,)", positional=True, image_set=True)
    share: float = option(0.1, "how many of its classes, rounded, at least two", above=0, most=1)
    classes: str | tuple[str, ...] | None = option(None, "these classes instead, a/b/c; by number if unnamed")
    seed: int = option(0, "what the classes are drawn by; a smaller share is part of a larger one")

    def load(self) -> ImageSet:
        whole = open_source(self.images, {})
        there = torch.unique(whole.labels[whole.labels != UNLABELLED])
        if len(there) < FEWEST:
            raise BrittleError(
                f"{whole.name!r} has images of {len(there)} class{'' if len(there) == 1 else 'es'}, too few",
                "Give a labelled image set with at least two classes.",
            )
        kept = _named(whole, there, self.classes) if self.classes is not None else self._drawn(there)
        part = whole.take(torch.isin(whole.labels, kept).nonzero()[:, 0])
        return replace(
            part,
            name=f"subclass of {whole.name}",
            labels=torch.searchsorted(kept, part.labels),
            classes=tuple(_name(whole, label) for label in kept.tolist()),
            columns={key: values for key, values in part.columns.items() if not isinstance(values, ClassNameOfEach)},
        )

    def _drawn(self, there: Tensor) -> Tensor:
        """Labels (n,) of the classes, ascending; the draw depends on which labels occur and on nothing else."""
        order = there[shuffled(there, self.seed, "subclass")]
        return _first(order, self.share, FEWEST).sort().values


def _named(whole: ImageSet, there: Tensor, classes: str | tuple[str, ...]) -> Tensor:
    """Labels (n,) of the classes of these names, ascending."""
    names = {_name(whole, label): label for label in there.tolist()}
    wanted = classes if isinstance(classes, str) else "/".join(classes)
    return torch.tensor(sorted(names[name] for name in alternatives(wanted, set(names), f"{whole.name}: the class")))


def _first(ordered: Tensor, share: float, fewest: int = 1) -> Tensor:
    return ordered[: max(fewest, round(share * len(ordered)))]


def _name(whole: ImageSet, label: int) -> str:
    return whole.classes[label] if whole.classes else str(label)
