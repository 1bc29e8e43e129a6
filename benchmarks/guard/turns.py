"""Cases and turns: two sides do the same work alternately in one process; the ratio of their rates is what counts."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from scipy.stats import binom

CONFIDENCE = 0.95


class Unequal(Exception):
    """Two sides of a case that did not do the same."""


@dataclass(frozen=True)
class Case:
    """One comparison. A ratio above 1 says that ours is the faster of the two, per piece of work."""

    name: str
    about: str  # what each side does, for a reader
    ours: Callable[[], Any]
    theirs: Callable[[], Any]
    equal: Callable[[Any, Any], str]  # of what both returned: what is equal, or `Unequal`
    work: tuple[float, float] = (1.0, 1.0)  # pieces of work of ours and theirs, such as images classified
    piece: str = "images"
    profile: Callable[[], Any] | None = None  # what is looked into for where time goes: ours, where it is worth it
    goal: str = ""  # as issued, in words


class Seconds(NamedTuple):
    wall: float
    processor: float


class Turn(NamedTuple):
    ours: Seconds
    theirs: Seconds


@dataclass
class Measured:
    """What is kept of a case: the turns of every round, each round being a process of its own or a part of one."""

    about: str
    equal: str
    work: tuple[float, float]
    piece: str
    goal: str = ""
    counted: bool = False  # "seconds" are numbers of pieces then, which no clock is needed for
    rounds: list[list[Turn]] = field(default_factory=list)
    profile: dict[str, float] = field(default_factory=dict)  # part → share of the time


def timed(work: Callable[[], Any], finish: Callable[[], Any] = lambda: None) -> tuple[Seconds, Any]:
    """How long it takes, and what it returns; `finish` waits for a device."""
    finish()
    begun = time.perf_counter(), time.process_time()
    found = work()
    finish()
    return Seconds(time.perf_counter() - begun[0], time.process_time() - begun[1]), found


def measured(case: Case, turns: int, first: int = 0, finish: Callable[[], Any] = lambda: None) -> Measured:
    """A round: each side once without a clock, which is also where the two are held against each other, and then in
    turns. Who goes first changes from turn to turn, beginning with ours for an even `first`."""
    equal = case.equal(case.ours(), case.theirs())
    found: list[Turn] = []
    sides = {"ours": case.ours, "theirs": case.theirs}
    for number in range(turns):
        order = list(sides) if (first + number) % 2 == 0 else list(reversed(sides))
        times = {side: timed(sides[side], finish)[0] for side in order}
        found.append(Turn(**times))
    return Measured(case.about, equal, case.work, case.piece, case.goal, rounds=[found])


def ratios(rounds: Sequence[Sequence[Turn]], work: Sequence[float], clock: str) -> list[list[float]]:
    """Ours ÷ theirs in pieces of work per second, for every turn of every round."""
    return [
        [
            (work[0] / max(getattr(turn.ours, clock), 1e-9)) / (work[1] / max(getattr(turn.theirs, clock), 1e-9))
            for turn in each
        ]
        for each in rounds
    ]


def by_round(found: Sequence[Sequence[float]]) -> list[float]:
    """One number for each round, since turns of one share its process's luck; of a single round, its turns."""
    return list(found[0]) if len(found) == 1 else [statistics.median(each) for each in found]


def interval(values: Sequence[float], confidence: float = CONFIDENCE) -> tuple[float, float]:
    """For the median, whatever the distribution: between two values as many places from the ends."""
    ordered = sorted(values)
    outside = max(0, int(binom.ppf((1 - confidence) / 2, len(ordered), 0.5)) - 1)
    return ordered[outside], ordered[-1 - outside]


def entry(found: Measured, clock: str) -> dict[str, Any]:
    """A case as it is written to JSON."""
    values = ratios(found.rounds, found.work, clock)
    single = by_round(values)
    low, high = interval(single)
    medians = {
        side: statistics.median(getattr(getattr(turn, side), clock) for each in found.rounds for turn in each)
        for side in ("ours", "theirs")
    }
    rates = {side: found.work[place] / medians[side] for place, side in enumerate(medians)}
    numbers = {side: rounded(value) for side, value in (medians if found.counted else rates).items()}
    return {
        "about": found.about,
        "equal": found.equal,
        "goal": found.goal,
        "clock": clock,
        "ratio": rounded(statistics.median(single)),
        "interval": [rounded(low), rounded(high)],
        "ratios": [[rounded(each) for each in turns] for turns in values],
        "numbers" if found.counted else "rates": numbers,
        "piece": found.piece,
        "profile": {part: round(share, 4) for part, share in found.profile.items()},
        "wall": rounded(statistics.median(by_round(ratios(found.rounds, found.work, "wall")))),
    }


def rounded(value: float) -> float:
    """To five significant digits."""
    return float(f"{value:.5g}")


def merged(parts: Sequence[Mapping[str, Measured]]) -> dict[str, Measured]:
    """The same cases of several rounds."""
    found: dict[str, Measured] = {}
    for part in parts:
        for name, case in part.items():
            if name in found:
                found[name].rounds += case.rounds
                found[name].profile = found[name].profile or case.profile
            else:
                found[name] = case
    return found
