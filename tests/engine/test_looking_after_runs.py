"""How far a run is, whether its rows can be computed again, and runs that are joined: by commands and by functions."""

import shutil
import signal
import time
from datetime import datetime, timedelta

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
import tomli_w
from engine_runs import run

import brittle
from brittle.engine.status import status_of
from brittle.engine.store.checked_json import checked_text
from brittle.engine.store.place import place_of
from brittle.engine.store.progress_record import FILE, read_record
from brittle.engine.store.recorded_store import RecordedStore
from brittle.engine.store.unit_file import about_of, encoded
from brittle.errors import BrittleError, Failure

pytestmark = pytest.mark.warned("near chance", "mean confidence", "was damaged")
AFFINE = {"nuisances": ["affine:alpha=20"]}


def rows(folder):
    """By cell, keys and predictions in planned order."""
    store = RecordedStore(folder / "units")
    found = {}
    for cell in sorted(store.cells()):
        parts = [table for _, table in store.read(cell)]
        found[cell] = [row for part in parts for row in part.drop_columns(["log_p_label"]).to_pylist()]
    return found


def test_a_killed_run_is_told_by_its_units_and_its_process(things, start, small_units):
    study = things.folder / "study.toml"
    study.write_text(tomli_w.dumps(things.study("first", "second")))
    (things.folder / "delay").write_text("0.04")
    process = start("run", study, "--out", things.out, "--batch", 40)
    while not things.unit_files("affine"):
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    running = brittle.status(things.out)
    assert running.state == "running"
    assert str(process.pid) in running.process
    process.send_signal(signal.SIGKILL)
    process.wait()
    killed = brittle.status(things.out)
    assert killed.state == "stopped"
    assert "ended without a word" in str(killed)
    assert [each.measure for each in killed.measures] == ["robustness"]
    (things.folder / "delay").unlink()
    run(study, out=things.out)
    done = brittle.status(things.out)
    assert (done.state, done.left) == ("finished", None)
    assert done.done == done.planned > 0


def test_a_run_of_another_machine_is_running_while_it_is_heard_of(things):
    run(things.study(**AFFINE), out=things.out)
    place = place_of(things.out)
    record = read_record(place)
    told, hour = datetime.fromisoformat(record["told"]), timedelta(hours=1)
    elsewhere = record | {"boot": "another", "host": "far", "ended": None, "had": 0}
    elsewhere["began"] = (told - hour).isoformat()
    (things.out / FILE).write_text(checked_text(FILE, elsewhere))
    heard = status_of(place, told + timedelta(seconds=5))
    assert (heard.state, heard.process) == ("running", f"process {record['process']} on far")
    assert heard.rate == pytest.approx(heard.done / 3605)
    silent = status_of(place, told + hour)
    assert silent.state == "silent"
    assert silent.rate == pytest.approx(silent.done / 3600)
    assert "last heard of 1 h 00 min ago" in str(silent)


def test_what_failed_is_told_with_its_reason(things, cli):
    study = things.study(**AFFINE)
    (things.folder / "things.py").write_text("def first(images):\n    raise RuntimeError('no luck')\n")
    (things.folder / "study.toml").write_text(tomli_w.dumps(study))
    with pytest.raises(BrittleError):
        run(study, out=things.out)
    with pytest.raises(BrittleError, match="not a run folder"):  # found out before it was one
        brittle.status(things.out)
    (things.folder / "things.py").write_text(
        "import torch\n"
        "def first(images):\n"
        "    assert len(images) <= 8, 'no luck'\n"
        "    return torch.ones(len(images), 4)\n"
    )
    with pytest.raises(BrittleError):
        run(study, out=things.out)
    told = cli("status", things.out, "--json").json
    assert told["state"] == "failed"
    assert "no luck" in told["why"]
    assert told["done"] == 0


def test_verify_recomputes_and_finds_the_row_that_was_changed(things, small_units, cli):
    small_units(60)
    run(things.study("first", "second", **AFFINE), out=things.out)
    before = {path: path.read_bytes() for path in things.out.rglob("*.parquet")}
    found = brittle.verify(things.out, units=1000)
    assert found.same
    assert found.measures.keys() == {"clean", "robustness"}
    assert brittle.verify(things.out, units=5).units == 5
    assert {path: path.read_bytes() for path in things.out.rglob("*.parquet")} == before
    path = things.unit_files("affine", "second")[0]
    with pq.ParquetFile(path) as opened:
        about, table = about_of(opened), opened.read()
    place = table.column_names.index("predicted")
    other = pc.subtract(3, table["predicted"]).cast(table["predicted"].type)
    path.write_bytes(encoded(table.set_column(place, "predicted", other), about))
    ended = cli("verify", things.out, "--units", 1000)
    assert ended.status == 1
    assert "robustness · second · toy · affine:alpha=20" in ended.out
    assert "predicted differs in" in ended.out


def test_runs_of_halves_merge_to_the_run_of_the_whole(things, small_units, unmerged, cli):
    """Of three runs one has another classifier, and two have each some units of the same cell."""
    small_units(60)
    whole = run(things.study("first", "second", **AFFINE), out=things.folder / "whole")
    run(things.study("second", **AFFINE), out=things.folder / "b")
    run(things.study("first", **AFFINE), out=things.out)
    shutil.copytree(things.out, things.folder / "a")
    files = things.unit_files("affine")
    assert len(files) > 6
    for path in files[::2]:
        path.unlink()
    for path in sorted((things.folder / "a" / "units").glob("robustness/**/*.parquet"))[1:8:2]:
        path.unlink()
    joined, here = things.folder / "joined", things.folder
    told = cli("merge", things.out, here / "a", here / "b", "--out", joined)
    assert told.status == 0, told.err
    assert "units that several have are equal" in told.out
    with pytest.raises(BrittleError, match="is a run already"):
        brittle.merge(things.out, here / "b", out=joined)
    things.rows()
    summed = run(here / "joined" / "study.toml", out=joined)
    missing = things.rows() - things.CHECKED
    assert missing == 0, "every unit is in one of them"
    assert summed["measures"] == whole["measures"]
    assert rows(joined) == rows(here / "whole")


def test_what_does_not_fit_is_refused_before_anything_is_written(things):
    run(things.study(**AFFINE), out=things.out)
    here, joined = things.folder, things.folder / "joined"
    for name, changed, said in (
        ("seed", AFFINE | {"seed": 1}, "its seed is 1 and not 0"),
        (
            "draws",
            AFFINE | {"robustness": {"samples": 30}},
            "'robustness' is another one: .*samples: 20 → 30",
        ),
        ("same name", {"nuisances": {"affine:alpha=20": "rotation"}}, "the nuisance 'affine:alpha=20' is another one"),
    ):
        run(things.study(**changed), out=here / name)
        with pytest.raises(BrittleError, match=said):
            brittle.merge(things.out, here / name, out=joined)
    things.write_images(seed=1)
    run(things.study(**AFFINE), out=here / "images")
    with pytest.raises(BrittleError, match="image set 'toy' has other images"):
        brittle.merge(things.out, here / "images", out=joined)
    with pytest.raises(BrittleError, match="Name two runs or more"):
        brittle.merge(things.out, out=joined)
    assert not joined.exists()


def test_rows_that_two_runs_have_and_that_differ_are_refused(things):
    run(things.study(**AFFINE), out=things.out)
    shutil.copytree(things.out, things.folder / "other")
    path = next((things.folder / "other").glob("units/robustness/**/*.parquet"))
    with pq.ParquetFile(path) as opened:
        about, table = about_of(opened), opened.read()
    place = table.column_names.index("rank")
    path.write_bytes(encoded(table.set_column(place, "rank", pc.add(table["rank"], 1)), about))
    with pytest.raises(BrittleError, match=r"other rows of robustness · first · toy .*rank differs in 1200 of 1200"):
        brittle.merge(things.out, things.folder / "other", out=things.folder / "joined")


def test_a_record_that_can_not_be_written_does_not_end_the_run(things, monkeypatch):
    def full(self, content, write=type(place_of("x")).write):
        if self.name == FILE:
            raise Failure("the disk is full", "Free some space.")
        write(self, content)

    monkeypatch.setattr(type(place_of("x")), "write", full)
    assert run(things.study(**AFFINE), out=things.out)["measures"]
    with pytest.raises(BrittleError, match=r"progress\.json is missing"):
        brittle.status(things.out)
