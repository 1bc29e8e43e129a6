"""Which work is handed out when, and what becomes of work that fails; workers are played by the tests themselves."""

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
import torch
from engine_runs import run_study

from brittle.engine.assemble import assemble
from brittle.engine.check.before_work import check_job
from brittle.engine.execute.remote_worker import RemoteWorker, WorkerSetup
from brittle.engine.inputs import Inputs
from brittle.engine.job import Job
from brittle.engine.plan.queue import ATTEMPTS, FAILING, WorkItem, WorkQueue
from brittle.engine.store.memory_store import MemoryStore
from brittle.engine.store.run_folder import RunFolder
from brittle.engine.view import summary
from brittle.errors import Failure
from brittle.measures.base import ROWS, Cell
from brittle.measures.plan import Span
from brittle.progress import Progress
from brittle.study import Study

AFFINE = "affine:alpha=20"
UNITS = 10  # of robustness, with 320 images and a thousand draws


class Counted(Progress):
    total = advanced = 0

    def start(self, total: int) -> None:
        self.total = total

    def advance(self, rows: int) -> None:
        assert rows >= 0
        self.advanced += rows


def job_of(study: dict[str, Any], batch: int) -> Job:
    return check_job(assemble(Inputs(Study.of(study)), "cpu", batch)).job


def test_what_a_derived_measure_reads_is_handed_out_though_the_study_does_not_ask_for_it(things):
    study = things.study("first", "second", nuisances=[AFFINE])
    del study["robustness"]
    job = job_of(study | {"before-after": {"before": "first", "after": "second"}}, 100)
    queue = WorkQueue(job, MemoryStore(), progress := Counted())
    tried = carry_out(queue)
    queue.finish()
    cells = [Cell("robustness", name, "toy", AFFINE) for name in ("first", "second")]
    assert {cell for cell, _ in tried if cell.measure == "robustness"} == set(cells)
    assert set(tried.values()) == {1}
    assert [queue.store.done(cell)[-1].end for cell in cells] == [len(job.plan(cell)) for cell in cells]
    assert progress.advanced == 2 * things.IMAGES * 100


@pytest.fixture
def job(things) -> Job:
    """Two classifiers; a span of robustness holds two units."""
    things.write_images(count=320)
    return job_of(things.study("first", "second", nuisances=[AFFINE], robustness={"samples": 1000}), 16_000)


def store_units(store: MemoryStore, work: WorkItem) -> None:
    for cell in work.cells:
        store.write(cell, work.span, {ROWS: pa.table({"unit": list(range(*work.span))})})


def carry_out(queue: WorkQueue, fails: Callable[[Cell, int], str] = lambda cell, unit: "") -> Counter[tuple[Cell, int]]:
    """Does what is handed out, one piece after the other; how often each unit was tried."""
    tried: Counter[tuple[Cell, int]] = Counter()
    while (work := queue.take(idle=True)) is not None:
        each = [(cell, unit) for cell in work.cells for unit in range(*work.span)]
        tried.update(each)
        why = next(filter(None, (fails(*one) for one in each)), "")
        if why:
            queue.mark_failed(work, why)
        else:
            store_units(queue.store, work)
            queue.mark_done(work)
    return tried


class Played:
    """Workers played by one that computes what they would, in whatever order."""

    def __init__(self, things, robustness: dict[str, Any]) -> None:
        measured = things.study("first", "second", nuisances=[AFFINE], robustness=robustness)
        self.study, self.job = Study.of(measured), job_of(measured, 64)
        self.store = RunFolder(things.out).store(self.job)

    def carry_out(
        self, at_once: int, seed: int = 0, fails: Callable[[Cell, int], bool] = lambda cell, unit: False
    ) -> dict[str, Any]:
        worker, shuffled, doing = RemoteWorker(), random.Random(seed), []
        assert worker.begin(WorkerSetup.of(self.job, self.study, self.store, torch.get_num_threads())).error is None
        queue = WorkQueue(self.job, self.store, Progress())
        while True:
            while len(doing) < at_once and (work := queue.take(idle=True)) is not None:
                doing.append(work)
            if not doing:
                break
            work = doing.pop(shuffled.randrange(len(doing)))
            if any(fails(cell, unit) for cell in work.cells for unit in range(*work.span)):
                queue.mark_failed(work, "it broke")
                continue
            assert worker.compute(work.cells, work.span).error is None
            queue.mark_done(work)
        queue.finish()
        return summary(self.job, self.store)


def test_each_unit_is_handed_out_once_and_after_what_it_reads(job):
    store, progress = MemoryStore(), Counted()
    queue, given, taken = WorkQueue(job, store, progress), [], []
    while (work := queue.take(idle=True)) is not None:
        taken.append(work)
    assert {cell.measure for work in taken for cell in work.cells} == {"clean"}
    given += taken
    for work in taken:
        store_units(store, work)
        queue.mark_done(work)
    while (work := queue.take(idle=True)) is not None:
        given.append(work)
    units = Counter((cell, unit) for work in given for cell in work.cells for unit in range(*work.span))
    assert set(units.values()) == {1}
    assert Counter(cell.measure for cell, _ in units) == {"clean": 2 * 2, "robustness": 2 * UNITS}
    assert [work.span for work in given[len(taken) :]] == [Span(unit, unit + 2) for unit in range(0, UNITS, 2)]


def test_ticks_within_a_piece_are_told_once_and_never_past_its_end(job):
    store, progress = MemoryStore(), Counted()
    queue, told = WorkQueue(job, store, progress), []
    while (work := queue.take(idle=True)) is not None:
        before = progress.advanced
        for _ in range(3):
            queue.tick(work.calls // 2)
        told.append(progress.advanced - before)
        store_units(store, work)
        queue.mark_done(work)
        assert progress.advanced - before == work.calls
    assert max(told) > 0
    assert progress.advanced == 2 * 320 * 1000


def test_in_order_nothing_overtakes_a_piece_that_waits_for_what_it_reads(job):
    queue = WorkQueue(job, store := MemoryStore(), Progress())
    clean = queue.take(idle=True)
    assert {cell.measure for cell in clean.cells} == {"clean"}
    assert queue.take(idle=False, in_order=True) is None
    images, units = queue.ahead()
    assert (images, list(units[0].images)) == ("toy", list(job.plan(clean.cells[0])[0].images)[: len(units[0].images)])
    store_units(store, clean)
    queue.mark_done(clean)
    first = queue.take(idle=False, in_order=True)
    assert first.span == Span(0, 2)
    assert list(queue.ahead()[1]) == list(first.group.plan[2:4])


def test_a_unit_that_always_fails_is_named_when_all_others_are_done(job):
    store, bad = MemoryStore(), Cell("robustness", "second", "toy", AFFINE)
    queue = WorkQueue(job, store, Progress())
    tried = carry_out(queue, lambda cell, unit: "it broke. Fix it." if (cell, unit) == (bad, 3) else "")
    assert tried[bad, 3] == ATTEMPTS
    assert tried[bad, 2] == 2, "its neighbour is done when units are tried one by one"
    with pytest.raises(Failure) as failure:
        queue.finish()
    assert failure.value.exit_status == 1
    said = str(failure.value)
    assert f"robustness · second · toy · {AFFINE}: unit 3 failed {ATTEMPTS} times (it broke. Fix it)" in said
    assert "left out" not in said
    assert store.done(bad) == [Span(0, 2), Span(2, 3), *(Span(unit, unit + 2) for unit in (4, 6, 8))]
    assert sum(end - first for first, end in store.done(bad._replace(classifier="first"))) == UNITS


def test_what_reads_a_failed_unit_is_left_out_and_nothing_else(job):
    store, progress = MemoryStore(), Counted()
    queue = WorkQueue(job, store, progress)
    bad = Cell("clean", "first", "toy")
    carry_out(queue, lambda cell, unit: "it broke" if (cell, unit) == (bad, 1) else "")
    with pytest.raises(Failure, match=rf"clean · first · toy: unit 1 failed .* left out .*{AFFINE} \(2 units\)"):
        queue.finish()
    readers = Cell("robustness", "first", "toy", AFFINE)
    assert sum(end - first for first, end in store.done(readers)) == UNITS - 2  # 64 images of 320, 32 to a unit
    assert sum(end - first for first, end in store.done(readers._replace(classifier="second"))) == UNITS


def test_a_cell_that_fails_again_and_again_is_given_up_and_the_others_are_done(things):
    things.write_images(count=1000)
    job = job_of(things.study("first", "second", nuisances=[AFFINE], robustness={"samples": 1000}), 1000)
    store = MemoryStore()
    queue, bad = WorkQueue(job, store, Progress()), Cell("robustness", "first", "toy", AFFINE)
    tried = carry_out(queue, lambda cell, unit: "it broke" if cell == bad else "")
    assert len(job.plan(bad)) > 2 * FAILING
    assert sum(count for (cell, _), count in tried.items() if cell == bad) <= FAILING * ATTEMPTS
    with pytest.raises(Failure, match=rf"units 0–{FAILING - 1} failed .*\({len(job.plan(bad)) - FAILING} units\)"):
        queue.finish()
    assert sum(end - first for first, end in store.done(bad._replace(classifier="second"))) == len(job.plan(bad))


def test_units_that_fail_here_and_there_do_not_keep_the_others_of_their_cell_from_being_done(things):
    things.write_images(count=1000)
    job = job_of(things.study(nuisances=[AFFINE], robustness={"samples": 1000}), 1000)
    store, cell = MemoryStore(), Cell("robustness", "first", "toy", AFFINE)
    carry_out(WorkQueue(job, store, Progress()), lambda which, unit: "it broke" if which == cell and unit % 2 else "")
    assert len(job.plan(cell)) > 2 * FAILING
    assert store.done(cell) == [Span(unit, unit + 1) for unit in range(0, len(job.plan(cell)), 2)]


def test_what_could_stop_early_is_not_computed_past_a_unit_that_failed(things):
    things.write_images(count=700)
    played = Played(things, {"samples": 5, "tolerance": 1e-6})
    cell = Cell("robustness", "first", "toy", AFFINE)
    with pytest.raises(Failure, match=r"unit 2 failed .* left out because of that: robustness · first"):
        played.carry_out(1, fails=lambda which, unit: which == cell and unit == 2)
    assert played.store.done(cell) == [Span(0, 2)]
    every = played.store.done(cell._replace(classifier="second"))
    assert every == [Span(0, len(played.job.plan(cell)))]


def test_what_was_beside_other_work_when_its_worker_died_is_not_blamed_and_is_next_done_alone(job):
    store = MemoryStore()
    queue = WorkQueue(job, store, Progress())
    clean = queue.take(idle=True)
    store_units(store, clean)
    queue.mark_done(clean)
    for _ in range(2 * ATTEMPTS):
        one, other = queue.take(idle=True), queue.take(idle=True)
        for work in (other, one):
            queue.mark_failed(work, "its worker died", blamed=False, alone=True)
        assert one.span == Span(0, 2)
        assert other.span == Span(2, 4)
    assert queue.take(idle=False) is None, "a worker that has something to do gets what must be alone"
    again = queue.take(idle=True)
    assert (again.span, again.alone, again.attempts) == (Span(0, 2), True, 0)
    queue.mark_failed(again, "its worker died", alone=True)
    assert [queue.take(idle=True).span for _ in range(2)] == [Span(0, 1), Span(1, 2)]


def test_work_that_was_committed_before_its_worker_died_is_not_done_again(job):
    store = MemoryStore()
    queue = WorkQueue(job, store, Progress())
    for _ in range(2):  # the clean predictions, and the first span
        work = queue.take(idle=True)
        store_units(store, work)
        queue.mark_done(work)
    work = queue.take(idle=True)
    assert work.span == Span(2, 4)
    store_units(store, work)
    queue.mark_failed(work, "its worker died")
    assert queue.take(idle=True).span == Span(4, 6)


@pytest.mark.parametrize(("at_once", "seed"), [(1, 0), (3, 1), (8, 2)])
@pytest.mark.parametrize("estimand", ["population", "set"])
def test_a_tolerance_stops_at_the_same_unit_in_whatever_order_spans_arrive(things, estimand, at_once, seed):
    things.write_images(count=200 if estimand == "set" else 700)
    options = {"samples": 300, "tolerance": 0.05} if estimand == "set" else {"samples": 5, "tolerance": 0.06}
    played = Played(things, options | {"estimand": estimand})
    alone, found = run_study(played.study, None, batch=64).summary, played.carry_out(at_once, seed)
    assert found["calls"] == alone["calls"]
    for one, other in zip(*(each["measures"]["robustness"]["results"] for each in (alone, found)), strict=True):
        assert (other["images"], other["samples"]) == (one["images"], one["samples"])
        assert other["rho"] == pytest.approx(one["rho"], abs=1e-6)
    cell = Cell("robustness", "first", "toy", AFFINE)
    assert sum(end - first for first, end in played.store.done(cell)) < len(played.job.plan(cell)), "nothing stopped"


def test_nothing_is_handed_out_past_a_stopping_point_that_is_known(things):
    things.write_images(count=700)
    played = Played(things, {"samples": 5, "tolerance": 0.06})
    alone = run_study(played.study, things.folder / "alone", batch=64)
    played.carry_out(at_once=1)
    for name in ("first", "second"):
        for cell in (Cell("robustness", name, "toy", AFFINE), Cell("clean", name, "toy")):
            assert played.store.done(cell) == alone.store.done(cell)


def test_a_resumed_run_goes_on_from_what_is_there(things):
    things.write_images(count=700)
    played = Played(things, {"samples": 5, "tolerance": 0.06})
    alone = run_study(played.study, things.out, batch=64)
    for path in things.out.glob("units/clean/first/**/*.parquet"):
        path.unlink()
    things.rows()
    assert played.carry_out(at_once=3)["measures"] == alone.summary["measures"]
    assert things.rows() == things.CHECKED + 256, "more was done than the clean predictions that were lost"
