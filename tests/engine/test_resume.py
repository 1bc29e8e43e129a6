"""Nothing that is finished is lost, nothing finished is computed again, and the numbers are those of one go."""

import errno
import itertools
import json
import os
import shutil
import signal
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import tomli_w
from engine_runs import run

from brittle.engine.store.filesystem import Filesystem
from brittle.engine.store.unit_file import KEY, encoded
from brittle.errors import BrittleError, Failure
from brittle.progress import Progress
from brittle.report.page.loaded import load

pytestmark = pytest.mark.warned(
    "is near chance on the untouched images", "has a mean confidence of", "was damaged or incomplete"
)


def results(study, out=None, **options):
    return run(study, out=out, **options)["measures"]["robustness"]["results"]


def stored_rows(files):
    return sum(pq.read_metadata(path).num_rows for path in files)


def identity(files):
    return {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in files}


@pytest.mark.parametrize(
    "robustness", [{"samples": 20}, {"samples": 10, "tolerance": 0.001}], ids=["samples", "tolerance"]
)
def test_a_run_killed_in_the_middle_resumes_to_the_same_numbers(things, start, ended, robustness):
    study = things.study(robustness=robustness)
    file = things.folder / "study.toml"
    file.write_text(tomli_w.dumps(study))
    undisturbed = results(study, things.folder / "undisturbed", batch=40)
    things.rows()
    (things.folder / "delay").write_text("0.04")
    process = start("run", file, "--out", things.out, "--batch", 40)
    while len([path for path in things.unit_files() if "clean" not in path.parts]) < 2:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    done, rows = stored_rows(things.unit_files()), things.IMAGES * (1 + 3 * robustness["samples"])
    assert 0 < done < rows, "the kill did not fall into the middle"
    assert not (things.out / "summary.json").exists()

    (things.folder / "delay").unlink()
    copy = shutil.copytree(things.out, things.folder / "copy")
    things.rows()
    assert results(study, copy, batch=40) == undisturbed
    assert things.rows() == things.CHECKED + rows - done
    said = ended(start("run", file, "--out", things.out, "--batch", 40, "--json"))
    assert said.status == 0, said
    assert said.json["measures"]["robustness"]["results"] == undisturbed


def test_the_units_of_a_truncated_file_alone_are_computed_anew(things, small_units, unmerged):
    small_units(200)
    before = results(things.study(), things.out)
    torn = things.unit_files("rotation")[2]
    others = identity(set(things.unit_files()) - {torn})
    torn.write_bytes(torn.read_bytes()[:-100])
    things.rows()
    progress = Progress()
    assert results(things.study(), things.out, progress=progress) == before
    assert things.rows() == things.CHECKED + 200
    assert identity(others) == others
    assert progress.notes == [f"{torn} was damaged or incomplete; its units are computed again"]


def test_a_file_with_too_few_rows_counts_as_torn(things, small_units, unmerged):
    small_units(200)
    before = results(things.study(), things.out)
    short = things.unit_files("affine")[0]
    pq.write_table(pq.read_table(short).slice(0, 199), short)
    assert results(things.study(), things.out) == before
    assert pq.read_metadata(short).num_rows == 200


def test_with_a_tolerance_a_torn_file_does_not_send_the_run_past_its_stopping_point(things, small_units, unmerged):
    things.write_images(count=600)
    study = things.study(nuisances=["affine:alpha=20"], robustness={"samples": 10, "tolerance": 0.06})
    small_units(320)
    before = results(study, things.out)
    assert before[0]["tolerance_reached"]
    assert before[0]["images"] < 600
    torn = things.unit_files("affine")[0]
    lost = pq.read_metadata(torn).num_rows
    torn.write_bytes(b"")
    things.rows()
    assert results(study, things.out) == before
    assert things.rows() == things.CHECKED + lost


def test_what_a_kill_left_half_written_is_removed_and_harmless(things):
    before = results(things.study(), things.out)
    unit = things.unit_files("affine")[0]
    leftovers = [unit.with_name(f"{unit.name}.4711.tmp"), things.out / "study.toml.4711.tmp"]
    for leftover in leftovers:
        leftover.write_bytes(b"PAR1 half a")
    things.rows()
    assert results(things.study(), things.out) == before
    assert things.rows() == things.CHECKED
    assert not any(map(Path.exists, leftovers))


def test_a_kill_while_the_study_is_first_written_leaves_a_folder_that_can_be_used(things):
    things.out.mkdir()
    (things.out / ".lock").touch()
    (things.out / "study.toml.4711.tmp").write_text("seed")
    assert results(things.study(), things.out)


def test_a_merge_killed_before_the_merged_files_are_removed_changes_nothing(things, small_units, monkeypatch):
    study = things.study(nuisances=["affine:alpha=20"])
    small_units(60)
    before = results(study, things.folder / "undisturbed")

    remove = Filesystem.remove

    def killed(disk, path):
        raise KeyboardInterrupt

    monkeypatch.setattr(Filesystem, "remove", killed)
    with pytest.raises(KeyboardInterrupt):
        run(study, out=things.out)
    monkeypatch.setattr(Filesystem, "remove", remove)
    names = {path.name.removesuffix(".rows.parquet") for path in things.unit_files("affine")}
    assert {"000000000-000000016", "000000000-000000001", "000000015-000000016"} <= names
    things.rows()
    assert results(study, things.out) == before
    assert things.rows() <= things.CHECKED + things.IMAGES * 20 - 16 * 60
    spans = [tuple(map(int, path.name.split(".")[0].split("-"))) for path in things.unit_files("affine")]
    assert spans[0][0] == 0
    assert all(left[1] == right[0] for left, right in itertools.pairwise(spans)), "files overlap"


def test_a_torn_merged_file_falls_back_on_the_files_it_was_merged_from(things, small_units):
    study = things.study(nuisances=["affine:alpha=20"])
    small_units(60)
    before = results(study, things.out)
    (merged,) = things.unit_files("affine")
    assert merged.name == "000000000-000000020.rows.parquet"
    rows = pq.read_table(merged).slice(0, 60)
    about = json.loads(rows.schema.metadata[KEY]) | {"end": 1, "rows": 60}
    merged.with_name("000000000-000000001.rows.parquet").write_bytes(encoded(rows, about))
    merged.with_name("000000001-000000002.rows.parquet").write_bytes(b"torn as well")
    merged.write_bytes(merged.read_bytes()[:1000])
    things.rows()
    assert results(study, things.out) == before
    assert things.rows() == things.CHECKED + 19 * 60


@pytest.mark.parametrize("place", [0.02, 0.5, 0.97], ids=["at the start", "in the middle", "in the footer"])
def test_bits_that_turned_in_a_stored_file_are_noticed_and_its_units_computed_anew(things, place):
    before = run(things.study(), out=things.out)
    file = things.unit_files("affine")[0]
    content = bytearray(file.read_bytes())
    content[int(place * len(content))] ^= 0x10
    file.write_bytes(content)
    view = load(things.out).view("robustness")
    with pytest.raises(BrittleError, match=rf"{file} is damaged .*only the units of that file are computed again"):
        list(view.rows(view.cell("first", "toy", "affine:alpha=20")))
    progress = Progress()
    things.rows()
    assert run(things.study(), out=things.out, progress=progress) == before
    assert things.rows() == things.CHECKED + things.IMAGES * 20
    assert progress.notes == [f"{file} was damaged or incomplete; its units are computed again"]


@pytest.mark.parametrize("number", [errno.EIO, errno.EACCES])
def test_a_file_that_can_not_be_read_is_not_deleted(things, monkeypatch, number):
    run(things.study(), out=things.out)
    files = identity(things.unit_files())
    read = Filesystem.read

    def fails(disk, path):
        if "affine" in path:
            raise OSError(number, os.strerror(number))
        return read(disk, path)

    monkeypatch.setattr(Filesystem, "read", fails)
    with pytest.raises(Failure, match=rf"affine.* can't be read: {os.strerror(number)}") as failure:
        run(things.study(), out=things.out)
    assert "\n" not in str(failure.value)
    assert identity(things.unit_files()) == files


def test_a_finished_run_is_not_computed_again(things):
    before = run(things.study(), out=things.out)
    files = identity(things.unit_files())
    things.rows()
    assert run(things.study(), out=things.out) == before
    assert things.rows() == things.CHECKED
    assert identity(things.unit_files()) == files


def test_a_study_that_could_not_start_does_not_bind_its_folder(things):
    wrong = things.study(classifiers={"first": f"python:{things.folder}/things.py:frist"})
    with pytest.raises(BrittleError, match="Did you mean 'first'"):
        run(wrong, out=things.out)
    assert results(things.study(), things.out)
    extended = things.study() | {"classifiers": things.study()["classifiers"] | {"other": "bundled:plain"}}
    with pytest.raises(BrittleError, match="bundled:plain"):
        run(extended, out=things.out)
    assert results(things.study(), things.out)


def test_a_run_resumed_with_another_batch_size_gives_the_same_numbers(things, small_units):
    small_units(200)
    before = results(things.study(), things.folder / "undisturbed", batch=64)
    run(things.study(), out=things.out, batch=64)
    for path in things.unit_files()[1::2]:
        path.unlink()
    after = results(things.study(), things.out, batch=7)
    assert [row["rho"] for row in after] == pytest.approx([row["rho"] for row in before], abs=1e-6)


def test_files_are_as_readable_as_the_umask_says(things):
    run(things.study(), out=things.out)
    umask = os.umask(0)
    os.umask(umask)
    assert things.unit_files()[0].stat().st_mode & 0o777 == 0o666 & ~umask


def test_stored_rows_are_those_of_the_plan_in_its_order(things):
    run(things.study(nuisances=["affine:alpha=20"]), out=things.out)
    rows = pq.read_table(things.unit_files("affine")[0])
    draws = rows["draw"].to_numpy()
    assert np.array_equal(draws, np.tile(np.arange(20), things.IMAGES))
    assert (np.diff(rows["image"].to_numpy().reshape(things.IMAGES, 20)) == 0).all()
    total = np.logaddexp(rows["log_p_label"].to_numpy(), rows["log_p_other"].to_numpy())
    assert np.abs(total).max() < 1e-5
