"""How long workers elsewhere have not answered: when to mention that, and when to give up."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass

from brittle.errors import BrittleError

FIRST_NOTE = 60.0  # seconds; each further word comes after twice the time
LOADING, LOADING_UNITS = 60.0, 20  # loading what a study names may take so many seconds, or as long as so many units


@dataclass
class SilentWorker:
    """Since when a worker has been silent, and at which length of it the next word is due."""

    since: float
    next_note: float


class ResponseTimes:
    """Keeps the time of every worker that owes an answer. `limit` is what a unit may take, in seconds; None: as long as
    it likes."""

    def __init__(self, limit: float | None, clock: Callable[[], float] = time.monotonic) -> None:
        if limit is not None and not limit > 0:
            raise BrittleError(f"a time limit of {limit:g} seconds leaves no time", "Give more than 0.")
        self.limit, self._clock = limit, clock
        self._waits: dict[Hashable, SilentWorker] = {}

    def begin(self, worker: Hashable) -> None:
        """A worker has just answered, or been given its first piece of work."""
        self._waits[worker] = SilentWorker(self._clock(), FIRST_NOTE)

    def end(self, worker: Hashable) -> None:
        """It owes nothing any more."""
        self._waits.pop(worker, None)

    def seconds_silent(self, worker: Hashable) -> float:
        """Seconds since it was last heard of; 0 where it owes nothing."""
        return self._clock() - self._waits[worker].since if worker in self._waits else 0.0

    def is_worth_a_note(self, worker: Hashable) -> bool:
        """Whether its silence should be mentioned now: at growing intervals."""
        wait = self._waits.get(worker)
        if wait is None or self.seconds_silent(worker) < wait.next_note:
            return False
        while wait.next_note <= self.seconds_silent(worker):
            wait.next_note *= 2
        return True

    def has_run_out(self, worker: Hashable, units: int) -> bool:
        """Whether it has taken longer than so many units may."""
        return self.limit is not None and self.seconds_silent(worker) > self.limit * units

    def has_run_out_loading(self, worker: Hashable) -> bool:
        return self.limit is not None and self.seconds_silent(worker) > max(LOADING, LOADING_UNITS * self.limit)
