"""What a measure is to the engine: a plan, the work of a few units, when to stop, and what is said in the end.

A newcomer subclasses `Measure`, registers it, and can be named in a study. The engine cuts the plan into spans, calls
`evaluate` for those that are missing, and keeps the rows; nothing a measure does may depend on how the plan was cut.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from torch import Tensor

from brittle.measures.evaluate import Pairs
from brittle.measures.plan import Span, Unit
from brittle.types import Batch, Classifier, Nuisance

Pending = Callable[[], pa.Table]  # rows still to be fetched from the device, in the order of the pairs


class BadAnswer(Exception):
    """A classifier's answer that is no probability distribution: which image of the batch, which draw or θ."""

    def __init__(self, image: int, draw: int, wrong: str, theta: Tensor | None = None) -> None:
        super().__init__(wrong)
        self.image, self.draw, self.wrong, self.theta = image, draw, wrong, theta


@dataclass(frozen=True)
class Task:
    """Images of one shape, and which rows of them are wanted of which classifiers."""

    batch: Batch  # B images on the device
    pairs: Pairs  # every row: an image and a draw
    nuisance: Nuisance
    stream: str  # names the nuisance's random numbers
    seed: int
    classifiers: Mapping[str, Classifier]
    labels: Mapping[str, Tensor]  # (B,) what counts as right, for each classifier
    batch_size: int
    known: Mapping[str, Tensor]  # (B, m, 5) outcomes of the prior's first m draws, where robustness has been measured
    tick: Callable[[int], None]  # to be told of classifier calls while the work goes on


class Stopper(Protocol):
    """Reads rows in planned order and says when there are enough."""

    @property
    def finished(self) -> bool: ...

    def feed(self, span: Span, rows: pa.Table) -> None: ...


class Subject(NamedTuple):
    """What is known of the images: labels in planned order, class names, and the named set they were drawn from."""

    labels: NDArray[np.int64]  # (M,), −1 where there is none
    classes: Sequence[str]
    population: int
    population_labels: NDArray[np.int64]  # labels of the whole named set
    ids: NDArray[np.int64]  # (M,)
    names: Sequence[str]  # (M,)


class RunView(Protocol):
    """A run's rows of one measure, as it reads them back."""

    @property
    def classifiers(self) -> Mapping[str, Classifier]: ...

    @property
    def nuisances(self) -> Mapping[str, Nuisance]: ...

    @property
    def subjects(self) -> Mapping[str, Subject]:
        """Every image set of the run."""
        ...

    @property
    def seed(self) -> int: ...

    def units(self, images: str, nuisance: str) -> list[Unit]: ...

    def rows(self, classifier: str, images: str, nuisance: str) -> Iterator[tuple[Span, pa.Table]]:
        """What is finished, in planned order."""
        ...

    def clean(self, classifier: str, images: str) -> dict[str, NDArray[Any]]:
        """Columns of the untouched images' rows in planned order; −1 or NaN where there are none."""
        ...

    def references(self, classifier: str, images: str) -> NDArray[np.int64]:
        """(M,) what counts as right, as the classifier counts its classes; −1 where an image has no label."""
        ...

    def prior(self, images: str, nuisance: str) -> str:
        """What the nuisance's prior means on these images, in words."""
        ...


class Measure(ABC):
    """What is computed for a classifier, an image set and a nuisance. Options are dataclass fields."""

    name: ClassVar[str]

    @abstractmethod
    def plan(self, images: int, numbers_per_image: int, numbers_of_theta: int) -> list[Unit]:
        """The units in an order that depends on the study alone. A unit's file has `unit.rows` rows."""

    @abstractmethod
    def evaluate(self, task: Task) -> dict[str, Pending]:
        """For each classifier, the rows of `task.pairs`."""

    @abstractmethod
    def summarise(self, run: RunView) -> dict[str, Any]:
        """Entries of summary.json: under `results`, `comparisons` or its own name, and `warnings`."""

    def check_images(self, asked: int | None, there: int) -> None:  # noqa: B027
        """Raises where this measure can't do with `asked` of the images that are there."""

    def calls(self, unit: Unit) -> int:
        """Classifier calls that a unit takes, as far as they are known beforehand."""
        return unit.rows

    def watch(self, units: Sequence[Unit], images: int, population: int, clean: NDArray[Any]) -> Stopper | None:
        """What may stop the work early; None where everything is carried out."""
        return None
