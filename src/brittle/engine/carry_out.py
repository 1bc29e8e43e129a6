"""The one way to run: in memory, or into a run folder that is resumed and extended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from brittle.classifiers.as_it_was import lent
from brittle.engine import local
from brittle.engine.assemble import Things, assemble
from brittle.engine.check import checked
from brittle.engine.identity import private_values
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
    things: Things
    named: Study | None = None  # the study that it was made from
    folder: Path | None = None  # where it is kept

    @property
    def study(self) -> Study:
        return self.named or self.things.study()

    def view(self, measure: str) -> View:
        return View(self.job, self.store, measure)


def run_things(
    things: Things,
    out: Path | None = None,
    *,
    study: Study | None = None,
    device: str | None = None,
    batch: int | None = None,
    engine: str = "local",
    workers: int | None = None,
    time_limit: float | None = None,
    progress: Progress | None = None,
) -> Done:
    """Carries out a job, specs and live objects alike: in memory, or into the folder `out`, where it resumes or extends
    what is there. `study` is what the things were made from, where there is one. Networks come back as they were."""
    if engine != "local" and things.live:
        raise _needs_specs(engine, things)
    telling = progress or Progress()
    with lent(things.classifiers.values()):
        if out is None:
            alone = engine == "local" and workers is None and time_limit is None
            carry_out = local.carry_out if alone else executor(engine, study or things.study(), workers, time_limit)
            if engine != "local":
                raise _needs_specs(engine, things)
            job = checked(assemble(things, device, batch)).job
            store = MemoryStore()
            carry_out(job, store, telling)
            return Done(job, store, summary(job, store), things, study)
        meant = study or things.study()
        carry_out = executor(engine, meant, workers, time_limit)
        return _kept_in(RunFolder(out), things, meant, device, batch, carry_out, telling)


def _kept_in(
    folder: RunFolder,
    things: Things,
    study: Study,
    device: str | None,
    batch: int | None,
    carry_out: Executor,
    progress: Progress,
) -> Done:
    with folder.locked():
        folder.compare(study.resolved())
        job, answers = checked(assemble(things, device, batch, kept=True))
        called = {name: private_values(things.classifiers[name]) for name in job.live}
        folder.begin(study.resolved(), job, answers, called)
        store = folder.store(job)
        _remove_torn(job, store, progress)
        carry_out(job, store, progress)
        found = summary(job, store)
        folder.write_summary(found)
    return Done(job, store, found, things, study, folder.path)


def run_study(
    study: Study,
    out: Path | None,
    *,
    device: str | None = None,
    batch: int | None = None,
    engine: str = "local",
    workers: int | None = None,
    time_limit: float | None = None,
    progress: Progress | None = None,
) -> Done:
    """Carries a study out into the folder `out`, or resumes or extends what is there; with None nothing is kept."""
    return run_things(
        Things.of(study),
        out,
        study=study,
        device=device,
        batch=batch,
        engine=engine,
        workers=workers,
        time_limit=time_limit,
        progress=progress,
    )


def executor(engine: str, study: Study, workers: int | None = None, time_limit: float | None = None) -> Executor:
    """What carries the work out: this process, or workers on Ray."""
    if engine == "local":
        if workers is not None:
            raise BrittleError("the engine 'local' has no workers", "Use --engine ray, or leave the workers out.")
        if time_limit is not None:
            raise BrittleError(
                "the engine 'local' has no other worker that could try again after a time limit",
                "Use --engine ray, or leave the limit out.",
            )
        return local.carry_out
    if engine == "ray":
        from brittle.engine.ray import RayExecutor  # an extra, imported where it is used

        return RayExecutor(study, workers, time_limit)
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
