"""The workers on Ray that are there, and what each is doing. One that dies is replaced, and what it was doing is done
again; so is one that takes longer than it may. After each setback the next worker waits a little longer.
"""

from __future__ import annotations

import time
from types import ModuleType
from typing import Any

from brittle.engine.execute.remote_worker import AT_ONCE, RemoteWorker, WorkerReply, WorkerSetup, loaded_entries
from brittle.engine.execute.room import WorkerResources, nodes_of
from brittle.engine.execute.time_limits import ResponseTimes
from brittle.engine.job import Job
from brittle.engine.plan.queue import ATTEMPTS, WorkItem, WorkQueue
from brittle.engine.store.unit_store import FileMerger
from brittle.errors import Failure
from brittle.progress import Progress, duration

LOOK = 1.0  # seconds between two looks at the clock
COUNT_NODES = 5.0  # seconds between two looks at who is there
BACK_OFF, LONGEST_BACK_OFF = 0.5, 30.0  # seconds before a worker that died is replaced; doubled with each setback
ALONE = 60.0  # seconds without any worker, before that is mentioned


class WorkerPool:
    """Workers, from the place that Ray finds for them to their end."""

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
        self._placing: dict[Any, Any] = {}  # answer to come → worker that Ray has yet to place
        self._starting: dict[Any, Any] = {}  # answer to come → worker that loads what the study names
        self._failed_starts = self._setbacks = self._room = 0
        self._counted = self._next_start = 0.0
        self._alone_since = time.monotonic()

    def work(self) -> None:
        """Until everything has been handed out and answered."""
        while True:
            self._start_workers()
            self._hand_out()
            answers = [answer for doing in self._doing.values() for answer in doing]
            if not answers and self.queue.exhausted:
                return
            awaited = [*answers, *self._starting, *self._placing]
            if awaited:
                ready, _ = self.ray.wait(awaited, num_returns=1, timeout=LOOK)
                for answer in ready:
                    self._receive(answer)
            else:
                time.sleep(LOOK / 4)
            self._check_time_limits()

    def stop_all(self) -> None:
        """Ends all workers at once; what they have committed stays."""
        for worker in (*self._doing, *self._starting.values(), *self._placing.values()):
            self.ray.kill(worker)

    def _start_workers(self) -> None:
        """Starts as many workers as there are work and room for, in the place of those that died too."""
        now = time.monotonic()
        if now < self._next_start:
            return
        if now - self._counted > COUNT_NODES:
            self._room, self._counted = self.share.room(nodes_of(self.ray)), now
        vacant = self._room - len(self._doing) - len(self._starting) - len(self._placing)
        if vacant > 0:
            idle = len(self._starting) + len(self._placing) + sum(not doing for doing in self._doing.values())
            for _ in range(min(vacant, self.queue.ready_up_to(self._room) - idle)):
                worker = self._kind.remote()
                self._placing[worker.node.remote()] = worker

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
        if answer in self._placing:
            self._placed(self._placing.pop(answer), answer)
            return
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
            self._setbacks = 0
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

    def _placed(self, worker: Any, answer: Any) -> None:
        """Has a worker begin that Ray has found a place for: loading takes time only from then on."""
        try:
            self.ray.get(answer)
        except self.ray.exceptions.RayError as error:
            self._count_failed_start("die before they begin", "Look at Ray's logs of that node.", error)
            return
        self._starting[worker.begin.remote(self._setup)] = worker
        self.response_times.begin(worker)

    def _worker_started(self, worker: Any, answer: Any) -> None:
        self.response_times.end(worker)
        try:
            found: WorkerReply = self.ray.get(answer)
        except self.ray.exceptions.RayError as error:
            self._count_failed_start(
                "die while they load what the study names", "Is there enough memory for several?", error
            )
            return
        self._doing[worker], self._failed_starts = {}, 0
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
        self.progress.note("a worker process ended before it could begin; another one is started")
        self._back_off()

    def _back_off(self) -> None:
        wait = min(LONGEST_BACK_OFF, BACK_OFF * 2**self._setbacks)
        self._setbacks += 1
        self._next_start = time.monotonic() + wait

    def _check_time_limits(self) -> None:
        """Says who has not answered for long, and has others try what took longer than it may."""
        self._check_for_workers()
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

    def _check_for_workers(self) -> None:
        """Says so where the cluster has had no place for any worker for long."""
        now = time.monotonic()
        if self._doing or self._starting:
            self._alone_since = now
        elif now - self._alone_since > ALONE:
            each = f"{self.share.cores:g} cores" + (f" and {self.share.gpus:g} GPUs" if self.share.gpus else "")
            self.progress.note(f"the cluster has no room for a worker ({each} each); the run waits for it")

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
        self._back_off()

    def _stop_worker(self, worker: Any) -> list[WorkItem]:
        """Ends a worker; what it was doing."""
        lost = list(self._doing.pop(worker).values())
        self.response_times.end(worker)
        self.ray.kill(worker)
        return lost

    def _show_notes(self, found: WorkerReply) -> None:
        for note in found.notes:
            self.progress.note(note)
