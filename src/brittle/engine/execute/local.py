"""The local executor: one process, which never waits for the device.

A thread fetches, checks and stores the rows of one piece of work while the next is computed, and another reads the
images of the piece to come. What fails because a disk or a network did is tried again; anything else ends the run.
"""

from __future__ import annotations

import errno
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace

from brittle.engine.execute.piece_worker import ComputedCell, PieceWorker, StoredPiece
from brittle.engine.job import Job
from brittle.engine.plan.missing import start_counting
from brittle.engine.plan.queue import ATTEMPTS, WorkItem, WorkQueue
from brittle.engine.store.unit_store import FileMerger, Store
from brittle.errors import ForeignError
from brittle.measures.plan import Span
from brittle.progress import Progress

IN_FLIGHT = 2  # pieces computed but not yet stored
BACK_OFF = 0.5  # seconds before a second attempt; twice as long before the third
PASSING = (errno.EIO, errno.EAGAIN, errno.EBUSY, errno.ESTALE, errno.ENETDOWN, errno.ENETUNREACH, errno.EHOSTUNREACH)


def carry_out(job: Job, store: Store, progress: Progress) -> None:
    """Computes every unit that the store lacks and the measures still ask for."""
    start_counting(job, progress)
    queue = WorkQueue(job, store, progress)
    executor = LocalExecutor(job, store, queue, progress)
    try:
        executor.work()
    finally:
        executor.close()
    queue.finish()


class LocalExecutor:
    """Holds what lives as long as a job: what computes, the thread that stores, and what that has yet to store."""

    def __init__(self, job: Job, store: Store, queue: WorkQueue, progress: Progress) -> None:
        self.job, self.queue, self.progress = job, queue, progress
        self.pieces, self._merging = PieceWorker(job, store, progress.note), FileMerger(store)
        self._writer = ThreadPoolExecutor(1)
        self._storing: deque[tuple[WorkItem, Future[StoredPiece]]] = deque()

    def close(self) -> None:
        """What is computed is stored, also where something went wrong."""
        self.pieces.close()
        self._writer.shutdown()

    def work(self) -> None:
        """Until everything is computed and stored, in planned order."""
        while True:
            work = self.queue.take(idle=not self._storing, in_order=bool(self._storing))
            if work is not None:
                self._compute(work)
            elif self._storing:
                self._receive()
            else:
                return

    def _compute(self, work: WorkItem) -> None:
        group, span = work.group, work.span
        try:
            given = self.pieces.given(group, span)
            computed = self.pieces.compute(group, span, given, self.queue.tick, self.queue.ahead())
        except Exception as error:
            self._try_again(work, error)
            return
        self._storing.append((work, self._writer.submit(self._save, span, computed)))
        most = 0 if self._may_stop(work) else IN_FLIGHT
        while len(self._storing) > most:
            self._receive()

    def _may_stop(self, work: WorkItem) -> bool:
        """Whether the rows of some work may say that no more is wanted."""
        return any(map(self.job.can_stop, work.cells))

    def _save(self, span: Span, computed: Sequence[ComputedCell]) -> StoredPiece:
        stored = self.pieces.save(span, computed)
        for cell in stored.tables:
            self._merging.after_write(cell)
        return stored

    def _receive(self) -> None:
        """Waits for the piece that was computed first."""
        work, saved = self._storing.popleft()
        try:
            stored = saved.result()
            if stored.wrong is not None:
                raise stored.wrong
        except Exception as error:
            self._try_again(work, error)
            return
        self.queue.mark_done(work, stored.tables if self._may_stop(work) else {})

    def _try_again(self, work: WorkItem, error: Exception) -> None:
        """Has a piece done again, after a while, if that may go better; otherwise its error is the run's."""
        attempts = work.attempts + 1
        if attempts >= ATTEMPTS or not may_pass(error):
            raise error
        self.progress.note(f"{str(error).rstrip('.')}. This is tried again.")
        time.sleep(BACK_OFF * 2**work.attempts)
        self.queue.put_back(replace(work, attempts=attempts))


def may_pass(error: BaseException | None) -> bool:
    """Whether a disk or a network failed, which may go better the next time; errors of others' code are theirs."""
    while error is not None and not isinstance(error, ForeignError):
        if isinstance(error, OSError):
            return isinstance(error, (ConnectionError, TimeoutError)) or error.errno in PASSING
        error = error.__cause__
    return False
