"""Which images of a set: by column or id first, then a seeded draw without replacement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from brittle.images.base import ImageSet
from brittle.images.columns import hash_of
from brittle.images.id_list import ids_of

if TYPE_CHECKING:
    from brittle.images.fingerprint import Fingerprints


@dataclass(frozen=True)
class Selection:
    """`count` images, all by default, among those that meet every condition `column=value` and have one of the ids;
    conditions may be on `columns` from a file."""

    count: int | None = None
    where: tuple[str, ...] = ()
    ids: tuple[int, ...] = ()
    columns: str = ""

    @classmethod
    def of(cls, count: int | None = None, where: str | Sequence[str] = (), ids: str | Sequence[int] = ()) -> Selection:
        return cls(count, (where,) if isinstance(where, str) else tuple(where), ids_of(ids))

    @property
    def entry(self) -> tuple[Any, ...]:
        """All that the choice depends on, in plain values."""
        plain = (self.count, self.where, self.ids)
        return (*plain, self.columns, hash_of(self.columns)) if self.columns else plain

    def choose(self, whole: ImageSet, seed: int) -> ChosenImages:
        """The images in planned order: an order that depends on seed and ids alone."""
        if self.columns:
            whole = whole.with_columns(self.columns)
        if self.where:
            whole = whole.where(*self.where)
        if self.ids:
            whole = whole.only(self.ids)
        return ChosenImages(whole.choose(self.count, seed), whole, self.count)


@dataclass(frozen=True)
class ChosenImages:
    """The images of a study in planned order, and the whole set they were drawn from."""

    images: ImageSet
    whole: ImageSet
    asked: int | None = None  # how many were asked for
    prints: Fingerprints | None = None  # where another process has found them out
