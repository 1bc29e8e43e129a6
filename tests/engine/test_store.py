"""Finished units on disk: few files however many units, names that can't collide, a full disk told in one line."""

import errno

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from brittle.api import run
from brittle.engine.store import Cell, FolderStore, MemoryStore, gaps, safe_name
from brittle.errors import Failure
from brittle.measures.plan import Span


def results(*arguments, **options):
    return run(*arguments, **options)["measures"]["robustness"]["results"]


CELL = Cell("measure", "classifier", "images", "nuisance")


def unit(number: int, rows: int = 10) -> pa.Table:
    return pa.table({"unit": np.full(rows, number), "row": np.arange(rows)})


def test_many_small_units_become_few_files_with_all_rows_in_order(tmp_path):
    store, count = FolderStore(tmp_path), 600
    most = 0
    for number in range(count):
        store.write(CELL, Span(number, number + 1), unit(number))
        most = max(most, len(store.done(CELL)))
    assert most < 50
    assert len(list(tmp_path.rglob("*.parquet"))) < 50
    rows = pa.concat_tables([table for _, table in store.read(CELL)])
    assert np.array_equal(rows["unit"].to_numpy(), np.repeat(np.arange(count), 10))
    assert gaps(store.done(CELL), Span(0, count)) == []


def test_neighbours_are_merged_only_where_nothing_is_missing_between_them(tmp_path):
    store = FolderStore(tmp_path)
    for number in [*range(8), *range(9, 40)]:
        store.write(CELL, Span(number, number + 1), unit(number))
    assert gaps(store.done(CELL), Span(0, 40)) == [Span(8, 9)]
    store.write(CELL, Span(8, 9), unit(8))
    rows = pa.concat_tables([table for _, table in store.read(CELL)])
    assert np.array_equal(rows["unit"].to_numpy(), np.repeat(np.arange(40), 10))


def test_compaction_leaves_the_numbers_of_a_run_unchanged(things, small_units, monkeypatch):
    small_units(20)
    merged = results(things.study(), things.out)
    assert len(things.unit_files("affine")) < 20
    monkeypatch.setattr("brittle.engine.store.FAN", 10**6)
    single = results(things.study(), things.folder / "single")
    assert len(list((things.folder / "single" / "units").rglob("affine*/*.parquet"))) == 60
    assert merged == single


def test_a_store_in_memory_and_one_in_a_folder_give_the_same_numbers(things):
    assert results(things.study(), None) == results(things.study(), things.out)


def test_both_stores_read_back_what_was_written_in_planned_order(tmp_path):
    for store in (MemoryStore(), FolderStore(tmp_path)):
        for number in (2, 0, 1):
            store.write(CELL, Span(number, number + 1), unit(number))
        assert store.done(CELL) == [Span(0, 1), Span(1, 2), Span(2, 3)]
        assert [table["unit"][0].as_py() for _, table in store.read(CELL)] == [0, 1, 2]
        assert store.done(CELL._replace(nuisance="other")) == []


def test_gaps_are_the_parts_that_are_not_done():
    done = [Span(2, 4), Span(4, 5), Span(8, 10)]
    assert gaps(done, Span(0, 12)) == [Span(0, 2), Span(5, 8), Span(10, 12)]
    assert gaps(done, Span(3, 9)) == [Span(5, 8)]
    assert gaps(done, Span(8, 10)) == []
    assert gaps([], Span(3, 4)) == [Span(3, 4)]


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
    assert all(name and len(name) < 100 and "/" not in name and name not in (".", "..") for name in safe)


def test_classifiers_whose_names_look_alike_keep_their_rows_apart(things, own):
    specs = things.study("first", "second")["classifiers"]
    study = things.study(classifiers={"a/b": specs["first"], "a:b": specs["second"]})
    together = results(study, things.out)
    for name, spec in study["classifiers"].items():
        alone = results(things.study(classifiers={name: spec}), None)
        assert [own(row) for row in together if row["classifier"] == name] == list(map(own, alone))


@pytest.mark.parametrize(("number", "words"), [(errno.ENOSPC, "the disk is full"), (errno.EACCES, "can't be written")])
def test_a_disk_that_takes_no_more_is_told_in_one_line_and_finished_units_are_kept(
    things, small_units, monkeypatch, number, words
):
    small_units(200)
    before = results(things.study(), things.folder / "undisturbed")
    write, written = pq.write_table, []

    def fill_up(table, where, **options):
        write(table, where, **options)
        written.append(where)
        if len(written) > 5:
            raise OSError(number, "no more")

    monkeypatch.setattr(pq, "write_table", fill_up)
    with pytest.raises(Failure, match=words) as failure:
        run(things.study(), things.out)
    monkeypatch.setattr(pq, "write_table", write)
    assert failure.value.exit_status == 1
    assert str(written[5]).rsplit(".", 2)[0] in str(failure.value), "not the first failure is told"
    assert str(failure.value).count("\n") == 0
    kept = things.unit_files()
    assert len(kept) == 5
    assert not list(things.out.rglob("*.tmp"))
    things.rows()
    assert results(things.study(), things.out) == before
    rows = sum(pq.read_metadata(path).num_rows for path in kept)
    assert things.rows() == things.CHECKED + things.IMAGES * 61 - rows
