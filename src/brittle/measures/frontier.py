"""Which places of which paths are looked at next, so that batches of one size have next to no idle places.

A path's end lies above a place that has not met a criterion, and not above one that has: between these it is sought
place by place, or by halving. While there are enough paths to fill batches, each has one place in them, those that were
looked at least first, so that all are nearly done when few are left. A batch then holds several places of each: those
that would follow, or for halving may follow. Where a path ends depends on its own answers alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]


class Looks(NamedTuple):
    """Places that are looked at together."""

    path: Integers  # (N,) which of the paths that are being followed
    place: Integers  # (N,)


class Advance(NamedTuple):
    """What answers have shown."""

    path: Integers  # (E,) paths, of all there are, that are known to end no further than at what was looked at,
    look: Integers  # (E,) which of these that was
    kept: Integers  # which of the paths that were being followed still are


class Frontier:
    """The paths that are being followed, how far each has come, and where those that have ended did."""

    def __init__(self, paths: int, places: int, size: int, capacity: int, *, halving: bool = False) -> None:
        self.paths, self.places, self.size, self.capacity, self.halving = paths, places, size, capacity, halving
        self.met, self.at = np.zeros(paths, bool), np.zeros(paths, np.int64)
        self.path = self._looked = np.zeros(0, np.int64)
        # The highest place that is known to have not met the criterion, and the lowest that is known to have.
        self._below = self._above = self.path
        self._next = 0  # the first path that is not followed yet

    @property
    def finished(self) -> bool:
        return self._next == self.paths and not len(self.path)

    def admit(self) -> Integers:
        """Follows as many more paths as there is room for, and tells which."""
        fresh = np.arange(self._next, min(self.paths, self._next + self.capacity - len(self.path)))
        self._next += len(fresh)
        self.path = np.concatenate((self.path, fresh))
        self._looked = np.concatenate((self._looked, np.zeros_like(fresh)))
        self._below = np.concatenate((self._below, np.full_like(fresh, -1)))
        self._above = np.concatenate((self._above, np.full_like(fresh, self.places)))
        return fresh

    def looks(self) -> Looks:
        """A place of each of some paths, in whole batches; of fewer paths than a batch holds, as many as it holds."""
        count = len(self.path)
        if count >= self.size:
            chosen = np.argsort(self._looked, kind="stable")[: count // self.size * self.size]
            return Looks(chosen, self._between(self._below[chosen], self._above[chosen]))
        path, below, above = np.arange(count), self._below, self._above
        found, room = list[Looks](), self.size
        while room and len(path):
            place = self._between(below, above)
            found.append(Looks(path[:room], place[:room]))
            room -= len(found[-1].path)
            if self.halving:
                path, below, above = np.tile(path, 2), np.append(below, place), np.append(place, above)
            else:
                below = place
            left = above - below > 1
            path, below, above = path[left], below[left], above[left]
        return Looks(*(np.concatenate(each) for each in zip(*found, strict=True)))

    def advance(self, looks: Looks, met: Flags, valid: Flags) -> Advance:
        """What follows from whether the criterion is `met` (N,) where was looked; a path ends at an answer that is not
        `valid` (N,)."""
        self._looked += np.bincount(looks.path, minlength=len(self.path))
        key = looks.path * self.places + looks.place
        order = key.argsort()
        ended = np.zeros(len(self.path), bool)
        best = np.full(len(self.path), -1)  # the look at which each path ends as far as is known
        going = np.unique(looks.path)
        while len(going):
            place = self._between(self._below[going], self._above[going])
            wanted = going * self.places + place
            look = order[np.searchsorted(key[order], wanted).clip(max=len(key) - 1)]
            seen = key[look] == wanted
            going, place, look = going[seen], place[seen], look[seen]
            here, bad = met[look], ~valid[look]
            self._above[going[here]], self._below[going[~here]] = place[here], place[~here]
            final = here | bad | (place == self.places - 1)
            best[going[final]] = look[final]
            ended[going] = bad | (self._above[going] - self._below[going] == 1)
            going = going[~ended[going]]
        known = (best >= 0).nonzero()[0]
        path, look = self.path[known], best[known]
        self.met[path], self.at[path] = met[look], looks.place[look]
        return Advance(path, look, self._keep(~ended))

    def _keep(self, kept: Flags) -> Integers:
        self.path, self._looked = self.path[kept], self._looked[kept]
        self._below, self._above = self._below[kept], self._above[kept]
        return kept.nonzero()[0]

    def _between(self, below: Integers, above: Integers) -> Integers:
        """The place to look at next between two others."""
        return (below + above) // 2 if self.halving else below + 1


def answers_needed(places: int, *, halving: bool = False) -> Integers:
    """(K + 1,) at how many of K places a path is looked at until it is known to end at each of them, or at none."""
    if not halving:
        return np.minimum(np.arange(1, places + 2), places)
    end = np.arange(places + 1)
    below, above, count = np.full_like(end, -1), np.full_like(end, places), np.zeros_like(end)
    while (left := above - below > 1).any():
        place = (below + above) // 2
        below, above = np.where(left & (place < end), place, below), np.where(left & (place >= end), place, above)
        count += left
    return count
