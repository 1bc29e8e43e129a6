"""Finished units on disk: few files however many units and writers, each known to be whole and to belong there, and
nothing lost whenever a process is killed."""

import errno
import itertools
import os
import shutil
import threading
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from brittle.api import run
from brittle.engine.disk import Disk
from brittle.engine.memory_store import MemoryStore
from brittle.engine.store import FolderStore, Merging, gaps, refuse_same_folders, safe_name, whole_tables
from brittle.errors import BrittleError, Failure
from brittle.measures.base import Cell
from brittle.measures.plan import Span

CELL = Cell("measure", "classifier", "images", "nuisance")
OTHER = CELL._replace(classifier="rival")


def results(*arguments, **options):
    return run(*arguments, **options)["measures"]["robustness"]["results"]


def folder(path: Path, depends: str = "") -> FolderStore:
    """A store that knows nothing but what is on the disk."""
    return FolderStore(path, lambda cell: depends or " ".join(cell))


def rows(number: int, count: int = 10) -> pa.Table:
    return pa.table({"unit": np.full(count, number, np.int32), "row": np.arange(count)})


def unit(number: int, count: int = 10) -> dict[str, pa.Table]:
    return {"rows": rows(number, count)}


def with_diagnosis(number: int) -> dict[str, pa.Table]:
    """A unit of as many rows as its number says, with a second table of one row; every third has none of that."""
    told = {} if number % 3 == 0 else {"images": pa.table({"unit": [number], "mean": [number / 7]})}
    return unit(number, number % 4) | told


def write(store, numbers, make=unit) -> None:
    for number in numbers:
        store.write(CELL, Span(number, number + 1), make(number))


def stored(store, table: str = "rows") -> list[dict]:
    return [row for _, part in store.read(CELL, table=table) for row in part.to_pylist()]


def files(path: Path) -> list[Path]:
    return sorted(path.rglob("*.parquet"))


def test_many_small_units_become_few_files_with_all_rows_in_order(tmp_path):
    store, count, most = folder(tmp_path), 300, 0
    merging = Merging(store)
    for number in range(count):
        store.write(CELL, Span(number, number + 1), unit(number))
        merging.wrote(CELL)
        most = max(most, len(store.done(CELL)))
    assert most < 40
    assert len(files(tmp_path)) < 40
    found = pa.concat_tables([table for _, table in store.read(CELL)])
    assert np.array_equal(found["unit"].to_numpy(), np.repeat(np.arange(count), 10))
    assert gaps(store.done(CELL), Span(0, count)) == []
    store.compact(CELL, finished=True)
    assert len(files(tmp_path)) == 1
    assert [row["unit"] for row in stored(store)] == list(np.repeat(np.arange(count), 10))


def test_neighbours_are_merged_only_where_nothing_is_missing_between_them(tmp_path):
    store = folder(tmp_path)
    write(store, [*range(8), *range(9, 40)])
    for finished in (False, True):
        store.compact(CELL, finished=finished)
        assert gaps(store.done(CELL), Span(0, 40)) == [Span(8, 9)]
    assert store.done(CELL) == [Span(0, 8), Span(9, 40)]
    write(store, [8])
    store.compact(CELL, finished=True)
    assert store.done(CELL) == [Span(0, 40)]
    assert [row["unit"] for row in stored(store)] == list(np.repeat(np.arange(40), 10))


def test_units_with_any_number_of_rows_and_some_with_another_table_are_merged_and_read_unit_by_unit(tmp_path):
    memory, disk = MemoryStore(), folder(tmp_path)
    for store in (memory, disk):
        write(store, range(40), with_diagnosis)
    for merged in (False, True):
        for table in ("rows", "images"):
            assert stored(disk, table) == stored(memory, table)
        assert [row["unit"] for row in stored(disk)] == [n for n in range(40) for _ in range(n % 4)]
        assert [row["unit"] for row in stored(disk, "images")] == [n for n in range(40) if n % 3]
        for store, part in itertools.product((memory, disk), (Span(5, 9), Span(3, 4), Span(36, 50), Span(8, 8))):
            told = list(whole_tables(store, CELL, part))
            assert [row["unit"] for _, tables in told for row in tables["rows"].to_pylist()] == [
                n for n in range(part.first, min(part.end, 40)) for _ in range(n % 4)
            ]
            assert gaps([span for span, _ in told], Span(part.first, min(part.end, 40))) == []
        assert len(files(tmp_path)) == (2 if merged else 66)
        disk.compact(CELL, finished=True)


def test_a_cell_without_any_row_is_done(tmp_path):
    store = folder(tmp_path)
    for number in range(20):
        store.write(CELL, Span(number, number + 1), {"rows": pa.table({"unit": [], "row": []})})
    store.compact(CELL, finished=True)
    assert store.done(CELL) == [Span(0, 20)]
    assert folder(tmp_path).verify(CELL) == []
    assert [(span, table.num_rows) for span, table in folder(tmp_path).read(CELL, Span(3, 7))] == [(Span(3, 7), 0)]


def test_only_the_wanted_part_of_a_large_file_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr("brittle.engine.unit_file.ROW_GROUP", 20)
    monkeypatch.setattr("brittle.engine.store.CACHED", 0)
    store = folder(tmp_path)
    write(store, range(30))
    store.compact(CELL, finished=True)
    assert pq.read_metadata(files(tmp_path)[0]).num_row_groups == 15
    seen, read = [], pq.ParquetFile.read_row_groups

    def counted(file, groups):
        seen.append(list(groups))
        return read(file, groups)

    monkeypatch.setattr(pq.ParquetFile, "read_row_groups", counted)
    ((span, table),) = folder(tmp_path).read(CELL, Span(11, 14))
    assert (span, seen) == (Span(11, 14), [[5, 6]])
    assert table["unit"].to_pylist() == list(np.repeat([11, 12, 13], 10))


def test_compaction_leaves_the_numbers_of_a_run_unchanged(things, small_units, monkeypatch):
    small_units(60)
    merged = results(things.study(), things.out)
    assert [path.name for path in things.unit_files("affine")] == ["000000000-000000020.rows.parquet"]
    monkeypatch.setattr(FolderStore, "compact", lambda *_, **__: None)
    single = results(things.study(), things.folder / "single")
    assert len(list((things.folder / "single" / "units").rglob("affine*/*.parquet"))) == 20
    assert merged == single


def test_a_store_in_memory_and_one_in_a_folder_give_the_same_numbers(things):
    assert run(things.study(), None) == run(things.study(), things.out)


def test_both_stores_read_back_what_was_written_in_planned_order(tmp_path):
    for store in (MemoryStore(), folder(tmp_path)):
        write(store, (2, 0, 1))
        assert store.done(CELL) == [Span(0, 1), Span(1, 2), Span(2, 3)]
        assert [table["unit"][0].as_py() for _, table in store.read(CELL)] == [0, 1, 2]
        assert store.done(OTHER) == []


def test_gaps_are_the_parts_that_are_not_done():
    done = [Span(2, 4), Span(4, 5), Span(8, 10)]
    assert gaps(done, Span(0, 12)) == [Span(0, 2), Span(5, 8), Span(10, 12)]
    assert gaps(done, Span(3, 9)) == [Span(5, 8)]
    assert gaps(done, Span(8, 10)) == []
    assert gaps([], Span(3, 4)) == [Span(3, 4)]


# Several writers


@pytest.mark.parametrize("writers", [2, 8])
def test_several_writers_leave_as_few_files_as_one_and_every_row_in_order(tmp_path, writers):
    """Each has a store of its own, as processes have; the driver merges meanwhile, and somebody reads all the time."""
    count, driver, reader = 160, folder(tmp_path), folder(tmp_path)
    merging, lock, read = Merging(driver), threading.Lock(), []

    def work(first: int) -> None:
        store = folder(tmp_path)
        for number in range(first, count, writers):
            store.write(CELL, Span(number, number + 1), unit(number))
            with lock:
                merging.wrote(CELL)

    threads = [threading.Thread(target=work, args=(first,)) for first in range(writers)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        read = [row["unit"] for row in stored(reader)]
        assert read == sorted(read)
    for thread in threads:
        thread.join()
    assert len(files(tmp_path)) < 40
    driver.compact(CELL, finished=True)
    assert len(files(tmp_path)) == 1
    for store in (driver, reader, folder(tmp_path)):
        assert [row["unit"] for row in stored(store)] == list(np.repeat(np.arange(count), 10))
    assert folder(tmp_path).verify(CELL) == []


def test_a_unit_written_twice_is_there_once(tmp_path):
    """A worker that was given up for dead may still commit what another has done again."""
    for _ in range(2):
        write(folder(tmp_path), range(3), with_diagnosis)
    assert [row["unit"] for row in stored(folder(tmp_path))] == [1, 2, 2]


# Kills


class Killed(BaseException):
    """kill -9, seen from inside."""


def killed_after(monkeypatch: pytest.MonkeyPatch, events: int, half: bool) -> None:
    """Nothing happens on the disk after so many commits and removals; the next commit may be half done."""
    commit, remove, left = Disk.commit, Disk.remove, iter(range(events))

    def committed(disk, path, content):
        if next(left, None) is None:
            if half:
                Path(f"{path}.4711.tmp").write_bytes(bytes(content[: len(content) // 2]))
            raise Killed
        commit(disk, path, content)

    def removed(disk, path):
        if next(left, None) is None:
            raise Killed
        remove(disk, path)

    monkeypatch.setattr(Disk, "commit", committed)
    monkeypatch.setattr(Disk, "remove", removed)


@pytest.mark.parametrize("half", [False, True], ids=["before", "halfway"])
def test_a_compaction_killed_at_any_step_loses_and_doubles_nothing(tmp_path, monkeypatch, half):
    """7 units with rows, 4 of them with another table, become 2 files: 2 commits and 11 removals."""
    whole = MemoryStore()
    write(whole, range(7), with_diagnosis)
    wanted = [stored(whole, table) for table in ("rows", "images")]
    for events in range(13):
        place = tmp_path / str(events)
        write(folder(place), range(7), with_diagnosis)
        with monkeypatch.context() as patch:
            killed_after(patch, events, half)
            with pytest.raises(Killed):
                folder(place).compact(CELL, finished=True)
        # Somebody who only reads, such as a report, sees all of it, and so does the next run.
        assert [stored(folder(place), table) for table in ("rows", "images")] == wanted, events
        store = folder(place)
        assert store.verify(CELL) == []
        assert not list(place.rglob("*.tmp"))
        assert [stored(store, table) for table in ("rows", "images")] == wanted, events
        store.compact(CELL, finished=True)
        assert len(files(place)) == 2
        assert [stored(folder(place), table) for table in ("rows", "images")] == wanted, events


@pytest.mark.parametrize("half", [False, True], ids=["before", "halfway"])
def test_a_write_killed_at_any_step_leaves_the_unit_done_or_not_begun(tmp_path, monkeypatch, half):
    tables = unit(1) | {name: rows(1, 2) for name in ("images", "pictures")}
    for events in range(4):
        place = tmp_path / str(events)
        write(folder(place), [0])
        with monkeypatch.context() as patch:
            killed_after(patch, events, half)
            with pytest.raises(Killed) if events < 3 else nullcontext():
                folder(place).write(CELL, Span(1, 2), tables)
        store = folder(place)
        done = [Span(0, 1)] if events < 3 else [Span(0, 1), Span(1, 2)]
        assert store.done(CELL) == done
        assert store.verify(CELL) == []
        assert store.done(CELL) == done
        assert len(files(place)) == (1 if events < 3 else 4)
        store.write(CELL, Span(1, 2), tables)
        assert stored(store, "pictures") == tables["pictures"].to_pylist()


def test_a_verification_killed_at_any_step_can_be_done_again(tmp_path, monkeypatch):
    for events in range(4):
        place = tmp_path / str(events)
        write(folder(place), range(8), with_diagnosis)
        for path in files(place)[:4]:
            path.write_bytes(path.read_bytes()[:-1])
        with monkeypatch.context() as patch:
            killed_after(patch, events, False)
            with pytest.raises(Killed):
                folder(place).verify(CELL)
        store = folder(place)
        store.verify(CELL)
        for gap in gaps(store.done(CELL), Span(0, 8)):
            write(store, range(*gap), with_diagnosis)
        assert [row["unit"] for row in stored(store)] == [n for n in range(8) for _ in range(n % 4)]
        assert [row["unit"] for row in stored(store, "images")] == [n for n in range(8) if n % 3]


# Damage


def test_every_byte_that_turns_is_noticed(tmp_path):
    store = folder(tmp_path)
    store.write(CELL, Span(0, 1), unit(0, 3))
    (path,) = files(tmp_path)
    content = path.read_bytes()
    for place in range(len(content)):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1 << place % 8]) + content[place + 1 :])
        assert folder(tmp_path).verify(CELL) == [str(path)], place
        assert not path.exists()
    for length in range(0, len(content), 40):
        path.write_bytes(content[:length])
        with pytest.raises(BrittleError, match="is damaged") as error:
            stored(folder(tmp_path))
        assert "\n" not in str(error.value)
        assert folder(tmp_path).verify(CELL) == [str(path)], length
    path.write_bytes(content)
    assert folder(tmp_path).verify(CELL) == []


@pytest.mark.parametrize("how", ["lost", "truncated"])
def test_a_unit_whose_second_table_is_gone_is_done_again(tmp_path, how):
    write(folder(tmp_path), range(6), with_diagnosis)
    image = next(path for path in files(tmp_path) if path.name == "000000002-000000003.images.parquet")
    if how == "lost":
        image.unlink()
    else:
        image.write_bytes(b"PAR1")
    store = folder(tmp_path)
    assert image.with_name("000000002-000000003.rows.parquet") in map(Path, store.verify(CELL))
    assert gaps(store.done(CELL), Span(0, 6)) == [Span(2, 3)]


def test_who_only_reads_refuses_a_table_that_is_gone(tmp_path):
    write(folder(tmp_path), range(6), with_diagnosis)
    next(path for path in files(tmp_path) if path.name == "000000002-000000003.images.parquet").unlink()
    with pytest.raises(Failure, match=r"are missing\. Give the run command again") as error:
        stored(folder(tmp_path), "images")
    assert "\n" not in str(error.value)


def test_a_parquet_file_of_somebody_else_is_taken_for_damaged(tmp_path):
    """It has the name that one of ours would have, and is not one."""
    store = folder(tmp_path)
    write(store, range(2))
    path = files(tmp_path)[1]
    pq.write_table(rows(1), path)
    assert folder(tmp_path).verify(CELL) == [str(path)]


@pytest.mark.parametrize("number", [errno.EIO, errno.EACCES, errno.ESTALE])
def test_a_read_error_is_told_in_one_line_and_removes_nothing(tmp_path, monkeypatch, number):
    write(folder(tmp_path), range(4))

    def fails(disk, path):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(Disk, "open", fails)
    for use in (lambda store: store.verify(CELL), stored, lambda store: store.compact(CELL, finished=True)):
        with pytest.raises(Failure, match=f"can't be read: {os.strerror(number)}") as failure:
            use(folder(tmp_path))
        assert "\n" not in str(failure.value)
    assert len(files(tmp_path)) == 4


# What a file says about itself


STRAYS = {
    "another classifier's": (OTHER, Span(0, 1), "rows"),
    "other units'": (CELL, Span(1, 2), "rows"),
    "another table's": (CELL, Span(0, 1), "images"),
}


@pytest.mark.parametrize(("cell", "span", "table"), STRAYS.values(), ids=STRAYS)
@pytest.mark.parametrize("use", [FolderStore.verify, lambda store, _: stored(store)], ids=["verified", "read"])
def test_a_file_that_belongs_elsewhere_is_refused_and_kept(tmp_path, cell, span, table, use):
    store = folder(tmp_path)
    store.write(CELL, Span(0, 1), unit(0))
    store.write(cell, span, unit(span.first) | {"images": rows(span.first, 1)})
    theirs, ours = store._path(cell, span, table), store._path(CELL, Span(0, 1), "rows")
    shutil.copy(theirs, ours)
    with pytest.raises(BrittleError, match=rf"{ours} holds rows of something else \(measure · ") as refusal:
        use(folder(tmp_path), CELL)
    assert "\n" not in str(refusal.value)
    assert Path(ours).read_bytes() == Path(theirs).read_bytes()


def test_a_file_of_a_study_of_other_things_is_refused(tmp_path):
    write(folder(tmp_path, "these"), [0])
    with pytest.raises(BrittleError, match="was computed from other things than this study names"):
        folder(tmp_path, "those").verify(CELL)
    with pytest.raises(BrittleError, match="was computed from other things than this study names"):
        stored(folder(tmp_path, "those"))


def test_rows_copied_from_another_classifier_or_nuisance_stop_the_run_in_one_line(things):
    run(things.study("first", "second"), things.out)
    (ours,) = things.unit_files("affine", "first")
    for theirs in (*things.unit_files("affine", "second"), *things.unit_files("rotation", "first")):
        kept = ours.read_bytes()
        shutil.copy(theirs, ours)
        with pytest.raises(BrittleError, match=f"{ours} holds rows of something else") as refusal:
            run(things.study("first", "second"), things.out)
        assert "\n" not in str(refusal.value)
        ours.write_bytes(kept)
    assert run(things.study("first", "second"), things.out)["measures"]


def test_what_is_not_ours_in_a_cells_folder_stays(tmp_path):
    write(folder(tmp_path), range(3))
    place = files(tmp_path)[0].parent
    mine = [
        place / name for name in ("notes.tmp", "a.parquet", "0-1.rows.parquet", "000000000-000000001.rows.parquet~")
    ]
    for path in mine:
        path.write_text("mine")
    folder(tmp_path).verify(CELL)
    assert all(path.read_text() == "mine" for path in mine)


# Names


def test_names_become_file_names_that_stay_apart():
    names = [
        "affine",
        "affine:alpha=50",
        "affine:alpha=5.0",
        "../up",
        "a/b",
        "a:b",
        "",
        ".",
        "..",
        "x" * 300,
        "x" * 301,
    ]
    safe = [safe_name(name) for name in names]
    assert len(set(safe)) == len(names)
    assert safe[0] == "affine"
    assert not any("=" in name for name in safe)  # pandas takes such a folder for a column
    assert all(name and len(name) < 100 and "/" not in name and name not in (".", "..") for name in safe)


def test_classifiers_whose_names_look_alike_keep_their_rows_apart(things, own):
    specs = things.study("first", "second")["classifiers"]
    study = things.study(classifiers={"a/b": specs["first"], "a:b": specs["second"]})
    together = results(study, things.out)
    for name, spec in study["classifiers"].items():
        alone = results(things.study(classifiers={name: spec}), None)
        assert [own(row) for row in together if row["classifier"] == name] == list(map(own, alone))


SAME = {
    "a hash": ("a/b", safe_name("a/b")),
    "case": ("ResNet", "resnet"),
    "case of what is hashed": ("a/b", safe_name("a/b").upper()),
}


@pytest.mark.parametrize(("first", "second"), SAME.values(), ids=SAME)
@pytest.mark.parametrize("sort", ["classifiers", "images", "nuisances", "measures"])
def test_names_that_would_share_a_folder_are_refused(things, first, second, sort):
    study = things.study()
    entry = next(iter(entries_of(study)[sort].values()))
    changed = {sort: {first: entry, second: entry}}
    if sort == "measures":
        del study["robustness"]
    with pytest.raises(BrittleError, match="would share a folder on some disks") as refusal:
        run(study | changed, things.out)
    assert "\n" not in str(refusal.value)
    assert not (things.out / "units").exists()
    refuse_same_folders([first, "other"], sort)


def entries_of(study):
    return {
        "classifiers": study["classifiers"],
        "images": study["images"],
        "nuisances": dict(zip(study["nuisances"], study["nuisances"], strict=True)),
        "measures": {"robustness": {"kind": "robustness", "samples": 2}},
    }


# A disk that takes no more


@pytest.mark.parametrize(("number", "words"), [(errno.ENOSPC, "the disk is full"), (errno.EACCES, "can't be written")])
def test_a_disk_that_takes_no_more_is_told_in_one_line_and_finished_units_are_kept(
    things, small_units, unmerged, monkeypatch, number, words
):
    small_units(200)
    before = results(things.study(), things.folder / "undisturbed")
    write_bytes, written = Path.write_bytes, []

    def fill_up(path, content):
        write_bytes(path, content)
        written.append(path)
        if len(written) > 5:
            raise OSError(number, "no more")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", fill_up)
        with pytest.raises(Failure, match=words) as failure:
            run(things.study(), things.out)
    assert failure.value.exit_status == 1
    assert str(written[5]).rsplit(".", 2)[0] in str(failure.value), "not the first failure is told"
    assert str(failure.value).count("\n") == 0
    kept = things.unit_files()
    assert len(kept) == 5
    assert not list(things.out.rglob("*.tmp"))
    things.rows()
    assert results(things.study(), things.out) == before
    done = sum(pq.read_metadata(path).num_rows for path in kept)
    assert things.rows() == things.CHECKED + things.IMAGES * 61 - done
