"""The verdict of a gate: what was asked, what was found, and what it comes to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from brittle.comparison.new_failures import NewFailure
from brittle.comparison.paired import ChangedNumber, Comparison, plain
from brittle.gate.options import GateOptions
from brittle.gate.replayed_cases import JudgedCase
from brittle.gate.requirements import JudgedNumber

State = Literal["passed", "failed", "unsure"]
FAILED, UNSURE = 3, 4  # exit statuses
WORDS: Mapping[State, str] = {"passed": "passed", "failed": "failed", "unsure": "can't be told yet"}


class NamedFailure(NamedTuple):
    """A new weak point, with the names of what it is of, and θ where it can be drawn again."""

    classifier: str
    image_set: str
    nuisance: str
    file: str  # of the image; its id where it has none
    label: str
    predicted: str
    theta: Mapping[str, float]  # by parameter; empty where it is long
    of: NewFailure


@dataclass(frozen=True)
class GateVerdict:
    """What `brittle check` says. `state` is "passed", "failed" or "unsure"; `exit_status` follows from it."""

    options: GateOptions
    comparison: Comparison | None = None
    numbers: Sequence[JudgedNumber] = ()
    cases: Sequence[JudgedCase] = ()
    failures: Sequence[NamedFailure] = ()
    notes: Sequence[str] = ()
    images_left: Mapping[str, int] = field(default_factory=dict)  # image set → those not looked at
    to_tell: Mapping[tuple[Any, ...], int | None] = field(default_factory=dict)  # (cell, number) → images

    @property
    def changes(self) -> list[ChangedNumber]:
        return [] if self.comparison is None else self.comparison.changes

    def in_state(self, state: State) -> list[ChangedNumber]:
        """The changes that come to it by themselves."""
        return [each for each in self.changes if each.state(self.options.allow) == state]

    @property
    def state(self) -> State:
        unmet = any(not each.holds for each in self.numbers) or any(not each.right for each in self.cases)
        if unmet or self.in_state("failed"):
            return "failed"
        return "unsure" if self.in_state("unsure") else "passed"

    @property
    def exit_status(self) -> int:
        """0, FAILED or UNSURE; what is unsure comes to what the option `unsure` says."""
        unsure = {"stop": UNSURE, "pass": 0, "fail": FAILED}[self.options.unsure]
        return {"passed": 0, "failed": FAILED, "unsure": unsure}[self.state]

    @property
    def most_to_tell(self) -> int | None:
        """How many images the open question that needs most of them would take; None where that is not known."""
        several = [self.to_tell.get((each.cell, each.number)) for each in self.in_state("unsure")]
        known = [each for each in several if each is not None]
        return max(known) if known and len(known) == len(several) else None

    @property
    def values(self) -> dict[str, Any]:
        """In plain values, as `brittle check --json` prints them."""
        allow, found = self.options.allow, self.comparison
        return {
            "state": self.state,
            "exit_status": self.exit_status,
            "allow": allow,
            "confidence": self.options.confidence,
            "family": None if found is None else found.family,
            "against": None if found is None else found.other.name,
            "changes": [
                plain(each) | {"state": each.state(allow), "images_to_tell": self.to_tell.get((each.cell, each.number))}
                for each in self.changes
            ],
            "requirements": [each._asdict() for each in self.numbers],
            "cases": [each._asdict() | {"right": each.right} for each in self.cases],
            "new_weak_points": [
                {key: value for key, value in each._asdict().items() if key != "of"}
                | {"theta": dict(each.theta)}
                | each.of._asdict()
                for each in self.failures
            ],
            "not_compared": [] if found is None else found.not_compared,
            "notes": list(self.notes),
        }
