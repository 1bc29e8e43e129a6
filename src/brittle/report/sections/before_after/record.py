"""What `brittle harden` left in the run folder: how the classifier was trained, and how its weights were chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

from pydantic import Field, TypeAdapter, ValidationError

from brittle.report.page.section import MeasureRun, Row
from brittle.report.sections.before_after.changes import levels

FILE = "harden.json"
EQUAL = 1e-6


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """On the held-out images; what is said of a round stands with its last candidate."""

    round: int
    way: float
    rho: float
    interval: tuple[float, float] | None
    accuracy_nuisance: float
    accuracy_clean: float
    loss: float | None = None
    failing: float | None = None
    wrong: float | None = None


@dataclass(frozen=True, kw_only=True)
class RecordedSettings:
    classifier: str
    nuisance: str
    on: str
    loss: str
    rounds: int
    steps: int
    batch_size: int
    share: float
    cost: float


@dataclass(frozen=True, kw_only=True)
class PartSizes:
    training: int
    held_out: int
    test: int


@dataclass(frozen=True, kw_only=True)
class CallCounts:
    sampling: int
    training: int


@dataclass(frozen=True, kw_only=True)
class MeasuredClassifier:
    """A classifier on the test images."""

    rho: float
    accuracy_nuisance: float
    accuracy_clean: float


@dataclass(frozen=True, kw_only=True)
class HardeningRecord:
    """What of harden.json is shown."""

    about: RecordedSettings
    criterion: str
    parts: PartSizes
    rounds: Annotated[list[Candidate], Field(min_length=1)]
    chosen: Annotated[int, Field(ge=0)]
    before: MeasuredClassifier
    after: MeasuredClassifier
    calls: CallCounts
    device: str
    seconds: float

    @property
    def least(self) -> float:
        """The least clean accuracy on the held-out images with which a candidate could be chosen."""
        return self.rounds[0].accuracy_clean - self.about.cost

    def allowed(self, candidate: Candidate) -> bool:
        return candidate.accuracy_clean >= self.least - 1e-9


class RecordFound(NamedTuple):
    """The record, or a caution where it can't be shown; neither where there is none."""

    record: HardeningRecord | None = None
    caution: str = ""


def read_record(run: MeasureRun) -> RecordFound:
    """The record beside a run, where it is a hardening's."""
    if run.whole.path is None:
        return RecordFound()
    path = run.whole.path / FILE
    if not path.is_file():
        return RecordFound()
    try:
        record = TypeAdapter(HardeningRecord).validate_json(path.read())
        wrong = _foreign(record, run)
    except ValidationError as error:
        first = error.errors()[0]
        wrong = f"{'.'.join(map(str, first['loc']))}: {first['msg']}".removeprefix(": ")
    except OSError as error:
        wrong = error.strerror or str(error)
    if not wrong:
        return RecordFound(record)
    return RecordFound(
        caution=f"{FILE} can't be shown, so how the classifier was hardened is left out ({wrong}). Delete that file, "
        "or give the same `brittle harden` again."
    )


def _foreign(record: HardeningRecord, run: MeasureRun) -> str:
    """Why the record is not of this run, if it isn't."""
    if record.chosen >= len(record.rounds):
        return f"candidate {record.chosen} is chosen of {len(record.rounds)}"
    differences: Sequence[Row] = run.summary["differences"]
    if len(differences) != 1:
        return f"it is of one image set and nuisance, and this run has {len(differences)}"
    (difference,) = differences
    gained = record.after.rho - record.before.rho
    measured = levels(run, difference)
    same = abs(gained - difference["rho"]) <= EQUAL
    for end, recorded in (("before", record.before), ("after", record.after)):
        if difference[end] in measured:
            same = same and abs(measured[difference[end]]["rho"] - recorded.rho) <= EQUAL
    return "" if same else "before and after are not those of this run"
