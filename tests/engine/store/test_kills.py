"""A process that is killed at any moment loses nothing that was stored, and doubles nothing."""

from contextlib import nullcontext
from pathlib import Path

import pytest
from small_store import CELL, files, folder, rows, stored, unit, with_diagnosis, write

from brittle.engine.store.filesystem import Filesystem
from brittle.engine.store.memory_store import MemoryStore
from brittle.engine.store.unit_store import gaps
from brittle.measures.plan import Span


class Killed(BaseException):
    """kill -9, seen from inside."""


def killed_after(monkeypatch: pytest.MonkeyPatch, events: int, half: bool) -> None:
    """Nothing happens on the disk after so many commits and removals; the next commit may be half done."""
    commit, remove, left = Filesystem.commit, Filesystem.remove, iter(range(events))

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

    monkeypatch.setattr(Filesystem, "commit", committed)
    monkeypatch.setattr(Filesystem, "remove", removed)


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
def test_a_merge_by_size_killed_at_any_step_loses_and_doubles_nothing(tmp_path, monkeypatch, half):
    """Twice 4 files become 2 and then 1, since merged files are merged again: 6 commits and 12 removals."""
    monkeypatch.setattr("brittle.engine.store.merges.FAN", 2)
    whole, killed = MemoryStore(), 0
    numbers = [*range(4, 8), *range(12, 16)]
    write(whole, numbers)
    wanted = stored(whole)
    for events in range(100):
        place = tmp_path / str(events)
        write(folder(place), numbers)
        with monkeypatch.context() as patch:
            killed_after(patch, events, half)
            try:
                folder(place).compact(CELL)
                break
            except Killed:
                killed += 1
        store = folder(place)
        assert stored(store) == wanted, events
        assert store.verify(CELL) == []
        store.compact(CELL)
        assert store.done(CELL) == [Span(4, 8), Span(12, 16)]
        assert stored(folder(place)) == wanted, events
    assert killed == 6 + 12


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
