"""Which images of a set: by column or id first, then a seeded draw without replacement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from brittle.images.base import ImageSet


@dataclass(frozen=True)
class Selection:
    """`count` images, all by default, among those that meet every condition `column=value` and have one of the ids."""

    count: int | None = None
    where: tuple[str, ...] = ()
    ids: tuple[int, ...] = ()

    @classmethod
    def of(cls, count: int | None = None, where: str | Sequence[str] = (), ids: Sequence[int] = ()) -> Selection:
        return cls(count, (where,) if isinstance(where, str) else tuple(where), tuple(ids))

    def choose(self, whole: ImageSet, seed: int) -> Chosen:
        """The images in planned order: an order that depends on seed and ids alone."""
        if self.where:
            whole = whole.where(*self.where)
        if self.ids:
            whole = whole.only(self.ids)
        return Chosen(whole.choose(self.count, seed), whole, self.count)


@dataclass(frozen=True)
class Chosen:
    """The images of a study in planned order, and the whole set they were drawn from."""

    images: ImageSet
    whole: ImageSet
    asked: int | None = None  # how many were asked for
