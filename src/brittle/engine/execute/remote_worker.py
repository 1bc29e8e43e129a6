"""A worker in another process: loads what a study names from its specs once, then computes the units that it is given
and commits them to the run folder itself.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import torch

from brittle.allocator import keep_mapped
from brittle.engine.assemble import assemble
from brittle.engine.check.before_work import check_job
from brittle.engine.execute.piece_worker import PieceWorker
from brittle.engine.execute.shipping import paths_in
from brittle.engine.execution import graphs_of
from brittle.engine.inputs import Inputs
from brittle.engine.job import Job
from brittle.engine.plan.missing import CellGroup
from brittle.engine.store.place import Place
from brittle.engine.store.unit_store import FolderStore
from brittle.errors import BrittleError, Failure, ForeignError
from brittle.images.selection import ChosenImages
from brittle.libraries import first_line
from brittle.measures.base import Cell
from brittle.measures.plan import Span
from brittle.study import Study

LOOKS = 20  # at what must be there
AT_ONCE = 2  # spans per worker: one is computed while the other is stored, or reads its images


@dataclass(frozen=True)
class WorkerSetup:
    """All that a worker is told, in plain values."""

    study: Mapping[str, Any]
    units: Place
    device: str
    batch_sizes: Mapping[str, int]  # by image set, the same for all workers
    threads: int
    folder: Path | None  # that paths in specs are relative to; None: to that in which a worker starts
    path: Sequence[str]  # where modules are found, relative to that folder where they lie below it
    modules: Sequence[str]  # that registered what the study names
    compiled: Mapping[str, str]  # classifiers, and how
    images: Mapping[str, ChosenImages] = field(default_factory=dict)  # that workers need not open

    @classmethod
    def of(
        cls,
        job: Job,
        study: Study,
        store: FolderStore,
        threads: int,
        images: Mapping[str, ChosenImages] = MappingProxyType({}),
        *,
        elsewhere: bool = False,
    ) -> WorkerSetup:
        """For workers on this machine, or `elsewhere`, which have been sent what they need."""
        relative = any(not path.is_absolute() for path in paths_in(study))
        things = (*(each.measure for each in job.assignments.values()), *job.nuisances.values())
        return cls(
            study.resolved(),
            store.folder.resolve(),
            job.device.type,
            {name: job.batch_size(name) for name in (*job.images, "")},
            threads,
            Path.cwd() if relative and not elsewhere else None,
            tuple(map(_below_here, sys.path)) if elsewhere else tuple(sys.path),
            tuple(sorted({type(each).__module__ for each in things})),
            dict(job.ways),
            dict(images),
        )


class WorkerReply(NamedTuple):
    """What became of something that a worker was asked to do."""

    error: BrittleError | None = None
    hopeless: bool = False  # the store takes nothing: other work would go no better
    device_unusable: bool = False  # the device may be in no state to go on
    notes: tuple[str, ...] = ()
    loaded: Mapping[str, Any] | None = None


class RemoteWorker:
    """Made without arguments and begun with a setup, so that what goes wrong is an answer like any other."""

    def __init__(self) -> None:
        self._compute_lock = threading.Lock()
        self._notes: list[str] = []
        self._device = "cpu"

    def node(self) -> str:
        """Where it runs, once it does."""
        import ray

        return str(ray.get_runtime_context().get_node_id())

    def begin(self, setup: WorkerSetup) -> WorkerReply:
        """Loads everything, and answers what it found, to be compared with what the driver has."""
        try:
            self._begin(setup)
        except Exception as error:
            return self._answer(error)
        return WorkerReply(loaded=loaded_entries(self.job))

    def _begin(self, setup: WorkerSetup) -> None:
        self._device = setup.device
        here = Path.cwd()
        if setup.folder not in (None, here):
            raise BrittleError(
                f"workers run in {here}, and the study names files relative to {setup.folder}",
                "Name them by absolute paths, or connect to Ray from that folder.",
            )
        sys.path[:] = dict.fromkeys([*(str(here / each) for each in setup.path), *sys.path])
        torch.set_num_threads(setup.threads)
        for module in setup.modules:
            with contextlib.suppress(ImportError):  # what nothing registers is missed where it is named
                importlib.import_module(module)
        inputs = Inputs(Study.of(dict(setup.study)), {"images": setup.images})
        self.job = check_job(assemble(inputs, setup.device)).job
        torch.backends.cuda.matmul.allow_tf32 |= self.job.precision == "tf32"
        self.job = replace(self.job, graphs=graphs_of(self.job, setup.compiled), ways=setup.compiled)
        if self.job.device.type == "cpu":
            keep_mapped()
        store = FolderStore(setup.units, self.job.depends, self.job.extent)
        self.pieces = PieceWorker(self.job, store, self._notes.append)
        self.pieces.worker.batch_sizes = dict(setup.batch_sizes)

    def compute(self, cells: Sequence[Cell], span: Span) -> WorkerReply:
        """Computes a span for cells that differ in their classifier alone, and commits it."""
        try:
            return self._compute(cells, span)
        except Exception as error:
            return self._answer(error)

    def _compute(self, cells: Sequence[Cell], span: Span) -> WorkerReply:
        job, (measure, _, images, nuisance) = self.job, cells[0]
        by_classifier = {cell.classifier: cell for cell in cells}
        group = CellGroup(job.assignments[measure], images, nuisance, by_classifier, job.plan(cells[0]))
        self.pieces.worker.prefetch(images, group.plan[span.first : span.end])
        given = self.pieces.given(group, span, looks=LOOKS)
        with self._compute_lock:
            computed = self.pieces.compute(group, span, given)
        try:
            return self._answer(self.pieces.save(span, computed).wrong)
        except Failure as error:
            return self._answer(error)._replace(hopeless=True)

    def _answer(self, error: Exception | None) -> WorkerReply:
        notes = tuple(self._notes)
        self._notes.clear()
        if error is None or isinstance(error, BrittleError):
            spoiled = self._device == "cuda" and isinstance(error, ForeignError)
            return WorkerReply(error, device_unusable=spoiled, notes=notes)
        told = Failure(f"{type(error).__name__}: {first_line(error)}")
        return WorkerReply(told, device_unusable=self._device == "cuda", notes=notes)


def fetch(reference: Any) -> Any:
    """What the driver has put into Ray's object store."""
    import ray

    return ray.get(reference)


def _below_here(place: str) -> str:
    """A folder as workers elsewhere have it: relative where it is below the current one, which they are sent."""
    path, here = Path(place), Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else place


def loaded_entries(job: Job) -> dict[str, Any]:
    """What a job's things are, to tell whether two processes have the same."""
    return {**{sort: dict(things) for sort, things in job.entries.items()}, "facts": dict(job.facts)}
