"""The one way to run: in memory, or into a run folder that is resumed and extended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from brittle.classifiers.restore import restored_afterwards
from brittle.commands import ExecutionOptions
from brittle.device import products_in
from brittle.engine.assemble import assemble
from brittle.engine.check.before_work import check_job
from brittle.engine.execute import local
from brittle.engine.execution import carried_as
from brittle.engine.hashes.object_hash import private_values
from brittle.engine.inputs import Inputs
from brittle.engine.job import Job
from brittle.engine.store.memory_store import MemoryStore
from brittle.engine.store.place import Place
from brittle.engine.store.progress_record import RecordedProgress
from brittle.engine.store.run_folder import RunFolder, folder_path
from brittle.engine.store.unit_store import FolderStore, Store
from brittle.engine.view import MeasureView, summary
from brittle.errors import BrittleError
from brittle.progress import Progress
from brittle.registry import did_you_mean
from brittle.study import ClusterEntry, Study

Executor = Callable[[Job, Store, Progress], None]


@dataclass(frozen=True)
class FinishedRun:
    """A run at its end: what it was of, its rows, and what was said of them."""

    inputs: Inputs
    job: Job
    store: Store
    summary: dict[str, Any]
    folder: Place | None = None  # where it is kept

    @property
    def study(self) -> Study:
        return self.inputs.study

    def view(self, measure: str) -> MeasureView:
        return MeasureView(self.job, self.store, measure)


def run(
    inputs: Inputs,
    out: str | Path | None = None,
    how: ExecutionOptions = ExecutionOptions(),
    progress: Progress | None = None,
) -> FinishedRun:
    """Carries a study out, specs and live objects alike: in memory, or into the folder `out`, where it resumes or
    extends what is there. Networks come back as they were."""
    folder, seen = None if out is None else RunFolder(folder_path(out)), progress or Progress()
    execute = executor(how, inputs, kept=folder is not None)
    with restored_afterwards(inputs.classifiers.values()), products_in(inputs.study.precision):
        if folder is not None:
            return _run_in_folder(folder, inputs, how, execute, seen)
        job, store = check_job(assemble(inputs, how.device, how.batch)).job, MemoryStore()
        job = carried_as(job, inputs.study.compile, {})
        execute(job, store, seen)
        return FinishedRun(inputs, job, store, summary(job, store))


def _run_in_folder(
    folder: RunFolder, inputs: Inputs, how: ExecutionOptions, execute: Executor, progress: Progress
) -> FinishedRun:
    with folder.locked():
        study = inputs.study.resolved()
        folder.compare(study)
        job, answers = check_job(assemble(inputs, how.device, how.batch, kept=True))
        called = {name: private_values(inputs.classifiers[name]) for name in job.live}
        job = carried_as(job, inputs.study.compile, folder.compiled())
        folder.begin(study, job, answers, called)
        store = folder.store(job)
        recorded = RecordedProgress(progress, folder.path, job, store)
        with recorded.kept():
            _remove_damaged(job, store, recorded)
            execute(job, store, recorded)
            found = summary(job, store)
            folder.write_summary(found)
    return FinishedRun(inputs, job, store, found, folder.path)


def executor(how: ExecutionOptions, inputs: Inputs, *, kept: bool) -> Executor:
    """What carries the work out: this process, or workers on Ray."""
    if how.engine == "local":
        if how.workers is not None:
            raise BrittleError("the engine 'local' has no workers", "Use the engine 'ray', or leave the workers out.")
        if how.address is not None:
            raise BrittleError("the engine 'local' uses no cluster", "Use the engine 'ray', or leave the address out.")
        if how.time_limit is not None:
            raise BrittleError(
                "the engine 'local' has no other worker that could try again after a time limit",
                "Use the engine 'ray', or leave the limit out.",
            )
        return local.carry_out
    if how.engine != "ray":
        raise BrittleError(f"unknown engine {how.engine!r}", did_you_mean(how.engine, ("local", "ray")))
    if inputs.live:
        raise BrittleError(
            f"the engine 'ray' needs specs, which its workers load themselves, and {inputs.live[0]!r} is a live "
            "Python object",
            "Put it where a spec can name it (package.module:name), or use the engine 'local'.",
        )
    from brittle.engine.execute.ray import RayExecutor  # an extra, imported where it is used

    execute = RayExecutor(inputs.study, wanted_cluster(how, inputs.study.cluster), how.address)
    if not kept:
        raise BrittleError("the engine 'ray' keeps its rows in a run folder", "Name one: --out run.")
    return execute


def wanted_cluster(how: ExecutionOptions, asked: ClusterEntry) -> ClusterEntry:
    """What a study asks of a cluster, with what was said for this time in its place."""
    said = {"workers": how.workers, "time_limit": how.time_limit}
    return asked.model_copy(update={key: value for key, value in said.items() if value is not None})


def _remove_damaged(job: Job, store: FolderStore, progress: Progress) -> None:
    for assignment in job.assignments.values():
        for cell in assignment.cells():
            for path in store.verify(cell):
                progress.note(f"{path} was damaged or incomplete; its units are computed again")
