"""What a measure is to the engine: a plan, the work of some units, when there is enough, and what is said in the end.

A newcomer subclasses `Measure`, registers it, and can be named in a study. The engine cuts the plan into spans, calls
`evaluate` for those that are missing, and keeps the tables; nothing a measure does may depend on how the plan was cut.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from brittle.measures.base.facts import About, MeasureInputs
from brittle.measures.base.run_view import Fold, RunView
from brittle.measures.base.task import Pending, Task
from brittle.measures.plan import NO_UNITS, Plan, Unit

CLASSIFIER, IMAGES, NUISANCE = "classifier", "images", "nuisance"
PATH = "path"  # in place of a nuisance
ON_IMAGES = frozenset({CLASSIFIER, IMAGES})
ALONG_PATHS = frozenset({CLASSIFIER, IMAGES, PATH})


class Read(NamedTuple):
    """A kind of measure whose rows are given to another; `options` are those it must have. `rows` is False where they
    are for the summary alone."""

    kind: str
    required: bool = True
    options: Mapping[str, Any] = {}
    rows: bool = True


class Measure(ABC):
    """What is computed about classifiers. Options are dataclass fields made with `option`.

    Cells of a measure are over a path in place of a nuisance where severity rises by itself. Nuisances that differ in
    severity alone are then one path; and images that a stored shift lacks, or has at no severity 0, are the measure's
    own affair: it leaves them out or refuses them in `check`. For other measures the engine refuses them."""

    over: ClassVar[frozenset[str]] = frozenset({CLASSIFIER, IMAGES, NUISANCE})  # what a cell names
    reads: ClassVar[tuple[Read, ...]] = ()

    @property
    def needs(self) -> Sequence[type]:
        """Protocols that a classifier must satisfy."""
        return ()

    def check(self, about: About, asked: MeasureInputs) -> None:  # noqa: B027
        """Raises, before work begins, where a cell can't be measured, or not together with all that is asked."""

    def nuisances(self) -> Sequence[str]:
        """Specs of the nuisances used where a study names none."""
        return ()

    def image_sets(self, asked: Sequence[str], trained_on: Mapping[str, str]) -> Mapping[str, bool]:
        """Image sets of the study that it takes besides those that it is asked about: whether under nuisances, as those
        are (True), or also where there is no nuisance for them (False). `trained_on` names the training set of each
        image set that has one."""
        return {}

    @abstractmethod
    def plan(self, about: About) -> Plan:
        """The units in an order that depends on the study alone."""

    def calls(self, unit: Unit) -> int:
        """Classifier calls that a unit takes, as far as they are known beforehand."""
        return unit.size

    @abstractmethod
    def evaluate(self, task: Task) -> Mapping[str, Pending]:
        """For each classifier, or for "" where cells name none, the tables of the task's units, each sorted by its
        first column, `unit`. Never waits for the device."""

    def fold(self, about: About) -> Fold | None:
        """What reads the rows in planned order, for early stopping and for the summary. One is made for every cell
        before work begins, so that large arrays must wait for the first unit."""
        return None

    @abstractmethod
    def summarise(self, run: RunView) -> dict[str, Any]:
        """Plain values for summary.json. `warnings`, a list of sentences, are gathered from all measures, and so are
        `calls`, images classified per classifier, where the measure knows better than its plan."""


class Derived(Measure):
    """A measure without units of its own: all that it says follows from the rows of others."""

    def plan(self, about: About) -> Plan:
        return NO_UNITS

    def evaluate(self, task: Task) -> Mapping[str, Pending]:
        raise AssertionError(f"{type(self).__name__} has no units")
