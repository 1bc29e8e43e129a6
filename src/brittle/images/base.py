"""The image set: (image, label, id) items that are read only when needed, and subsets of them."""

from __future__ import annotations

import math
import operator
import re
from abc import abstractmethod
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol, overload, runtime_checkable

import numpy as np
import torch
from torch import Tensor

from brittle.errors import BrittleError
from brittle.imagenet import by_name, shown
from brittle.images.columns import columns_of
from brittle.images.pixels import Array, Shape, by_shape, ragged, stack
from brittle.random import shuffled
from brittle.registry import did_you_mean
from brittle.registry.values import nearest
from brittle.types import UNLABELLED, Batch, InScales, in_numbers

CONDITION = re.compile(r"([^<>=]+)(<=|>=|<|>|=)(.*)", re.DOTALL)
COMPARED = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}

MOST_CLASSES = 10_000_000  # a label beyond is a mistake, and what counts by class would take all memory

Reader = Callable[[Sequence[int]], Tensor | list[Array]]


@runtime_checkable
class MakesImages(Protocol):
    """A reader whose images are made from what can be named, so that none need be looked at to tell them apart."""

    @property
    def identity(self) -> str:
        """Everything that the images follow from."""


class ShapeGroup(NamedTuple):
    """The images among those asked for that share a shape, and their places (B,) among them, ascending."""

    places: Tensor
    batch: Batch


@dataclass(frozen=True, eq=False)
class ImageSet:
    """Items with stable ids. `reader` maps positions (B,) to images (B, C, H, W), uint8 or float32 in [0, 1].

    If images may differ in shape, it gives a list of (C, H, W) instead, uint8 or float. Its `shapes(positions)` then
    gives their shapes without reading all pixels, and `shape_samples` says for how many images that is affordable."""

    name: str
    ids: Tensor  # (n,) int64, unique, the same on every run and machine
    labels: Tensor  # (n,) int64, UNLABELLED where there is none
    classes: tuple[str, ...]  # a name per label; () if unknown
    names: Sequence[str]  # (n,) human-readable: a relative path or "index 17"
    columns: Mapping[str, Sequence[Any]]  # (n,) each: what subsets can be selected by; "label" and "class" are added
    reader: Reader = field(repr=False)
    skipped: tuple[str, ...] = ()  # files left out because they are unreadable
    shifts: Mapping[str, InScales] = field(default_factory=dict)  # by name: what it brings of its images in scales
    notes: tuple[str, ...] = ()  # sentences that a reader of the numbers must know
    origin: bool = True  # False: its images exist above scale 0 only, and its own merely stand in for those at 0

    def __post_init__(self) -> None:
        for key in ("ids", "labels"):
            object.__setattr__(self, key, getattr(self, key).to("cpu", torch.int64))
        count = len(self.ids)
        if count == 0:
            raise BrittleError(f"the image set {self.name!r} is empty", "Choose a source with at least one image.")
        for what, values in {"labels": self.labels, "names": self.names, **self.columns}.items():
            if len(values) != count:
                raise BrittleError(
                    f"{self.name}: {count} images but {len(values)} {what}",
                    "Give one for each image, in the same order.",
                )
        self._check_ids()
        self._check_labels()
        columns: dict[str, Sequence[Any]] = {**self.columns, "label": self.labels.numpy()}  # type: ignore[dict-item]
        if self.classes:
            columns.setdefault("class", ClassNameOfEach(self.labels.numpy(), self.classes))
        object.__setattr__(self, "columns", columns)

    def _check_ids(self) -> None:
        found, counts = torch.unique(self.ids, return_counts=True)
        if len(found) < len(self.ids):
            twice = int(found[counts > 1][0])
            first, second = (self.names[int(place)] for place in (self.ids == twice).nonzero()[:2, 0])
            raise BrittleError(
                f"{self.name}: id {twice} occurs twice ({first} and {second})", "Give every image an id of its own."
            )

    def _check_labels(self) -> None:
        low, high = int(self.labels.min()), int(self.labels.max())
        if low < UNLABELLED:
            place = int(self.labels.argmin())
            raise BrittleError(
                f"{self.name}: {self.names[place]} has the label {low}", "Labels are 0, 1, 2, …; −1 means no label."
            )
        if high >= MOST_CLASSES:
            place = int(self.labels.argmax())
            raise BrittleError(
                f"{self.name}: {self.names[place]} has the label {high}, and labels count classes from 0",
                "Number the classes 0, 1, 2, …, or leave the labels out.",
            )
        if self.classes and high >= len(self.classes):
            place = int(self.labels.argmax())
            raise BrittleError(
                f"{self.name}: {self.names[place]} has the label {high}, but there are {len(self.classes)} class names",
                "Name every class, in the order of the labels.",
            )

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        """One line; nothing is read."""
        named = f", {len(self.classes)} classes" if self.classes else ""
        labelled = "" if bool((self.labels != UNLABELLED).any()) else ", no labels"
        return f"<ImageSet {self.name!r}: {len(self):,} image{'' if len(self) == 1 else 's'}{named or labelled}>"

    @cached_property
    def shapes(self) -> dict[Shape, list[int]]:
        """The shapes (C, H, W) that occur, and which positions have each. In a large set only evenly spaced images are
        inspected; where all share one shape by construction, only the first."""
        reader: Any = self.reader
        order = np.arange(len(self))
        if isinstance(reader, SubsetReader):
            reader, order = reader.base, reader.order
        if not hasattr(reader, "shapes"):
            return by_shape([self.reader([0])[0].shape])
        positions = range(0, len(self), -(-len(self) // reader.shape_samples))
        alike = by_shape(reader.shapes(order[positions].tolist()))
        return {shape: [positions[place] for place in places] for shape, places in alike.items()}

    @cached_property
    def shape(self) -> Shape:
        """(C, H, W) of every image; if they differ, the largest."""
        return max(self.shapes, key=math.prod)

    @cached_property
    def median_shape(self) -> Shape:
        """The shape of the median image, by number of pixels."""
        ordered = sorted(self.shapes, key=lambda shape: (shape[1] * shape[2], shape))
        before = np.cumsum([len(self.shapes[shape]) for shape in ordered])
        return ordered[int(np.searchsorted(before, before[-1] / 2))]

    def batch(self, positions: Sequence[int] | Tensor, device: torch.device | str = "cpu") -> Batch:
        """Reads the items at `positions` (B,), which must share one shape."""
        groups = self.groups(positions, device)
        if len(groups) > 1:
            places = _positions(positions)
            named = [self.names[int(places[group.places[0]])] for group in groups]
            shapes = [shape_of(group.batch.images) for group in groups]
            raise ragged(named[0], shapes[0], named[1], shapes[1])
        return groups[0].batch

    def groups(
        self, positions: Sequence[int] | Tensor, device: torch.device | str = "cpu", *, stored: bool = False
    ) -> list[ShapeGroup]:
        """Reads the items at `positions` (B,): a batch for each shape among them; as `stored`, perhaps in uint8."""
        places = _positions(positions)
        if len(places) and (int(places.min()) < 0 or int(places.max()) >= len(self)):
            raise IndexError(f"positions {int(places.min())}…{int(places.max())} of {len(self)} images")
        found = []
        for members, images in self._read(places.tolist()):
            here = places[members]
            images = images if stored else in_numbers(images)
            batch = Batch(images.to(device), self.labels[here].to(device), self.ids[here].to(device))
            found.append(ShapeGroup(members, batch))
        return found

    def _read(self, positions: list[int]) -> list[tuple[Tensor, Tensor]]:
        """The images at `positions`, by shape: their places (G,) among them, and images (G, C, H, W)."""
        read = self.reader(positions)
        if not isinstance(read, Tensor):
            alike = by_shape(image.shape for image in read).values()
            return [(torch.tensor(places), stack([read[place] for place in places])) for places in alike]
        if shape_of(read) != self.shape:
            raise ragged(self.names[0], self.shape, self.names[positions[0]], shape_of(read))
        return [(torch.arange(len(positions)), read)]

    def take(self, positions: Sequence[int] | Tensor) -> ImageSet:
        """The subset at `positions`, in that order. Nothing is read."""
        places = _positions(positions)
        order = places.numpy()
        return replace(
            self,
            ids=self.ids[places],
            labels=self.labels[places],
            names=values_at(self.names, order),
            columns={
                key: values_at(values, order)
                for key, values in self.columns.items()
                if not isinstance(values, ClassNameOfEach)
            },
            reader=SubsetReader.of(self.reader, order),
        )

    def choose(self, count: int | None, seed: int) -> ImageSet:
        """`count` images drawn without replacement, in random order; None, or a number above the size, gives all.

        The draw depends only on the ids: whatever the order of the set, the same images come out in the same order.
        """
        if count is not None and count < 1:
            raise BrittleError(f"{count} images of {self.name!r} were asked for", "Ask for at least one.")
        return self.take(shuffled(self.ids, seed)[:count])

    def with_columns(self, what: Any) -> ImageSet:
        """The set with further columns from a CSV or Parquet file, a mapping or an Arrow table that has `id` or
        `name`; see `brittle.images.columns`."""
        added = columns_of(what, self.ids.tolist(), self.names, self.name)
        taken = next((name for name in added if name in self.columns), None)
        if taken is not None:
            raise BrittleError(f"the image set {self.name!r} already has a column {taken!r}", "Rename the other.")
        kept = {name: values for name, values in self.columns.items() if not isinstance(values, ClassNameOfEach)}
        return replace(self, columns={**kept, **added})

    def where(self, *conditions: str) -> ImageSet:
        """The images that meet every condition: `column=value`, `column=a/b/c` for any of several values, or
        `column>0.5` (also >=, <, <=) of numbers."""
        kept = np.ones(len(self), dtype=bool)
        for condition in conditions:
            key, sign, wanted = _split_condition(condition, self.columns)
            if key not in self.columns:
                raise BrittleError(
                    f"the image set {self.name!r} has no column {key!r}", did_you_mean(key, self.columns)
                )
            if sign == "=":
                values = [str(value) for value in self.columns[key]]
                chosen = alternatives(wanted, set(values), f"{self.name}: column {key!r}")
                kept &= np.fromiter((value in chosen for value in values), dtype=bool, count=len(values))
            else:
                kept &= COMPARED[sign](_numbers(self.columns[key], key, self.name), _number(wanted, condition))
        if not kept.any():
            raise BrittleError(f"no image of {self.name!r} meets {' and '.join(conditions)}", "Relax a condition.")
        return self.take(torch.from_numpy(kept.nonzero()[0]))

    def own_classes(self) -> dict[str, list[int]]:
        """The classes that occur, by name, each with its label: `classes` of a classifier masks out the others so."""
        there = torch.unique(self.labels[self.labels != UNLABELLED]).tolist()
        return {self.classes[label] if self.classes else str(label): [label] for label in there}

    def only(self, ids: Iterable[int] | Tensor) -> ImageSet:
        """The images with these ids, in the order given."""
        wanted = [int(each) for each in ids]
        position = {each: place for place, each in enumerate(self.ids.tolist())}
        unknown = [each for each in wanted if each not in position]
        if unknown:
            some = ", ".join(map(str, unknown[:5])) + (", …" if len(unknown) > 5 else "")
            raise BrittleError(
                f"the image set {self.name!r} has no image with the id {some} ({len(unknown)} of {len(wanted)} ids)",
                "Use ids of this set.",
            )
        return self.take([position[each] for each in wanted])


def _split_condition(condition: str, columns: Container[str]) -> tuple[str, str, str]:
    """A condition's column, sign and value; a column may itself contain the signs < and >."""
    key, equals, wanted = condition.partition("=")
    if equals and key in columns:
        return key, equals, wanted
    found = CONDITION.fullmatch(condition)
    if found is None:
        raise BrittleError(f"{condition!r} is not a condition", "Write column=value, column=a/b/c or column>0.5.")
    return found[1], found[2], found[3]


def _numbers(values: Sequence[Any], key: str, where: str) -> np.ndarray[Any, Any]:
    try:
        return np.asarray(values, dtype=np.float64)
    except (ValueError, TypeError):
        raise BrittleError(f"{where}: column {key!r} does not hold numbers", f"Write {key}=value.") from None


def _number(text: str, condition: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if math.isnan(value):
        raise BrittleError(f"{condition!r} compares with {text!r}, which is not a number", "Write column>0.5.")
    return value


def shape_of(images: Tensor) -> Shape:
    """(C, H, W) of images (B, C, H, W)."""
    channels, height, width = images.shape[1:]
    return channels, height, width


def _positions(positions: Sequence[int] | Tensor) -> Tensor:
    return torch.as_tensor(positions, dtype=torch.int64).cpu().reshape(-1)


def alternatives(wanted: str, known: set[str], where: str) -> set[str]:
    """The values meant by a/b/c, where a value may contain a slash (T-shirt/top): the longest known run wins. A WordNet
    id may also be named by its words."""
    values = sorted(known)
    names = {name: values[place] for name, place in by_name([shown(value) for value in values]).items()}
    names |= {value: value for value in values}
    parts, chosen = wanted.split("/"), set()
    while parts:
        length = next((n for n in range(len(parts), 0, -1) if "/".join(parts[:n]) in names), 0)
        if not length:
            remedy = nearest(parts[0], names) or did_you_mean(parts[0], map(shown, values))
            raise BrittleError(f"{where} never has the value {parts[0]!r}", remedy)
        chosen.add(names["/".join(parts[:length])])
        parts = parts[length:]
    return chosen


class SubsetReader:
    """Reads those items of another reader that are at `order`."""

    def __init__(self, base: Reader, order: np.ndarray[Any, Any]) -> None:
        self.base, self.order = base, order

    @classmethod
    def of(cls, reader: Reader, order: np.ndarray[Any, Any]) -> SubsetReader:
        """A subset of a subset reads from the original directly, at any depth."""
        return cls(reader.base, reader.order[order]) if isinstance(reader, SubsetReader) else cls(reader, order)

    def __call__(self, positions: Sequence[int]) -> Tensor | list[Array]:
        return self.base(self.order[np.asarray(positions, dtype=np.int64)].tolist())


class LazyNames(Sequence[str]):
    """A sequence of names that are made on demand."""

    @abstractmethod
    def word(self, place: int) -> str: ...

    def at(self, order: np.ndarray[Any, Any]) -> Sequence[str]:
        """Those at `order`."""
        return [self.word(int(place)) for place in order]

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        if isinstance(place, slice):
            return [self.word(each) for each in range(*place.indices(len(self)))]
        if not -len(self) <= place < len(self):
            raise IndexError(place)
        return self.word(place % len(self))


class ClassNameOfEach(LazyNames):
    """The class name of each image; "" where there is no label."""

    def __init__(self, labels: np.ndarray[Any, Any], classes: tuple[str, ...]) -> None:
        self.labels, self.classes = labels, classes

    def __len__(self) -> int:
        return len(self.labels)

    def word(self, place: int) -> str:
        label = int(self.labels[place])
        return "" if label == UNLABELLED else self.classes[label]

    def at(self, order: np.ndarray[Any, Any]) -> ClassNameOfEach:
        return ClassNameOfEach(self.labels[order], self.classes)


class IndexNames(LazyNames):
    """ "index 17" for images that have no name of their own."""

    def __init__(self, ids: np.ndarray[Any, Any]) -> None:
        self.ids = ids

    def __len__(self) -> int:
        return len(self.ids)

    def word(self, place: int) -> str:
        return f"index {int(self.ids[place])}"

    def at(self, order: np.ndarray[Any, Any]) -> IndexNames:
        return IndexNames(self.ids[order])


def values_at(values: Sequence[Any], order: np.ndarray[Any, Any]) -> Sequence[Any]:
    """The values at `order`; lazy names stay lazy."""
    if isinstance(values, LazyNames):
        return values.at(order)
    if isinstance(values, np.ndarray):
        return values[order]
    return [values[int(place)] for place in order]


def of_one_shape(images: ImageSet) -> ImageSet:
    """The set, refused if its images differ in shape: for callers that mix any of its images in one batch."""
    if len(images.shapes) > 1:
        (shape, places), (other, others), *_ = images.shapes.items()
        raise ragged(images.names[places[0]], shape, images.names[others[0]], other)
    return images
