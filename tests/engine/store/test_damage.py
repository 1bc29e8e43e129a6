"""Files that are damaged, belong elsewhere, or can't be read or written are noticed and reported."""

import errno
import os
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from engine_runs import run
from small_store import CELL, OTHER, files, folder, results, rows, stored, unit, with_diagnosis, write

from brittle.engine.store.filesystem import Filesystem
from brittle.engine.store.unit_store import FolderStore, gaps
from brittle.errors import BrittleError, Failure
from brittle.measures.plan import Span


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

    monkeypatch.setattr(Filesystem, "open", fails)
    for use in (lambda store: store.verify(CELL), stored, lambda store: store.compact(CELL, finished=True)):
        with pytest.raises(Failure, match=f"can't be read: {os.strerror(number)}") as failure:
            use(folder(tmp_path))
        assert "\n" not in str(failure.value)
    assert len(files(tmp_path)) == 4


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
    with pytest.raises(BrittleError, match=rf"{ours} holds rows of another measure or study \(measure · ") as refusal:
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
    run(things.study("first", "second"), out=things.out)
    (ours,) = things.unit_files("affine", "first")
    for theirs in (*things.unit_files("affine", "second"), *things.unit_files("rotation", "first")):
        kept = ours.read_bytes()
        shutil.copy(theirs, ours)
        with pytest.raises(BrittleError, match=f"{ours} holds rows of another measure or study") as refusal:
            run(things.study("first", "second"), out=things.out)
        assert "\n" not in str(refusal.value)
        ours.write_bytes(kept)
    assert run(things.study("first", "second"), out=things.out)["measures"]


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


@pytest.mark.parametrize(("number", "words"), [(errno.ENOSPC, "the disk is full"), (errno.EACCES, "can't be written")])
def test_a_disk_that_takes_no_more_is_told_in_one_line_and_finished_units_are_kept(
    things, small_units, unmerged, monkeypatch, number, words
):
    small_units(200)
    before = results(things.study(), things.folder / "undisturbed")
    write_bytes, written = Path.write_bytes, []

    def fill_up(path, content):
        write_bytes(path, content)
        if ".parquet." in path.name:
            written.append(path)
        if len(written) > 5:
            raise OSError(number, "no more")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", fill_up)
        with pytest.raises(Failure, match=words) as failure:
            run(things.study(), out=things.out)
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
