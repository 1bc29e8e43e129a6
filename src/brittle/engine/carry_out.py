"""The one way to run: in memory, or into a run folder that is resumed and extended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from brittle.engine import local
from brittle.engine.assemble import Things, assemble
from brittle.engine.check import checked
from brittle.engine.job import Job
from brittle.engine.memory_store import MemoryStore
from brittle.engine.runs import RunFolder
from brittle.engine.store import FolderStore, Store
from brittle.engine.view import View, summary
from brittle.errors import BrittleError
from brittle.progress import Progress
from brittle.registry import did_you_mean
from brittle.study import Study

Executor = Callable[[Job, Store, Progress], None]


@dataclass(frozen=True)
class Done:
    """A job that was carried out: its rows, and what was said in the end."""

    job: Job
    store: Store
    summary: dict[str, Any]

    def view(self, measure: str) -> View:
        return View(self.job, self.store, measure)


def run_things(
    things: Things,
    *,
    device: str | None = None,
    batch: int | None = None,
    engine: str = "local",
    progress: Progress | None = None,
) -> Done:
    """Carries out a job in memory."""
    if engine != "local":
        raise _needs_specs(engine, things)
    job = checked(assemble(things, device, batch)).job
    store = MemoryStore()
    local.carry_out(job, store, progress or Progress())
    return Done(job, store, summary(job, store))


def run_study(
    study: Study,
    out: Path | None,
    *,
    device: str | None = None,
    batch: int | None = None,
    engine: str = "local",
    workers: int | None = None,
    progress: Progress | None = None,
) -> Done:
    """Carries a study out into the folder `out`, or resumes or extends what is there; with None nothing is kept."""
    carry_out = executor(engine, study, workers)
    if out is None:
        return run_things(Things.of(study), device=device, batch=batch, engine=engine, progress=progress)
    folder = RunFolder(out)
    with folder.locked():
        folder.compare(study.resolved())
        job, answers = checked(assemble(Things.of(study), device, batch))
        folder.begin(study.resolved(), job, answers)
        store = folder.store(job)
        _remove_torn(job, store, progress or Progress())
        carry_out(job, store, progress or Progress())
        found = summary(job, store)
        folder.write_summary(found)
    return Done(job, store, found)


def executor(engine: str, study: Study, workers: int | None = None) -> Executor:
    """What carries the work out: this process, or workers on Ray."""
    if engine == "local":
        if workers is not None:
            raise BrittleError("the engine 'local' has no workers", "Use --engine ray, or leave the workers out.")
        return local.carry_out
    if engine == "ray":
        from brittle.engine.ray import RayExecutor  # an extra, imported where it is used

        return RayExecutor(study, workers)
    raise BrittleError(f"unknown engine {engine!r}", did_you_mean(engine, ("local", "ray")))


def _needs_specs(engine: str, things: Things) -> BrittleError:
    """Why an engine with other processes can't carry out a job in memory."""
    if things.live:
        return BrittleError(
            f"the engine {engine!r} needs specs, which its workers load themselves, and {things.live[0]!r} is a live "
            "Python object",
            "Put it where a spec can name it (package.module:name), or use the engine 'local'.",
        )
    return BrittleError(f"the engine {engine!r} keeps its rows in a run folder", "Name one: --out run.")


def _remove_torn(job: Job, store: FolderStore, progress: Progress) -> None:
    for assignment in job.assignments.values():
        for cell in assignment.cells():
            for path in store.verify(cell):
                progress.note(f"{path} was damaged or incomplete; its units are computed anew")
