"""What a measure is to the engine: a plan, the work of some units, when there is enough, and what is said in the end.

A newcomer subclasses `Measure`, registers it, and can be named in a study. The engine cuts the plan into spans, calls
`evaluate` for those that are missing, and keeps the tables; nothing a measure does may depend on how the plan was cut.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray
from torch import Tensor

from brittle.errors import Failure
from brittle.imagenet import shown_labels
from brittle.measures.answers import Answers
from brittle.measures.plan import Plan, Unit
from brittle.names import told_classes
from brittle.types import Batch, Classifier, Nuisance

CLASSIFIER, IMAGES, NUISANCE = "classifier", "images", "nuisance"
ROWS = "rows"  # the table that every measure has; a unit without it is not done

Tables = Mapping[str, pa.Table]  # by name; each has a column `unit`, and is sorted by it
Pending = Callable[[], Tables]  # tables still to be fetched from the device
Given = Mapping[str, Tables]  # by kind of measure: what a measure reads, for the images in question


class BadAnswer(Exception):
    """A classifier's answer that is not a probability distribution: which image of the batch, which draw or θ."""

    def __init__(self, image: int, wrong: str, *, draw: int | None = None, theta: Tensor | None = None) -> None:
        super().__init__(wrong)
        self.image, self.wrong, self.draw, self.theta = image, wrong, draw, theta


class Cell(NamedTuple):
    """One measure of one classifier on one image set under one nuisance; "" where the measure has no use for one."""

    measure: str
    classifier: str = ""
    images: str = ""
    nuisance: str = ""


class Read(NamedTuple):
    """A kind of measure whose rows are given to another; `options` are those it must have. `rows` is False where they
    are for the summary alone."""

    kind: str
    required: bool = True
    options: Mapping[str, Any] = {}
    rows: bool = True


@dataclass(frozen=True)
class ClassifierFacts:
    """What is known of a classifier without loading it."""

    name: str
    labels: tuple[str, ...]  # a name per class, in output order
    can: frozenset[str] = frozenset()
    layers: tuple[str, ...] = ()
    group: str = ""  # several trainings of one model share one
    attributes: Mapping[str, Any] = field(default_factory=dict)
    named: bool = True  # False where the labels are numbers for want of names
    trained: Mapping[str, Any] = field(default_factory=dict)  # what its weights say of their training

    @classmethod
    def of(cls, name: str, classifier: Classifier, entry: ClassifierFacts | None) -> ClassifierFacts:
        """What a classifier has told once it was tried, and what its entry says."""
        return cls(
            name,
            shown_labels(classifier.labels),
            frozenset(classifier.can),
            tuple(getattr(classifier, "layers", ())),
            entry.group if entry is not None else "",
            entry.attributes if entry is not None else {},
            bool(getattr(classifier, "named", True)),
            dict(getattr(classifier, "trained", {})),
        )

    def worded(self, subject: Subject) -> ClassifierFacts:
        """The same with the image set's words for classes that go by number."""
        return replace(self, labels=told_classes(self.labels, subject.classes, self.named))

    def told(self) -> dict[str, Any]:
        """What only the classifier could tell, as plain values to be kept."""
        return {
            "labels": list(self.labels),
            "named": self.named,
            "can": sorted(self.can),
            "layers": list(self.layers),
        } | ({"trained": dict(self.trained)} if self.trained else {})

    def with_told(self, kept: Mapping[str, Any]) -> ClassifierFacts:
        """The same with what a run has kept, whether the classifier can be loaded now or not."""
        return replace(
            self,
            labels=tuple(kept.get("labels", ())),
            can=frozenset(kept.get("can", ())),
            layers=tuple(kept.get("layers", ())),
            named=bool(kept.get("named", True)),
            trained=dict(kept.get("trained", {})),
        )


@dataclass(frozen=True)
class Subject:
    """What is known of an image set without reading images: those of the study in planned order, and the set they were
    drawn from."""

    name: str
    ids: NDArray[np.int64]  # (M,)
    labels: NDArray[np.int64]  # (M,), −1 where there is none
    classes: Sequence[str]
    names: Sequence[str]  # (M,)
    shape: tuple[int, int, int]  # of the largest
    population: int
    population_labels: NDArray[np.int64]
    asked: int | None = None  # how many images the study asks for
    columns: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    train: str = ""  # the image set that the classifiers were trained on
    origin: bool = True  # False: it has no images at severity 0, and those of the set merely stand in for them

    def __len__(self) -> int:
        return len(self.ids)

    def class_name(self, label: int) -> str:
        return self.classes[label] if 0 <= label < len(self.classes) else str(label)

    @cached_property
    def _sorted(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        order = np.argsort(self.ids, kind="stable")
        return order, self.ids[order]

    def places(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Places in planned order of the images with these ids."""
        order, ordered = self._sorted
        return order[np.minimum(np.searchsorted(ordered, ids), len(ordered) - 1)]


def tested(images: Mapping[str, Subject]) -> list[str]:
    """The names of those that are not merely what others were trained on."""
    trained = {subject.train for subject in images.values()}
    return [name for name, subject in images.items() if name not in trained or subject.train]


@dataclass(frozen=True)
class About:
    """What a cell is about: all that a plan may depend on. What a measure has no use for is None."""

    seed: int
    subject: Subject | None = None
    nuisance: Nuisance | None = None
    nuisance_name: str = ""
    stream: str = ""  # names the nuisance's random numbers
    classifier: ClassifierFacts | None = None
    images: str = ""  # what the study calls the subject

    @property
    def count(self) -> int:
        """Images."""
        return 0 if self.subject is None else len(self.subject)

    @property
    def numbers(self) -> int:
        """Numbers per image, of the largest."""
        return 1 if self.subject is None else math.prod(self.subject.shape)

    @property
    def theta_size(self) -> int:
        """Numbers of θ, for the largest image."""
        if self.nuisance is None or self.subject is None:
            return 0
        one = Batch(torch.zeros(1, *self.subject.shape), torch.zeros(1).long(), torch.zeros(1).long())
        return int(self.nuisance.identity(one).shape[-1])


class Piece(NamedTuple):
    """What is wanted of one unit: images of the batch × a range of the measure's axis."""

    unit: int  # its place in the plan
    rows: Tensor  # (n,) places in the batch, in planned order
    axis: range


class Pairs(NamedTuple):
    """Every image of some pieces with every place on the axis, image by image."""

    units: Tensor  # (R,)
    rows: Tensor  # (R,) places in the batch
    axis: Tensor  # (R,)


@dataclass(frozen=True)
class Task:
    """Some units' images, all of one shape, and what there is to know about them."""

    answers: Answers  # of the task's classifiers about its B images
    ids: NDArray[np.int64]  # (B,) those of the images, at hand without waiting for the device
    pieces: Sequence[Piece]
    about: About  # of the first classifier; all plans of a task are equal
    labels: Mapping[str, Tensor]  # (B,) per classifier, as it counts its classes; −1 where an image has no label
    given: Mapping[str, Given]  # per classifier: the rows that the measure reads, of these images and perhaps others

    @cached_property
    def batch(self) -> Batch:
        """The images, for what `answers` can't do; none where the measure looks at no image."""
        return self.answers.batch.in_numbers()

    @property
    def device(self) -> torch.device:
        return self.answers.batch.images.device

    @property
    def classifiers(self) -> Mapping[str, Classifier]:
        """For gradients and layers; `answers` asks them."""
        return self.answers.classifiers

    @property
    def batch_size(self) -> int:
        return self.answers.size

    @property
    def tick(self) -> Callable[[int], None]:
        """To be told of classifier calls that `answers` does not make."""
        return self.answers.tick

    @cached_property
    def pairs(self) -> Pairs:
        parts = []
        for unit, rows, axis in self.pieces:
            places = torch.arange(axis.start, axis.stop, axis.step)
            numbers = torch.full((len(rows) * len(places),), unit)
            parts.append((numbers, rows.repeat_interleave(len(places)), places.repeat(len(rows))))
        return Pairs(*(torch.cat(each) for each in zip(*parts, strict=True)))

    def keys(self, axis: str = "") -> dict[str, NDArray[Any]]:
        """The first columns of a table with a row per pair: unit, image and, by the name given, the place on the
        axis."""
        pairs = self.pairs
        found = {"unit": pairs.units.numpy().astype(np.int32), "image": self.ids[pairs.rows.numpy()]}
        return found | ({axis: pairs.axis.numpy().astype(np.int32)} if axis else {})


class Fold(Protocol):
    """Reads a cell's units in planned order and says when there are enough."""

    @property
    def finished(self) -> bool:
        """Whether the units so far are enough."""
        ...

    def feed(self, unit: Unit, tables: Tables, given: Given) -> None: ...


class RunView(Protocol):
    """A run's rows of one measure, as it reads them back. No classifier is loaded for it."""

    @property
    def name(self) -> str:
        """Of the measure in the study."""
        ...

    @property
    def seed(self) -> int: ...

    @property
    def classifiers(self) -> Mapping[str, ClassifierFacts]:
        """Those that this measure is asked about; so with images and nuisances."""
        ...

    @property
    def images(self) -> Mapping[str, Subject]: ...

    @property
    def nuisances(self) -> Mapping[str, Nuisance]: ...

    def about(self, cell: Cell) -> About: ...

    def plan(self, cell: Cell) -> Plan: ...

    def cell(self, classifier: str = "", images: str = "", nuisance: str = "") -> Cell:
        """This measure's cell; what it has no use for is left out."""
        ...

    def cells(self) -> Iterator[Cell]: ...

    def rows(self, cell: Cell, table: str = ROWS) -> Iterator[pa.Table]:
        """What is finished, in planned order, and never past the point where the measure stopped."""
        ...

    def table(self, cell: Cell, table: str = ROWS) -> pa.Table:
        """All of that as one table."""
        ...

    def fold(self, cell: Cell) -> Fold:
        """The measure's fold, fed with all of that."""
        ...

    def read(self, kind: str) -> RunView | None:
        """A measure that this one reads; None where the study has none."""
        ...

    def references(self, classifier: str, images: str) -> NDArray[np.int64]:
        """(M,) labels as the classifier counts its classes; −1 where an image has none."""
        ...

    def prior(self, images: str, nuisance: str) -> str:
        """What the nuisance's prior means on these images, in words."""
        ...


class Measure(ABC):
    """What is computed about classifiers. Options are dataclass fields made with `option`."""

    over: ClassVar[frozenset[str]] = frozenset({CLASSIFIER, IMAGES, NUISANCE})  # what a cell names
    reads: ClassVar[tuple[Read, ...]] = ()
    needs: ClassVar[tuple[type, ...]] = ()  # protocols that a classifier must satisfy
    with_training: ClassVar[bool] = False  # whether it is also asked about what its image sets name as `train`
    leaves_out: ClassVar[bool] = False  # whether it has no rows of images that a stored shift lacks
    needs_origin: ClassVar[bool] = True  # whether it looks at images as they are at severity 0
    walks: ClassVar[bool] = (
        False  # whether severity rises by itself, so that one level of a nuisance is as good as another
    )

    @property
    def prior_column(self) -> str:
        """The column of its rows that numbers draws of the prior, where θ is one of these; of paths, at severity 1."""
        return ""

    @property
    def stops(self) -> bool:
        """Whether the fold may end the plan early."""
        return False

    def needed(self) -> tuple[type, ...]:
        """`needs`, and what its options ask for besides."""
        return self.needs

    def distorted(self) -> str:
        """Where its rows hold answers about distorted images, as many for each, in the columns `image` and `predicted`:
        which answers, such as "at the break". With clean predictions among its `reads`, the DI index is told beside
        it."""
        return ""

    def check(self, about: About) -> None:  # noqa: B027
        """Raises, before work begins, where this can't be measured."""

    def check_together(self, classifiers: Mapping[str, ClassifierFacts], images: Sequence[str]) -> None:  # noqa: B027
        """Raises, before work begins, where it can't do with all the classifiers and image sets it is asked about."""

    def nuisances(self) -> Sequence[str]:
        """Specs of the nuisances used where a study names none."""
        return ()

    def unshifted(self) -> Sequence[str]:
        """Image sets that it also takes where the study has no nuisance for them."""
        return ()

    def plan(self, about: About) -> Plan:
        """The units in an order that depends on the study alone; none where all that is said is derived."""
        return ()

    def axis(self, about: About) -> Mapping[str, NDArray[Any]] | None:
        """What each place on its axis is, by columns of its rows; no columns where nothing but the image tells them
        apart. With these a run is extended by more images and places. None where rows also depend on which other images
        or places there are: they are used again only where the whole unit is the same."""
        return None

    def calls(self, unit: Unit) -> int:
        """Classifier calls that a unit takes, as far as they are known beforehand."""
        return unit.size

    def evaluate(self, task: Task) -> Mapping[str, Pending]:
        """For each classifier, or for "" where cells name none, the tables of the task's units, each sorted by its
        first column, `unit`. Never waits for the device."""
        raise AssertionError(f"{type(self).__name__} plans units and does not say how to evaluate them")

    def fold(self, about: About) -> Fold | None:
        """What reads the rows in planned order, for early stopping and for the summary."""
        return None

    @abstractmethod
    def summarise(self, run: RunView) -> dict[str, Any]:
        """Plain values for summary.json. `warnings`, a list of sentences, are gathered from all measures, and so are
        `calls`, images classified per classifier, where the measure knows better than its plan."""


def pairs_of(run: RunView) -> list[tuple[str, str]]:
    """The image sets and nuisances of a run's cells: an image set in scales has nuisances of its own."""
    return list(dict.fromkeys((cell.images, cell.nuisance) for cell in run.cells()))


def looked_up(table: pa.Table, column: str, ids: NDArray[np.int64]) -> NDArray[Any]:
    """The values of a table with one row per image, for these images; an image that is not there is an error."""
    known, values = table["image"].to_numpy(), table[column].to_numpy()
    order = np.argsort(known, kind="stable")
    places = np.searchsorted(known, ids, sorter=order)
    there = places < len(known)
    there[there] = known[order[places[there]]] == ids[there]
    if not there.all():
        raise Failure(
            f"rows of the image with the id {int(ids[~there][0])}, which another measure reads, are not there",
            "Give the same command again: what is missing is computed anew.",
        )
    return np.asarray(values[order[places]])
