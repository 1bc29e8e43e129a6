"""Folds of a run's cells, fed from the store: in planned order up to where a measure stopped, or, where it can't stop,
by several threads that each read a part of the units, and merged.

What is held at a time is a fold per thread, a file's table per thread, and the last few folds that were asked for, so
that memory is known beforehand: docs/cluster.md says how much that is.
"""

from __future__ import annotations

from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import torch

from brittle.engine.job import Job
from brittle.engine.plan.stopping import Feeder, Prefix, prefix_of
from brittle.engine.store.unit_store import Store, whole_tables
from brittle.measures.base import Cell, Fold
from brittle.measures.plan import Span

KEPT = 8  # folds of cells that can't stop: a summary asks for the same clean predictions again and again
FEWEST_UNITS = 16  # that a thread is started for
MOST_THREADS = 8


class Folds:
    """What the cells of a job have come to, as far as they are stored."""

    def __init__(self, job: Job, store: Store, threads: int | None = None) -> None:
        """As many threads as torch uses, by default."""
        self.job, self.store = job, store
        self.threads = min(MOST_THREADS, torch.get_num_threads()) if threads is None else threads
        self._prefixes: dict[Cell, Prefix] = {}
        self._kept: OrderedDict[Cell, Fold] = OrderedDict()

    def prefix(self, cell: Cell) -> Prefix:
        """Of a cell that can stop: fed up to there."""
        if cell not in self._prefixes:
            prefix = prefix_of(self.job, self.store, cell)
            for span, tables in whole_tables(self.store, cell):
                prefix.add(span, tables)
                if prefix.fold.finished:
                    break
            self._prefixes[cell] = prefix
        return self._prefixes[cell]

    def whole(self, cell: Cell) -> Fold:
        """Of a cell that can't stop: fed with all that is stored."""
        if cell not in self._kept:
            self._kept[cell] = self._folded(cell)
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(cell)
        return self._kept[cell]

    def _folded(self, cell: Cell) -> Fold:
        parts = self._parts(cell)
        if len(parts) == 1:
            return self._part(cell, parts[0])
        with ThreadPoolExecutor(len(parts)) as threads:
            first, *others = threads.map(lambda part: self._part(cell, part), parts)
        for other in others:
            first.merge(other)
        return first

    def _parts(self, cell: Cell) -> list[Span]:
        """The plan in about equal parts, one for each thread."""
        units = len(self.job.plan(cell))
        count = max(1, min(self.threads, units // FEWEST_UNITS))
        return [Span(*each) for each in pairwise(units * part // count for part in range(count + 1))]

    def _part(self, cell: Cell, part: Span) -> Fold:
        feeder = Feeder.of(self.job, self.store, cell)
        for span, tables in whole_tables(self.store, cell, part):
            feeder.feed(span, tables)
        return feeder.fold
