"""The local executor: what fails because a disk did is tried again, and what always fails ends the run at once."""

import errno
import os

import pytest
from engine_runs import run_study

from brittle.engine.execute.local import may_pass
from brittle.engine.execute.worker import Worker
from brittle.engine.plan.queue import ATTEMPTS
from brittle.engine.store.memory_store import MemoryStore
from brittle.errors import BrittleError, Failure, ForeignError
from brittle.progress import Progress


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    monkeypatch.setattr("brittle.engine.execute.local.BACK_OFF", 0)


@pytest.fixture
def broken(monkeypatch):
    """A function that has the disk fail so often: at reading images, or at storing rows."""

    def fail(kind: type, name: str, times: int, number: int = errno.EIO) -> list[int]:
        kept, calls = getattr(kind, name), []

        def failing(*given):
            calls.append(1)
            if len(calls) <= times:
                raise Failure("images can't be read") from OSError(number, os.strerror(number))
            return kept(*given)

        monkeypatch.setattr(kind, name, failing)
        return calls

    return fail


@pytest.mark.parametrize(("kind", "name"), [(Worker, "_on_device"), (MemoryStore, "write")])
def test_what_a_disk_fails_at_is_tried_again(things, broken, kind, name):
    study = things.study("first", nuisances=["affine:alpha=20"])
    expected = run_study(study).summary
    broken(kind, name, ATTEMPTS - 1)
    progress = Progress()
    assert run_study(study, progress=progress).summary == expected
    assert progress.notes == ["images can't be read. This is tried again."]


def test_a_disk_that_always_fails_ends_the_run_after_three_trials(things, broken):
    calls = broken(Worker, "_on_device", 1000)
    with pytest.raises(Failure, match="can't be read"):
        run_study(things.study("first", nuisances=["affine:alpha=20"]))
    assert len(calls) == ATTEMPTS


def test_a_full_disk_ends_the_run_at_once(things, broken):
    calls = broken(MemoryStore, "write", 1000, errno.ENOSPC)
    with pytest.raises(Failure, match="can't be read"):
        run_study(things.study("first", nuisances=["affine:alpha=20"]))
    assert len(calls) == 1


def test_only_what_may_pass_is_tried_again():
    def caused(error: Exception, by: Exception) -> Exception:
        error.__cause__ = by
        return error

    disk = OSError(errno.EIO, "Input/output error")
    assert may_pass(disk)
    assert may_pass(caused(Failure("photos/1.jpg can't be read"), disk))
    assert may_pass(ConnectionResetError())
    assert not may_pass(caused(ForeignError("classifier 'net' raised TimeoutError"), TimeoutError()))
    assert not may_pass(FileNotFoundError(errno.ENOENT, "No such file"))
    assert not may_pass(BrittleError("the image is damaged"))
