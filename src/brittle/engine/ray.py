"""The executor on Ray: workers in processes of their own, on this machine, that commit to the run folder themselves.

The driver hands out spans, a bounded number at a time, and never touches rows but to see where a measure may stop. A
worker that dies is replaced, and what it was doing is done again; so is one that takes longer than it may. A cluster
that is started here listens on 127.0.0.1 alone, and asks whoever connects for a token.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from brittle.engine.agenda import ATTEMPTS, Agenda, Work
from brittle.engine.job import Job
from brittle.engine.ledger import asked_groups, planned_calls
from brittle.engine.patience import Patience
from brittle.engine.remote import AT_ONCE, Answer, RemoteWorker, Setup, loaded
from brittle.engine.store import FolderStore, Store
from brittle.errors import BrittleError, Failure, MissingPackage
from brittle.progress import Progress, duration
from brittle.study import Study

CORES_PER_WORKER = 4  # on a CPU, where there are enough: every worker holds all classifiers
OBJECT_STORE = 128 << 20  # bytes: rows never travel through Ray
LOOK = 1.0  # seconds between two looks at the clock


class RayExecutor:
    """Carries a study out on a local cluster, or on the one that this process is connected to."""

    def __init__(self, study: Study, workers: int | None = None, time_limit: float | None = None) -> None:
        if workers is not None and workers < 1:
            raise BrittleError(f"{workers} workers can't do anything", "Ask for one at least.")
        self.study, self.workers, self.patience = study, workers, Patience(time_limit)
        self.ray = import_ray()

    def __call__(self, job: Job, store: Store, progress: Progress) -> None:
        assert isinstance(store, FolderStore), "workers commit to a run folder"
        progress.start(sum(planned_calls(group) for group in asked_groups(job)))
        agenda = Agenda(job, store, progress)
        if not agenda.exhausted:
            with cluster(self.ray):
                self._employ(agenda, job, store, progress)
        agenda.finish()

    def _employ(self, agenda: Agenda, job: Job, store: FolderStore, progress: Progress) -> None:
        share = self._share(job)
        setup = Setup.of(job, self.study, store, share.threads)
        crew = Crew(self.ray, agenda, job, setup, share, progress, self.patience)
        try:
            crew.work()
        finally:
            crew.dismiss()

    def _share(self, job: Job) -> Share:
        """How many workers, and what each gets: a GPU, or some of the cores."""
        there = self.ray.cluster_resources()
        cores, gpus = int(there.get("CPU", 1)), int(there.get("GPU", 0))
        if job.device.type == "cpu":
            workers = self.workers or max(min(2, cores), cores // CORES_PER_WORKER)
            return Share(workers, _part(cores, workers), 0, max(1, cores // workers))
        if not gpus:
            raise BrittleError(f"the device {job.device} was asked for, and Ray sees no GPU", "Use --device cpu.")
        workers = self.workers or gpus
        return Share(workers, _part(cores, workers), _part(gpus, workers), max(1, cores // workers))


@dataclass(frozen=True)
class Share:
    """Workers, and what of the machine each of them takes up."""

    workers: int
    cores: float
    gpus: float
    threads: int


class Crew:
    """The workers that are there, and what each is doing."""

    def __init__(
        self,
        ray: ModuleType,
        agenda: Agenda,
        job: Job,
        setup: Setup,
        share: Share,
        progress: Progress,
        patience: Patience,
    ) -> None:
        self.ray, self.agenda, self.job, self.share, self.progress = ray, agenda, job, share, progress
        self.patience = patience
        self._setup = ray.put(setup)
        self._kind = ray.remote(RemoteWorker).options(
            num_cpus=share.cores, num_gpus=share.gpus, max_concurrency=AT_ONCE, max_restarts=0
        )
        self._doing: dict[Any, dict[Any, Work]] = {}  # worker → answer to come → what it is about
        self._starting: dict[Any, Any] = {}  # answer to come → worker
        self._false_starts = 0

    def work(self) -> None:
        """Until everything has been handed out and answered."""
        while True:
            self._recruit()
            self._hand_out()
            answers = [answer for doing in self._doing.values() for answer in doing]
            if not answers and self.agenda.exhausted:
                return
            ready, _ = self.ray.wait([*answers, *self._starting], num_returns=1, timeout=LOOK)
            for answer in ready:
                self._take_in(answer)
            self._look_at_the_clock()

    def dismiss(self) -> None:
        """Ends all workers at once; what they have committed stays."""
        for worker in (*self._doing, *self._starting.values()):
            self.ray.kill(worker)

    def _recruit(self) -> None:
        """Starts as many workers as there is work for, in the place of those that died too."""
        vacant = self.share.workers - len(self._doing) - len(self._starting)
        if vacant:
            idle = len(self._starting) + sum(not doing for doing in self._doing.values())
            for _ in range(min(vacant, self.agenda.ahead(self.share.workers) - idle)):
                worker = self._kind.remote()
                self._starting[worker.begin.remote(self._setup)] = worker
                self.patience.begin(worker)

    def _hand_out(self) -> None:
        """Gives work to whoever has room: first to those that have nothing to do."""
        for busy in range(AT_ONCE):
            for worker, doing in self._doing.items():
                if len(doing) > busy or any(work.alone for work in doing.values()):
                    continue
                work = self.agenda.take(idle=not doing)
                if work is None:
                    return
                if not doing:
                    self.patience.begin(worker)
                doing[worker.compute.remote(work.cells, work.span)] = work

    def _take_in(self, answer: Any) -> None:
        """What becomes of an answer that has arrived."""
        if answer in self._starting:
            self._begun(self._starting.pop(answer), answer)
            return
        worker = next((worker for worker, doing in self._doing.items() if answer in doing), None)
        if worker is None:  # it died, and this was done again
            return
        try:
            found: Answer = self.ray.get(answer)
        except self.ray.exceptions.RayError:
            self._died(worker)
            return
        work = self._doing[worker].pop(answer)
        self.patience.begin(worker)
        self._tell(found)
        if found.error is None:
            self.agenda.done(work)
        elif found.hopeless:
            raise found.error
        else:
            self.agenda.failed(work, str(found.error))
            if found.spoiled:
                for beside in self._dismissed(worker):
                    self.agenda.again(beside)

    def _begun(self, worker: Any, answer: Any) -> None:
        self.patience.end(worker)
        try:
            found: Answer = self.ray.get(answer)
        except self.ray.exceptions.RayError as error:
            self._count_false_start("die as they load the study's things", "Is there enough memory for several?", error)
            return
        self._doing[worker] = {}
        self._tell(found)
        if found.error is not None:
            raise Failure(f"a worker could not load the study's things: {found.error.what}", found.error.remedy)
        here = loaded(self.job)
        for sort, things in (found.loaded or {}).items():
            for name, there in things.items():
                if here[sort].get(name) != there:
                    raise Failure(
                        f"a worker found another {name!r} than this process ({sort})",
                        "It changed meanwhile, or depends on the process: run again, or use --engine local.",
                    )

    def _count_false_start(self, how: str, remedy: str, error: Exception | None = None) -> None:
        self._false_starts += 1
        if self._false_starts >= ATTEMPTS:
            raise Failure(f"worker processes {how}", remedy) from error

    def _look_at_the_clock(self) -> None:
        """Says who has not answered for long, and has others try what took longer than it may."""
        for answer, worker in list(self._starting.items()):
            if self.patience.is_over_loading(worker):
                del self._starting[answer]
                self.patience.end(worker)
                self.ray.kill(worker)
                self._count_false_start(
                    "do not come to the end of loading the study's things", "Give a longer --time-limit, or none."
                )
            elif self.patience.worth_a_word(worker):
                self.progress.note(f"a worker has been loading the study's things for {self._waited(worker)}")
        for worker, doing in list(self._doing.items()):
            if not doing:
                continue
            if self.patience.is_over(worker, sum(work.units for work in doing.values())):
                self._took_too_long(worker)
            elif self.patience.worth_a_word(worker):
                remedy = "" if self.patience.limit else "; a time limit (--time-limit) would have another worker try"
                first = next(iter(doing.values()))
                self.progress.note(f"a worker has not answered for {self._waited(worker)}: {first}{remedy}")

    def _waited(self, worker: Any) -> str:
        return duration(self.patience.waited(worker))

    def _took_too_long(self, worker: Any) -> None:
        waited = self._waited(worker)
        first = next(iter(self._doing[worker].values()))
        self.progress.note(f"a worker did not answer within {waited} and is replaced: {first} is tried by another")
        self._do_again(
            worker, f"no answer within {waited}: --time-limit {self.patience.limit:g} may be too short for it"
        )

    def _died(self, worker: Any) -> None:
        self.progress.note("a worker process died; what it was doing is done again")
        self._do_again(worker, "its worker process died")

    def _do_again(self, worker: Any, why: str) -> None:
        """Ends a worker and has others do what it was doing. If that was one thing, it may be to blame."""
        lost = self._dismissed(worker)
        for work in reversed(lost):
            self.agenda.failed(work, why, blamed=len(lost) == 1, alone=True)

    def _dismissed(self, worker: Any) -> list[Work]:
        """Ends a worker; what it was doing."""
        lost = list(self._doing.pop(worker).values())
        self.patience.end(worker)
        self.ray.kill(worker)
        return lost

    def _tell(self, found: Answer) -> None:
        for note in found.notes:
            self.progress.note(note)


def _part(there: int, workers: int) -> float:
    """One worker's part of so many cores or GPUs, which Ray wants whole or less than one."""
    return there // workers or there / workers


def import_ray() -> ModuleType:
    os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", ".")  # else Ray prints a worker's death on standard output
    try:
        import ray
    except ImportError:
        raise MissingPackage("ray", "ray", "the engine 'ray'") from None
    return ray


@contextmanager
def cluster(ray: ModuleType) -> Iterator[None]:
    """A cluster on this machine for as long as it is needed, unless this process has one already."""
    if ray.is_initialized():
        yield
        return
    logging.getLogger("ray").setLevel(logging.ERROR)  # it announces its settings before it looks at logging_level
    with _loopback(ray):
        try:
            ray.init(
                address="local",
                include_dashboard=False,
                log_to_driver=False,
                logging_level=logging.ERROR,
                object_store_memory=OBJECT_STORE,
            )
        except Exception as error:
            why = str(error).splitlines()[0]
            raise Failure(f"Ray could not be started: {why}", "Or use --engine local.") from error
    try:
        yield
    finally:
        ray.shutdown()


@contextmanager
def _loopback(ray: ModuleType) -> Iterator[None]:
    """A cluster that is started within it listens on 127.0.0.1, as everywhere but on Linux: there Ray has no argument
    for that, and takes an address of 127.0.0.1 for the machine's own."""
    constants = ray._private.ray_constants
    before = constants.ENABLE_RAY_CLUSTER
    constants.ENABLE_RAY_CLUSTER = False
    try:
        yield
    finally:
        constants.ENABLE_RAY_CLUSTER = before
