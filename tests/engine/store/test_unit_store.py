"""Finished units on disk: few files however many units and writers, each known to be whole and to belong there, and
nothing lost whenever a process is killed."""

import itertools
import threading

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from engine_runs import run
from small_store import CELL, OTHER, files, folder, results, stored, unit, with_diagnosis, write

from brittle.engine.store.memory_store import MemoryStore
from brittle.engine.store.unit_store import FileMerger, FolderStore, gaps, whole_tables
from brittle.measures.base import draw_column, tabled
from brittle.measures.plan import Span

pytestmark = pytest.mark.warned("is near chance on the untouched images", "has a mean confidence of")


def test_many_small_units_become_few_files_with_all_rows_in_order(tmp_path):
    store, count, most = folder(tmp_path), 300, 0
    merging = FileMerger(store)
    for number in range(count):
        store.write(CELL, Span(number, number + 1), unit(number))
        merging.after_write(CELL)
        most = max(most, len(store.done(CELL)))
    assert most < 40
    assert len(files(tmp_path)) < 40
    found = pa.concat_tables([table for _, table in store.read(CELL)])
    assert np.array_equal(found["unit"].to_numpy(), np.repeat(np.arange(count), 10))
    assert gaps(store.done(CELL), Span(0, count)) == []
    store.compact(CELL, finished=True)
    assert len(files(tmp_path)) == 1
    assert [row["unit"] for row in stored(store)] == list(np.repeat(np.arange(count), 10))


def test_pictures_are_merged_into_files_and_parts_that_fit_into_memory(tmp_path, monkeypatch):
    """A picture is as large as thousands of rows: a whole benchmark in one file could never be merged or read."""
    picture, count = 10_000, 64
    monkeypatch.setattr("brittle.engine.store.merges.LARGEST_BYTES", 10 * picture)
    monkeypatch.setattr("brittle.engine.store.unit_file.GROUP_BYTES", 4 * picture)
    store = folder(tmp_path)
    merging = FileMerger(store)
    for number in range(count):
        units = np.array([number], np.int32)
        content = np.random.default_rng(number).bytes(picture)
        rows, pictures = pa.table({"unit": units}), pa.table({"unit": units, "picture": pa.array([content])})
        store.write(CELL, Span(number, number + 1), {"rows": rows, "pictures": pictures})
        merging.after_write(CELL)
    store.compact(CELL, finished=True)
    assert store.done(CELL) == [Span(first, min(first + 9, count)) for first in range(0, count, 9)]
    large = next(each for each in files(tmp_path) if "000000009-000000018.pictures" in each.name)
    assert pq.read_metadata(large).num_row_groups == 3
    found = [table["picture"].to_pylist() for _, table in store.read(CELL, None, "pictures")]
    wanted = [np.random.default_rng(number).bytes(picture) for number in range(count)]
    assert list(itertools.chain(*found)) == wanted


def test_which_column_numbers_draws_of_the_prior_is_kept_when_files_are_merged(tmp_path):
    store = folder(tmp_path)
    for number in range(40):
        columns = {"unit": np.full(3, number, np.int32), "draw": np.arange(3, dtype=np.int32)}
        store.write(CELL, Span(number, number + 1), tabled(columns, drawn="draw"))
    store.compact(CELL, finished=True)
    assert len(files(tmp_path)) == 1
    for asked in (None, Span(3, 7)):
        schemas = [table.schema for _, table in store.read(CELL, asked)]
        assert [draw_column(schema) for schema in schemas] == ["draw"] * len(schemas) != []


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
    monkeypatch.setattr("brittle.engine.store.unit_file.ROW_GROUP", 20)
    monkeypatch.setattr("brittle.engine.store.checked_files.CACHED", 0)
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


def test_who_reads_a_large_file_bit_by_bit_reads_each_part_of_it_once(tmp_path, monkeypatch):
    monkeypatch.setattr("brittle.engine.store.unit_file.ROW_GROUP", 40)
    store = folder(tmp_path)
    write(store, range(40))
    store.compact(CELL, finished=True)
    seen, read = [], pq.ParquetFile.read_row_groups
    monkeypatch.setattr(
        pq.ParquetFile, "read_row_groups", lambda file, groups: seen.append(list(groups)) or read(file, groups)
    )
    reader = folder(tmp_path)
    found = [part["unit"].combine_chunks() for unit in range(40) for _, part in reader.read(CELL, Span(unit, unit + 1))]
    assert pa.chunked_array(found).to_pylist() == list(np.repeat(np.arange(40), 10))
    assert seen == [[group] for group in range(10)]


def test_compaction_leaves_the_numbers_of_a_run_unchanged(things, small_units, monkeypatch):
    small_units(60)
    merged = results(things.study(), things.out)
    assert [path.name for path in things.unit_files("affine")] == ["000000000-000000020.rows.parquet"]
    monkeypatch.setattr(FolderStore, "compact", lambda *_, **__: None)
    single = results(things.study(), things.folder / "single")
    assert len(list((things.folder / "single" / "units").rglob("affine*/*.parquet"))) == 20
    assert merged == single


def test_a_store_in_memory_and_one_in_a_folder_give_the_same_numbers(things):
    assert run(things.study(), out=None) == run(things.study(), out=things.out)


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


@pytest.mark.parametrize("writers", [2, 8])
def test_several_writers_leave_as_few_files_as_one_and_every_row_in_order(tmp_path, writers):
    """Each has a store of its own, as processes have; the driver merges meanwhile, and somebody reads all the time."""
    count, driver, reader = 160, folder(tmp_path), folder(tmp_path)
    merging, lock, read = FileMerger(driver), threading.Lock(), []

    def work(first: int) -> None:
        store = folder(tmp_path)
        for number in range(first, count, writers):
            store.write(CELL, Span(number, number + 1), unit(number))
            with lock:
                merging.after_write(CELL)

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
