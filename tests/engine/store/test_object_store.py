"""Runs in an object store: the same rows as on a disk, whatever the store or the way to it does."""

import socket
import time
from itertools import count
from pathlib import Path

import pyarrow as pa
import pytest
import tomli_w
from benchmarks.faults.loopback_store import SECRET
from engine_runs import run, run_study

import brittle
from brittle.api import export
from brittle.engine.store import connection as connections
from brittle.engine.store.connection import Connection
from brittle.engine.store.object_store import ObjectStore
from brittle.engine.store.place import place_of
from brittle.errors import BrittleError, Failure
from brittle.report.html import write_as, write_report

HERE, INSIDE = "s3://runs/some/study", "runs/some/study"


def on_disk(folder: Path) -> dict[str, list[dict]]:
    found: dict[str, list[dict]] = {}
    for file in sorted((folder / "units").rglob("*.parquet")):
        name = f"{file.parent.relative_to(folder / 'units')} {file.name.split('.')[1]}"
        found.setdefault(name, []).extend(pa.parquet.read_table(file).to_pylist())
    return found


def in_store(store: Connection) -> dict[str, list[dict]]:
    found: dict[str, list[dict]] = {}
    for name, _ in store.listed(f"{INSIDE}/units", deep=True):
        folder, _, file = name.rpartition("/")
        part = pa.parquet.read_table(pa.BufferReader(store.read(f"{INSIDE}/units/{name}")))
        found.setdefault(f"{folder} {file.split('.')[1]}", []).extend(part.to_pylist())
    return found


@pytest.fixture
def undisturbed(things, small_units):
    """The summary and the rows of a run on a disk, of many units; classifiers have as much to do in the next one."""
    small_units(100)
    return run(things.study("first", "second"), out=things.out), on_disk(things.out)


def test_a_run_in_a_store_has_the_rows_and_the_summary_of_one_on_a_disk(things, undisturbed, store):
    study = things.study("first", "second")
    assert run(study, out=HERE) == undisturbed[0]
    assert in_store(store) == undisturbed[1]
    things.rows()
    assert run(study, out=HERE) == undisturbed[0]
    assert things.rows() == things.CHECKED, "units were computed again"
    assert not [name for name, info in store.listed(f"{INSIDE}/.lock") if info.is_file]


def test_an_interrupted_run_is_resumed_and_extended_without_a_row_lost_or_doubled(
    things, undisturbed, store, monkeypatch
):
    for kill in (1, 5, 9):
        with monkeypatch.context() as patch:
            commit, commits = ObjectStore.commit, count()

            def killed(disk, path, content, commit=commit, commits=commits, kill=kill):
                if next(commits) == kill:
                    raise KeyboardInterrupt
                commit(disk, path, content)

            patch.setattr(ObjectStore, "commit", killed)
            with pytest.raises(KeyboardInterrupt):
                run(things.study("first"), out=HERE)
    run(things.study("first"), out=HERE)
    assert run(things.study("first", "second"), out=HERE) == undisturbed[0]
    assert in_store(store) == undisturbed[1]


@pytest.mark.parametrize("trouble", ["refused", "lost before", "lost halfway", "lost after"])
def test_what_is_lost_on_the_way_is_put_again_and_leaves_no_part_of_an_object(store, proxy, trouble):
    """Half of the puts fail, each more often than the store's own library tries; large objects are put in parts."""
    numbers = count()
    proxy.trouble = lambda method, path: trouble if method == "PUT" and next(numbers) < 4 else ""
    assert store.listed("runs") == []  # it has answered once
    for size in (1000, 11 << 20):
        store.write("runs/object", bytes([size % 251]) * size)
        assert store.read("runs/object") == bytes([size % 251]) * size
        numbers = count()
    assert [name for name, _ in store.listed("runs")] == ["object"]


def test_a_large_object_of_which_a_part_fails_leaves_the_one_before(store, proxy, monkeypatch):
    monkeypatch.setattr(connections, "PATIENCE", 0)
    store.write("runs/object", b"before")
    proxy.trouble = lambda _, path: "refused" if "partNumber=2" in path else ""
    with pytest.raises(Failure, match="runs/object can't be written: AWS Error SLOW_DOWN"):
        store.write("runs/object", bytes(11 << 20))
    proxy.trouble = lambda *_: ""
    assert store.read("runs/object") == b"before"
    assert [name for name, _ in store.listed("runs")] == ["object"]


def test_a_store_that_is_out_of_order_for_a_while_is_waited_for(things, undisturbed, store, proxy, monkeypatch):
    """503 to forty requests, in the middle of the run."""
    begun: list[str] = []

    def trouble(method: str, path: str) -> str:
        if begun or "robustness" in path:
            begun.append(path)
        return "refused" if 0 < len(begun) <= 40 else ""

    monkeypatch.setattr(connections, "LONGEST_PAUSE", 0.5)
    proxy.trouble = trouble
    assert run(things.study("first", "second"), out=HERE) == undisturbed[0]
    assert in_store(store) == undisturbed[1]
    assert len(begun) > 40


def test_a_damaged_object_is_computed_again(things, undisturbed, store):
    run(things.study("first", "second"), out=HERE)
    name = next(name for name, _ in store.listed(f"{INSIDE}/units", deep=True) if "robustness" in name)
    content = store.read(f"{INSIDE}/units/{name}")
    store.write(f"{INSIDE}/units/{name}", content[:-40])
    with pytest.raises(BrittleError, match=rf"s3://{INSIDE}/units/.* is damaged"):
        export(HERE)
    found = run_study(things.study("first", "second"), out=HERE)
    assert found.summary == undisturbed[0]
    assert in_store(store) == undisturbed[1]


def test_listing_a_run_is_one_request_however_many_objects_it_has(things, small_units, unmerged, store, proxy):
    """Two of what lies on top (the lock's and the run's own), and one of all units."""
    small_units(100)
    run(things.study("first", "second"), out=HERE)
    assert len(store.listed(f"{INSIDE}/units", deep=True)) > 50
    proxy.asked.clear()
    write_report(HERE)
    assert len([each for each in proxy.asked if "list-type" in each and "units" in each]) == 1
    proxy.asked.clear()
    run(things.study("first", "second"), out=HERE)
    assert len([each for each in proxy.asked if "list-type" in each and "units" in each]) <= 2


def test_reports_and_tables_go_where_the_run_is(things, store):
    run(things.study("first"), out=HERE)
    page = write_report(HERE)
    assert str(page) == f"{HERE}/report.html"
    assert "affine" in page.read_text()
    assert str(write_as(place_of(HERE), "json")) == f"{HERE}/report.json"
    files = export(HERE, format="parquet")
    assert files == [f"{HERE}/export/robustness.parquet", f"{HERE}/export/robustness-rows.parquet"]
    rows = pa.parquet.read_table(pa.BufferReader(store.read(f"{INSIDE}/export/robustness-rows.parquet")))
    assert len(rows) == 3 * 20 * things.IMAGES


def test_no_credential_is_kept_or_said(things, store, proxy):
    run(things.study("first"), out=HERE)
    write_report(HERE)
    for name, _ in store.listed(INSIDE, deep=True):
        assert SECRET.encode() not in store.read(f"{INSIDE}/{name}"), name
    for name in (f"s3://key:{SECRET}@runs/a", f"s3://runs/a?secret_key={SECRET}"):
        with pytest.raises(BrittleError, match="come from the environment") as refusal:
            place_of(name)
        assert SECRET not in str(refusal.value)
    proxy.trouble = lambda *_: "refused"
    connections.connection.cache_clear()
    with pytest.raises(Failure) as failure:
        run(things.study("first"), out=HERE)
    assert SECRET not in str(failure.value)
    assert len(str(failure.value).splitlines()) == 1


def test_what_is_wrong_at_the_first_request_is_said_at_once(things, store, monkeypatch):
    with pytest.raises(BrittleError, match="there is no bucket s3://nowhere"):
        run(things.study("first"), out="s3://nowhere/study")
    store.write("runs/other/notes.txt", b"mine")
    with pytest.raises(BrittleError, match="s3://runs/other holds other things and is not a run folder"):
        run(things.study("first"), out="s3://runs/other")
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # and does not listen
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{nobody.getsockname()[1]}")
        connections.connection.cache_clear()
        with pytest.raises(Failure, match="Check the store and the network"):
            run(things.study("first"), out=HERE)


def test_a_hardening_refuses_a_store_in_one_line(cli):
    said = cli("harden", "bundled:plain", "sample", "--nuisance", "rotation", "--out", HERE)
    assert said.status == 2
    assert "lies in an object store, and a folder on a disk is needed" in said.err


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("s3://bucket/a/b/", "s3://bucket/a/b"),
        (Path("s3://bucket/a"), "s3://bucket/a"),
        ("gs://bucket", "gs://bucket"),
        ("runs/a/", "runs/a"),
        ("s3", "s3"),
    ],
)
def test_a_place_is_what_was_named(given, meant):
    assert str(place_of(given)) == meant


@pytest.mark.parametrize("name", ["s3://bucket//a", "s3://bucket/../a", "s3://bucket/./a"])
def test_a_place_that_a_store_would_not_keep_apart_is_refused(name):
    with pytest.raises(BrittleError, match="is not a name that a run can have"):
        place_of(name)


@pytest.mark.slow
def test_a_killed_run_is_resumed_at_once_and_a_second_driver_is_refused(things, start, ended, store, proxy):
    """Two processes of the command line; the killed one is known to be gone, so that its lease need not end."""
    usual = run(things.study(), out=things.out)
    file = things.folder / "study.toml"
    file.write_text(tomli_w.dumps(things.study()))
    (things.folder / "delay").write_text("0.2")
    first = start("run", file, "--out", HERE, "--batch", 8)
    while not any("robustness" in each for each in proxy.asked):
        assert first.poll() is None, first.communicate()
        time.sleep(0.05)
    assert f"is in use by another process (process {first.pid} on " in ended(start("run", file, "--out", HERE)).err
    assert first.poll() is None
    first.kill()
    first.wait()
    (things.folder / "delay").unlink()
    said = ended(start("run", file, "--out", HERE, "--json"))
    assert said.status == 0, said
    assert said.json["measures"]["robustness"]["results"] == usual["measures"]["robustness"]["results"]
    assert in_store(store) == on_disk(things.out)


def test_a_run_in_a_store_is_looked_after_like_one_on_a_disk(things, store, proxy):
    """Status with one listing of units, rows recomputed, and merged with a run on a disk."""

    def study(*names):
        return things.study(*names, nuisances=["affine:alpha=20"])

    run(study("first"), out=HERE)
    proxy.asked.clear()
    told = brittle.status(HERE)
    assert (told.state, told.done) == ("finished", told.planned)
    assert sum("list-type" in each and "units" in each for each in proxy.asked) == 1
    assert brittle.verify(HERE, units=3).same
    run(study("second"), out=things.out)
    assert sum(brittle.merge(HERE, things.out, out=f"{HERE}-joined").units.values()) == 4
    both = study("first", "second")
    assert run(both, out=f"{HERE}-joined")["measures"] == run(both)["measures"]
