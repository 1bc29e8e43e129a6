"""Which files become one: the same as if one run of neighbours at a time were looked for, and found in one pass."""

import random

import pytest
from small_store import CELL, folder, write

from brittle.engine.store import merges
from brittle.engine.store.filesystem import Filesystem
from brittle.errors import BrittleError
from brittle.measures.plan import Span


def one_at_a_time(files, finished):
    """The first run from the left, and again from the left once it is one file."""
    files, found = list(files), []
    while run := first_run(files, finished):
        found.append([each.span for each in run])
        place = files.index(run[0])
        whole = Span(run[0].span.first, run[-1].span.end)
        files[place : place + len(run)] = [merges.SizedSpan(whole, sum(each.rows for each in run))]
    return found


def first_run(files, finished):
    run = []
    for file in files:
        goes_on = bool(run) and run[-1].span.end == file.span.first
        goes_on &= sum(each.rows for each in run) + file.rows <= merges.LARGEST
        if not finished and run:
            goes_on &= merges._size_class(run[-1].rows) == merges._size_class(file.rows)
        if not goes_on:
            if finished and len(run) > 1:
                break
            run = []
        run.append(file)
        if not finished and len(run) == merges.FAN:
            break
    return run if len(run) >= (2 if finished else merges.FAN) else []


def made_up(draw):
    at = 0
    for _ in range(draw.randrange(60)):
        at += draw.random() < 0.05
        units = draw.randint(1, 3)
        yield merges.SizedSpan(Span(at, at + units), draw.choice([0, 1, 2, 5, draw.randrange(30)]))
        at += units


def test_one_pass_finds_what_looking_again_after_every_merge_finds(monkeypatch):
    for seed in range(300):
        draw = random.Random(seed)
        monkeypatch.setattr(merges, "FAN", draw.choice([2, 3, 4]))
        monkeypatch.setattr(merges, "LARGEST", draw.choice([20, 100, 10**6]))
        files = list(made_up(draw))
        assert list(merges.by_size(files)) == one_at_a_time(files, False), seed
        assert list(merges.when_finished(files)) == one_at_a_time(files, True), seed


@pytest.mark.parametrize("finished", [False, True])
def test_a_folder_is_listed_as_often_for_many_files_as_for_few(tmp_path, monkeypatch, finished):
    monkeypatch.setattr("brittle.engine.store.merges.FAN", 2)
    names, listed = Filesystem.names, []
    monkeypatch.setattr(Filesystem, "names", lambda disk, path: listed.append(path) or names(disk, path))
    counts = []
    for count in (4, 64):
        store = folder(tmp_path / str(count))
        write(store, range(count))
        listed.clear()
        store.compact(CELL, finished=finished)
        counts.append(len(listed))
        assert store.done(CELL) == [Span(0, count)]
    assert counts[0] == counts[1]


def test_who_may_not_merge_any_more_removes_nothing(tmp_path):
    def lost():
        if len(asked) == 5:
            raise BrittleError("another process has the folder", "Wait.")
        asked.append(1)

    asked = []
    store = folder(tmp_path)
    store._allowed = lost
    write(store, range(40))
    with pytest.raises(BrittleError, match="another process"):
        store.compact(CELL)
    assert store.done(CELL) == [Span(0, 16), *(Span(unit, unit + 1) for unit in range(16, 40))]
    assert folder(tmp_path).verify(CELL) == []
