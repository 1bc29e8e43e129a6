"""Disks that are full, fail or can't be written: one line that names the file, nothing lost, nothing left behind."""

import errno
import fcntl
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import brittle
from brittle.engine.store.filesystem import Filesystem
from brittle.engine.store.run_folder import RunFolder
from brittle.errors import BrittleError, Failure
from brittle.files import remove_half_written, write_durably
from brittle.training.train_network import _held

WEIGHTS = Path(brittle.__file__).parent / "classifiers" / "data" / "plain.safetensors"


@contextmanager
def room(size: int) -> Iterator[None]:
    """No file may become larger than this many bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.fixture
def images(tmp_path):
    random = np.random.default_rng(0)
    path = tmp_path / "inputs" / "images.npz"
    path.parent.mkdir()
    np.savez(path, images=random.integers(0, 256, (60, 28, 28), dtype=np.uint8), labels=np.arange(60) % 10)
    return f"npz:{path}"


@pytest.fixture
def finished(tmp_path, images):
    """A finished run, with its report."""
    study = {"classifiers": {"plain": "bundled:plain"}, "images": {"some": images}, "robustness": {"samples": 2}}
    brittle.run(study | {"nuisances": ["rotation"]}, out=tmp_path / "run", device="cpu")
    return tmp_path / "run"


def fails(number, *names):
    """A method that fails for files with one of these words in their names."""

    def wrap(original):
        def call(path, *arguments, **options):
            if any(name in str(path) for name in names):
                raise OSError(number, os.strerror(number), str(path))
            return original(path, *arguments, **options)

        return call

    return wrap


@pytest.mark.slow
def test_a_disk_that_fills_while_a_checkpoint_is_written_is_told_and_training_resumes(cli, images, tmp_path):
    command = ("train", "small-plain", images, "--epochs", 2, "--device", "cpu", "--out")
    assert cli(*command, tmp_path / "undisturbed.safetensors").status == 0
    out = tmp_path / "out" / "net.safetensors"
    with room(100_000):
        said = cli(*command, out)
    told = "net.training.pt can't be written: File too large. Check the disk and give the same command again"
    assert told in said.complaint(1)
    assert list(out.parent.iterdir()) == []
    assert cli(*command, out).status == 0
    assert out.read_bytes() == (tmp_path / "undisturbed.safetensors").read_bytes()


def test_a_checkpoint_that_can_not_be_read_is_not_called_damaged(cli, images, tmp_path, monkeypatch):
    out = tmp_path / "net.safetensors"
    command = ("train", "small-plain", images, "--epochs", 2, "--device", "cpu", "--out", out)
    with monkeypatch.context() as patch:
        patch.setattr("brittle.training.train_network.save_weights", lambda *_: 1 / 0)
        assert cli(*command).status == 1
    checkpoint = tmp_path / "net.training.pt"
    kept = checkpoint.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", fails(errno.EIO, "net.training.pt")(Path.read_bytes))
        said = cli(*command).complaint(1)
    assert f"{checkpoint} can't be read: Input/output error. Check the disk" in said
    assert checkpoint.read_bytes() == kept
    assert cli(*command).status == 0


def test_weights_that_can_not_be_read_are_not_called_damaged(cli, images, tmp_path, monkeypatch):
    out = tmp_path / "net.safetensors"
    command = ("train", "small-plain", images, "--epochs", 1, "--device", "cpu", "--out", out)
    assert cli(*command).status == 0
    kept = out.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", fails(errno.EIO, "net.safetensors")(Path.read_bytes))
        told = f"{out} can't be read: Input/output error. Check the disk"
        assert told in cli(*command).complaint(1)
        spec = f"torch:brittle.classifiers.bundled:SmallNet,weights={out}"
        assert told in cli("measure", spec, images, "--nuisance", "rotation").complaint(1)
    assert out.read_bytes() == kept
    assert cli(*command).status == 0


def test_training_removes_what_it_left_itself_and_nothing_else(cli, images, tmp_path):
    mine = [tmp_path / name for name in ("net.safetensors.mine.tmp", "net.training.pt.bak.tmp", "notes.tmp")]
    left = [tmp_path / name for name in ("net.safetensors.4711.tmp", "net.training.pt.4711.tmp")]
    for path in (*mine, *left):
        path.write_text("half")
    assert cli("train", "small-plain", images, "--epochs", 1, "--out", tmp_path / "net.safetensors").status == 0
    assert [path.read_text() for path in mine] == ["half"] * 3
    assert not any(path.exists() for path in left)


def test_a_lock_that_was_removed_while_it_was_taken_is_taken_anew(tmp_path, monkeypatch):
    out, flock, calls = tmp_path / "net.safetensors", fcntl.flock, []

    def late(lock, how):
        if not calls:
            (tmp_path / ".net.safetensors.lock").unlink()  # as a process does that ends now
        calls.append(how)
        flock(lock, how)

    monkeypatch.setattr(fcntl, "flock", late)
    with _held(out), pytest.raises(BrittleError, match="another process is training"), _held(out):
        pass
    assert len(calls) == 3


@pytest.mark.slow
def test_hardening_removes_what_a_kill_left_and_nothing_else(images, tmp_path):
    spec = f"torch:brittle.classifiers.bundled:SmallNet,weights={WEIGHTS}"
    options = {"rounds": 1, "steps": 1, "batch_size": 8, "calls": 50, "samples": 2, "ways": (1.0,), "device": "cpu"}
    brittle.harden(spec, images, "rotation", tmp_path / "out", **options)
    names = ["rounds/{}.tmp", "rounds/0.safetensors.{}.tmp", "weights.safetensors.{}.tmp", "harden.json.{}.tmp"]
    mine, left = ([tmp_path / "out" / name.format(each) for name in names] for each in ("mine", 4711))
    for path in (*mine, *left):
        path.write_text("half")
    brittle.harden(spec, images, "rotation", tmp_path / "out", **options)
    assert [path.read_text() for path in mine] == ["half"] * 4
    assert [path.name for path in left if path.exists()] == ["4711.tmp"], "which is not a name of ours"


def test_a_report_removes_what_a_kill_left_of_it(cli, finished):
    left, mine = finished / "report.html.4711.tmp", finished / "report.html.mine.tmp"
    for path in (left, mine):
        path.write_text("half")
    assert cli("report", finished, "--no-load").status == 0
    assert (left.exists(), mine.read_text()) == (False, "half")


def test_a_report_on_a_disk_that_is_read_only_is_told_in_one_line(cli, finished, monkeypatch):
    for method in ("unlink", "write_text"):
        monkeypatch.setattr(Path, method, fails(errno.EROFS, "report.html")(getattr(Path, method)))
    said = cli("report", finished, "--no-load").complaint(1)
    assert f"{finished}/report.html can't be written: Read-only file system. Make the disk writable" in said


def test_a_disk_with_no_room_for_the_lock_is_told_in_one_line(tmp_path):
    told = pytest.raises(Failure, match=r"\.lock can't be written: File too large")
    with room(0), told as failure, RunFolder(tmp_path / "run").locked():
        pass
    assert "\n" not in str(failure.value)


@pytest.mark.parametrize(("number", "status"), [(errno.EIO, 1), (errno.ENOSPC, 1), (errno.EROFS, 2), (errno.EACCES, 2)])
def test_a_folder_that_can_not_be_used_is_a_mistake_or_a_failure(cli, images, tmp_path, monkeypatch, number, status):
    monkeypatch.setattr(Path, "mkdir", fails(number, "/there")(Path.mkdir))
    for command in (
        ("measure", "bundled:plain", images, "--nuisance", "rotation", "--samples", 1, "--out", tmp_path / "there"),
        ("train", "small-plain", images, "--epochs", 1, "--out", tmp_path / "there" / "net.safetensors"),
    ):
        said = cli(*command).complaint(status)
        assert str(tmp_path / "there") in said


def test_a_folder_that_can_not_be_listed_is_named(monkeypatch):
    class Broken:
        def get_file_info(self, what):
            raise OSError(errno.EIO, "Cannot list directory 'there'. Detail: [errno 5] Input/output error")

    monkeypatch.setattr(os, "scandir", fails(errno.EIO, "there")(os.scandir))
    for look in (Filesystem().names, Filesystem(Broken()).is_file):
        with pytest.raises(Failure, match=r"^there can't be read: Input/output error\. Check the disk"):
            look("there")


def test_an_error_of_a_disk_that_nobody_expected_names_the_file(cli):
    said = cli("report", "a" * 300).complaint(1)
    assert "aaa/report.html can't be read or written: File name too long. Choose a shorter name." in said


def test_what_another_process_tidied_away_is_written_again(tmp_path):
    tries = []

    def write(to):
        to.write_text("whole")
        tries.append(to)
        if len(tries) == 1:
            remove_half_written(tmp_path, ("file",))

    write_durably(tmp_path / "file", write)
    assert ((tmp_path / "file").read_text(), len(tries)) == ("whole", 2)


def test_an_interrupted_write_leaves_nothing(tmp_path):
    def write(to):
        to.write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_durably(tmp_path / "file", write)
    assert list(tmp_path.iterdir()) == []
