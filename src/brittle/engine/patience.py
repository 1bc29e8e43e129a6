"""How long workers elsewhere have not answered: when that is worth a word, and when it has been long enough."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass

from brittle.errors import BrittleError

FIRST_WORD = 60.0  # seconds; each further word comes after twice the time
LOADING, LOADING_UNITS = 60.0, 20  # loading a study's things may take so many seconds, or as long as so many units


@dataclass
class Wait:
    """Since when a worker has been silent, and at which length of it the next word is due."""

    since: float
    next_word: float


class Patience:
    """Keeps the time of every worker that owes an answer. `limit` is what a unit may take, in seconds; None: as long as
    it likes."""

    def __init__(self, limit: float | None, clock: Callable[[], float] = time.monotonic) -> None:
        if limit is not None and not limit > 0:
            raise BrittleError(f"a time limit of {limit:g} seconds leaves no time", "Give more than 0.")
        self.limit, self._clock = limit, clock
        self._waits: dict[Hashable, Wait] = {}

    def begin(self, worker: Hashable) -> None:
        """A worker has just answered, or been given its first piece of work."""
        self._waits[worker] = Wait(self._clock(), FIRST_WORD)

    def end(self, worker: Hashable) -> None:
        """It owes nothing any more."""
        self._waits.pop(worker, None)

    def waited(self, worker: Hashable) -> float:
        """Seconds since it was last heard of; 0 where it owes nothing."""
        return self._clock() - self._waits[worker].since if worker in self._waits else 0.0

    def worth_a_word(self, worker: Hashable) -> bool:
        """Whether its silence should be mentioned now: at growing intervals."""
        wait = self._waits.get(worker)
        if wait is None or self.waited(worker) < wait.next_word:
            return False
        while wait.next_word <= self.waited(worker):
            wait.next_word *= 2
        return True

    def is_over(self, worker: Hashable, units: int) -> bool:
        """Whether it has taken longer than so many units may."""
        return self.limit is not None and self.waited(worker) > self.limit * units

    def is_over_loading(self, worker: Hashable) -> bool:
        return self.limit is not None and self.waited(worker) > max(LOADING, LOADING_UNITS * self.limit)
