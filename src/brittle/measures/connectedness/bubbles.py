"""Which pairs of a class's images are tried: the nearest across components, until they are one or tired of trying."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Pairs = list[tuple[int, int]]


class Bubbles:
    """The images of one class that the classifier gives that class, joined pair by pair (union–find).

    First come disjoint pairs in the order of all images, which is random: they are a fair sample of all pairs, and the
    same for every classifier that gets both images right. Then every component proposes the nearest pair across that
    has not been tried, round by round (Borůvka). One that has proposed `tries` pairs in vain since it last grew rests
    until another finds it."""

    def __init__(self, distances: NDArray[np.float64], tries: int) -> None:
        self.distances, self.tries = distances, tries  # (n, n)
        self.tried = np.eye(len(distances), dtype=bool)
        self.root = np.arange(len(distances))  # (n,) the first image of each one's component
        self.vain = np.zeros(len(distances), dtype=np.int64)  # by first image of a component

    def sample(self, places: NDArray[np.int64]) -> Pairs:
        """Disjoint pairs, neighbours among all images of the class, where those to be joined are at `places` (n,)."""
        first, second = places[:-1], places[1:]
        pairs = [(int(at), int(at) + 1) for at in np.flatnonzero((first % 2 == 0) & (second == first + 1))]
        self._note(pairs)
        return pairs

    def proposals(self) -> Pairs:
        """A pair of each component that is not resting; none when there is nothing left to try."""
        if not len(self.root):
            return []
        apart = np.where(self.tried | (self.root[:, None] == self.root), np.inf, self.distances)
        nearest = apart.argmin(1)
        reach = apart[np.arange(len(apart)), nearest]
        pairs = set()
        for root in np.unique(self.root):
            members = np.flatnonzero(self.root == root)
            first = members[reach[members].argmin()]
            if self.vain[root] < self.tries and np.isfinite(reach[first]):
                pairs.add((int(min(first, nearest[first])), int(max(first, nearest[first]))))
        chosen = sorted(pairs)
        self._note(chosen)
        return chosen

    def apart(self, first: int, second: int) -> bool:
        return bool(self.root[first] != self.root[second])

    def join(self, first: int, second: int) -> None:
        low, high = sorted((int(self.root[first]), int(self.root[second])))
        self.root[self.root == high] = low
        self.vain[low] = 0

    def failed(self, first: int, second: int) -> None:
        """A pair that could not be connected: both components count it."""
        for root in {int(self.root[first]), int(self.root[second])}:
            self.vain[root] += 1

    def _note(self, pairs: Pairs) -> None:
        for first, second in pairs:
            self.tried[first, second] = self.tried[second, first] = True
