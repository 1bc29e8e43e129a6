"""A run of a million units: what planning, storing, resuming, merging and summarising it take in time and memory.

    python benchmarks/many_units.py [--units 250000,1000000] [--workers 1000] [--plan]

Robustness of a classifier that costs next to nothing, on images of 2×2 pixels, ten draws of a nuisance to a unit. The
pieces of work come from the engine's own queue, are computed by its own worker and go to a run folder; as many workers
as asked for are played by one process, which finishes their pieces in random order, and merges files as a driver does.
Halfway the run is left as a kill leaves it and resumed. Each size has a process of its own, whose peak resident memory
is read from the system; seconds are the processor's, so that others on the machine don't count. "planned" hands out
every piece without computing any; "merged" is what is left to merge once all is computed.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROWS_PER_UNIT = 10
BATCH = 256  # so that a piece of work is about a hundred units


def peak() -> float:
    """MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def job_of(units: int) -> Any:
    """A job whose robustness has so many units."""
    import torch

    import brittle.measures.robustness.measure as robustness
    from brittle.classifiers import classifier
    from brittle.engine.assemble import assemble
    from brittle.engine.check.before_work import check_job
    from brittle.engine.open import open_inputs
    from brittle.images.base import ImageSet, IndexNames

    robustness.rows_per_unit = lambda _: ROWS_PER_UNIT
    ids = torch.arange(units)

    def read(places: Any) -> Any:
        return ((ids[places, None, None, None] * torch.tensor([[[3, 5], [7, 11]]])) % 251 / 251).float()

    images = ImageSet("many", ids, ids % 2, (), IndexNames(ids.numpy()), {}, read)
    score = classifier(lambda batch: torch.stack([batch.mean((1, 2, 3)), 1 - batch.mean((1, 2, 3))], 1))
    study = {"classifiers": {"net": score}, "images": {"many": images}, "nuisances": ["brightness"],
             "robustness": {"samples": ROWS_PER_UNIT}}  # fmt: skip
    return check_job(assemble(open_inputs(study), "cpu", BATCH)).job


class Timed:
    """Seconds of the processor and peak memory of each step."""

    def __init__(self) -> None:
        self.found: dict[str, float] = {}
        self._since = time.process_time()

    def __call__(self, step: str) -> None:
        now = time.process_time()
        self.found[step], self.found[f"{step}, MB"] = now - self._since, peak()
        self._since = time.process_time()


def played(queue: Any, worker: Any, merger: Any, workers: int, most: float = float("inf")) -> int:
    """Carries work out, finishing it in random order, until all or so many units are done; how many pieces. Without a
    worker nothing is computed."""
    drawn, doing, pieces, units = random.Random(0), [], 0, 0
    while True:
        while len(doing) < 2 * workers and (work := queue.take(idle=True)) is not None:
            doing.append(work)
        if not doing or units >= most:
            return pieces
        work = doing.pop(drawn.randrange(len(doing)))
        if worker is not None:
            computed = worker.compute(work.group, work.span, worker.given(work.group, work.span))
            assert worker.save(work.span, computed).wrong is None
            for cell in work.cells:
                merger.after_write(cell)
        queue.mark_done(work)
        pieces, units = pieces + 1, units + (work.span.end - work.span.first) * work.asked


def carry_out(units: int, workers: int, plan: bool = False) -> dict[str, float]:
    from brittle.engine.execute.piece_worker import PieceWorker
    from brittle.engine.plan.queue import WorkQueue
    from brittle.engine.store.memory_store import MemoryStore
    from brittle.engine.store.unit_store import FileMerger, FolderStore
    from brittle.engine.view import summary
    from brittle.progress import Progress

    timed = Timed()
    job = job_of(units)
    cell = next(iter(job.assignments["robustness"].cells()))
    assert len(job.plan(cell)) == units
    timed("assembled")
    pieces = played(WorkQueue(job, MemoryStore(), Progress()), None, None, workers)
    timed("planned")
    if plan:
        return {**timed.found, "pieces": pieces}
    with tempfile.TemporaryDirectory() as folder:
        first = FolderStore(Path(folder), job.depends, job.extent)
        queue = WorkQueue(job, first, Progress())
        played(queue, PieceWorker(job, first, print), FileMerger(first), workers, units // 2)
        timed("first half")
        store = FolderStore(Path(folder), job.depends, job.extent)
        files = len(list(Path(folder).rglob("*.parquet")))
        for each in job.assignments.values():
            for known in each.cells():
                store.verify(known)
        queue = WorkQueue(job, store, Progress())
        assert queue.ready_up_to(1)
        timed("resumed")
        played(queue, PieceWorker(job, store, print), FileMerger(store), workers)
        timed("second half")
        queue.finish()
        timed("merged")
        after = len(list(Path(folder).rglob("*.parquet")))
        found = summary(job, store)["measures"]["robustness"]["results"][0]
        timed("summarised")
    assert found["images"] == units
    return {**timed.found, "pieces": pieces, "files": files, "files after": after}


STEPS = ("planned", "first half", "resumed", "second half", "merged", "summarised")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--units", default="250000,1000000")
    parser.add_argument("--workers", type=int, default=1000)
    parser.add_argument("--plan", action="store_true", help="plan alone")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(carry_out(given.one, given.workers, given.plan)))
        return
    asked = STEPS[:1] if given.plan else STEPS
    print(f"| units | pieces | {', s / MB | '.join(asked)}, s / MB | files: halfway, merged |")
    print(f"| ---: | ---: |{' ---: |' * (len(asked) + 1)}")
    for units in map(int, given.units.split(",")):
        line = [sys.executable, __file__, "--one", str(units), "--workers", str(given.workers)]
        line += ["--plan"] if given.plan else []
        found = json.loads(subprocess.run(line, stdout=subprocess.PIPE, check=True, text=True).stdout)
        steps = " | ".join(f"{found[step]:.1f} / {found[f'{step}, MB']:,.0f}" for step in asked)
        files = ", ".join(f"{found[key]:,.0f}" for key in ("files", "files after") if key in found)
        print(f"| {units:,} | {found['pieces']:,.0f} | {steps} | {files} |", flush=True)


if __name__ == "__main__":
    main()
