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

from brittle.engine.execute.remote_worker import AT_ONCE, RemoteWorker, WorkerReply, WorkerSetup, loaded_entries
from brittle.engine.execute.time_limits import ResponseTimes
from brittle.engine.job import Job
from brittle.engine.plan.missing import asked_groups, planned_calls
from brittle.engine.plan.queue import ATTEMPTS, WorkItem, WorkQueue
from brittle.engine.store.unit_store import FileMerger, FolderStore, Store
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
        self.study, self.workers, self.response_times = study, workers, ResponseTimes(time_limit)
        self.ray = import_ray()

    def __call__(self, job: Job, store: Store, progress: Progress) -> None:
        assert isinstance(store, FolderStore), "workers commit to a run folder"
        progress.start(sum(planned_calls(group) for group in asked_groups(job)))
        queue = WorkQueue(job, store, progress)
        if not queue.exhausted:
            with cluster(self.ray):
                self._employ(queue, job, store, progress)
        queue.finish()

    def _employ(self, queue: WorkQueue, job: Job, store: FolderStore, progress: Progress) -> None:
        share = self._share(job)
        setup = WorkerSetup.of(job, self.study, store, share.threads)
        pool = WorkerPool(self.ray, queue, job, setup, share, progress, self.response_times)
        try:
            pool.work()
        finally:
            pool.stop_all()

    def _share(self, job: Job) -> WorkerResources:
        """How many workers, and what each gets: a GPU, or some of the cores."""
        there = self.ray.cluster_resources()
        cores, gpus = int(there.get("CPU", 1)), int(there.get("GPU", 0))
        if job.device.type == "cpu":
            workers = self.workers or max(min(2, cores), cores // CORES_PER_WORKER)
            return WorkerResources(workers, _part(cores, workers), 0, max(1, cores // workers))
        if not gpus:
            raise BrittleError(f"the device {job.device} was asked for, and Ray sees no GPU", "Use --device cpu.")
        workers = self.workers or gpus
        return WorkerResources(workers, _part(cores, workers), _part(gpus, workers), max(1, cores // workers))


@dataclass(frozen=True)
class WorkerResources:
    """Workers, and what of the machine each of them takes up."""

    workers: int
    cores: float
    gpus: float
    threads: int


class WorkerPool:
    """The workers that are there, and what each is doing."""

    def __init__(
        self,
        ray: ModuleType,
        queue: WorkQueue,
        job: Job,
        setup: WorkerSetup,
        share: WorkerResources,
        progress: Progress,
        response_times: ResponseTimes,
    ) -> None:
        self.ray, self.queue, self.job, self.share, self.progress = ray, queue, job, share, progress
        self.response_times = response_times
        self._merging = FileMerger(queue.store)
        self._setup = ray.put(setup)
        self._kind = ray.remote(RemoteWorker).options(
            num_cpus=share.cores, num_gpus=share.gpus, max_concurrency=AT_ONCE, max_restarts=0
        )
        self._doing: dict[Any, dict[Any, WorkItem]] = {}  # worker → answer to come → what it is about
        self._starting: dict[Any, Any] = {}  # answer to come → worker
        self._failed_starts = 0

    def work(self) -> None:
        """Until everything has been handed out and answered."""
        while True:
            self._start_workers()
            self._hand_out()
            answers = [answer for doing in self._doing.values() for answer in doing]
            if not answers and self.queue.exhausted:
                return
            ready, _ = self.ray.wait([*answers, *self._starting], num_returns=1, timeout=LOOK)
            for answer in ready:
                self._receive(answer)
            self._check_time_limits()

    def stop_all(self) -> None:
        """Ends all workers at once; what they have committed stays."""
        for worker in (*self._doing, *self._starting.values()):
            self.ray.kill(worker)

    def _start_workers(self) -> None:
        """Starts as many workers as there is work for, in the place of those that died too."""
        vacant = self.share.workers - len(self._doing) - len(self._starting)
        if vacant:
            idle = len(self._starting) + sum(not doing for doing in self._doing.values())
            for _ in range(min(vacant, self.queue.ready_up_to(self.share.workers) - idle)):
                worker = self._kind.remote()
                self._starting[worker.begin.remote(self._setup)] = worker
                self.response_times.begin(worker)

    def _hand_out(self) -> None:
        """Gives work to whoever has room: first to those that have nothing to do."""
        for busy in range(AT_ONCE):
            for worker, doing in self._doing.items():
                if len(doing) > busy or any(work.alone for work in doing.values()):
                    continue
                work = self.queue.take(idle=not doing)
                if work is None:
                    return
                if not doing:
                    self.response_times.begin(worker)
                doing[worker.compute.remote(work.cells, work.span)] = work

    def _receive(self, answer: Any) -> None:
        """What becomes of an answer that has arrived."""
        if answer in self._starting:
            self._worker_started(self._starting.pop(answer), answer)
            return
        worker = next((worker for worker, doing in self._doing.items() if answer in doing), None)
        if worker is None:  # it died, and this was done again
            return
        try:
            found: WorkerReply = self.ray.get(answer)
        except self.ray.exceptions.RayError:
            self._died(worker)
            return
        work = self._doing[worker].pop(answer)
        self.response_times.begin(worker)
        self._show_notes(found)
        if found.error is None:
            self.queue.mark_done(work)
            for cell in work.cells:
                self._merging.after_write(cell)
        elif found.hopeless:
            raise found.error
        else:
            self.queue.mark_failed(work, str(found.error))
            if found.device_unusable:
                for beside in self._stop_worker(worker):
                    self.queue.put_back(beside)

    def _worker_started(self, worker: Any, answer: Any) -> None:
        self.response_times.end(worker)
        try:
            found: WorkerReply = self.ray.get(answer)
        except self.ray.exceptions.RayError as error:
            self._count_failed_start(
                "die while they load what the study names", "Is there enough memory for several?", error
            )
            return
        self._doing[worker] = {}
        self._show_notes(found)
        if found.error is not None:
            raise Failure(f"a worker could not load what the study names: {found.error.what}", found.error.remedy)
        here = loaded_entries(self.job)
        for sort, things in (found.loaded or {}).items():
            for name, there in things.items():
                if here[sort].get(name) != there:
                    raise Failure(
                        f"a worker found another {name!r} than this process ({sort})",
                        "It changed meanwhile, or depends on the process: run again, or use --engine local.",
                    )

    def _count_failed_start(self, how: str, remedy: str, error: Exception | None = None) -> None:
        self._failed_starts += 1
        if self._failed_starts >= ATTEMPTS:
            raise Failure(f"worker processes {how}", remedy) from error

    def _check_time_limits(self) -> None:
        """Says who has not answered for long, and has others try what took longer than it may."""
        for answer, worker in list(self._starting.items()):
            if self.response_times.has_run_out_loading(worker):
                del self._starting[answer]
                self.response_times.end(worker)
                self.ray.kill(worker)
                self._count_failed_start(
                    "do not finish loading what the study names", "Give a longer --time-limit, or none."
                )
            elif self.response_times.is_worth_a_note(worker):
                self.progress.note(f"a worker has been loading what the study names for {self._time_silent(worker)}")
        for worker, doing in list(self._doing.items()):
            if not doing:
                continue
            if self.response_times.has_run_out(worker, sum(work.units for work in doing.values())):
                self._took_too_long(worker)
            elif self.response_times.is_worth_a_note(worker):
                remedy = (
                    "" if self.response_times.limit else "; a time limit (--time-limit) would have another worker try"
                )
                first = next(iter(doing.values()))
                self.progress.note(f"a worker has not answered for {self._time_silent(worker)}: {first}{remedy}")

    def _time_silent(self, worker: Any) -> str:
        return duration(self.response_times.seconds_silent(worker))

    def _took_too_long(self, worker: Any) -> None:
        waited = self._time_silent(worker)
        first = next(iter(self._doing[worker].values()))
        self.progress.note(f"a worker did not answer within {waited} and is replaced: {first} is tried by another")
        self._do_again(
            worker, f"no answer within {waited}: --time-limit {self.response_times.limit:g} may be too short for it"
        )

    def _died(self, worker: Any) -> None:
        self.progress.note("a worker process died; what it was doing is done again")
        self._do_again(worker, "its worker process died")

    def _do_again(self, worker: Any, why: str) -> None:
        """Ends a worker and has others do what it was doing. If that was one thing, it may be to blame."""
        lost = self._stop_worker(worker)
        for work in reversed(lost):
            self.queue.mark_failed(work, why, blamed=len(lost) == 1, alone=True)

    def _stop_worker(self, worker: Any) -> list[WorkItem]:
        """Ends a worker; what it was doing."""
        lost = list(self._doing.pop(worker).values())
        self.response_times.end(worker)
        self.ray.kill(worker)
        return lost

    def _show_notes(self, found: WorkerReply) -> None:
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
