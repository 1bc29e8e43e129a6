"""Which files become one: the same as if one run of neighbours at a time were looked for, and found in one pass."""

import bisect
import itertools
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
    while run := (first_run_when_finished if finished else first_run)(files):
        found.append([each.span for each in run])
        place = files.index(run[0])
        whole = Span(run[0].span.first, run[-1].span.end)
        files[place : place + len(run)] = [merges.SizedSpan(whole, rows_of(run))]
    return found


def rows_of(files):
    return sum(each.rows for each in files)


def first_run_when_finished(files):
    run = []
    for file in files:
        if run and (run[-1].span.end != file.span.first or rows_of(run) + file.rows > merges.LARGEST):
            if len(run) > 1:
                break
            run = []
        run.append(file)
    return run if len(run) > 1 else []


def first_run(files):
    """By place: where the run of each file begins, and how many of its size it has."""
    begins, counts = [], []
    sizes = [merges._size_class(each.rows) for each in files]
    for place, file in enumerate(files):
        begin, count = place, 1
        alike = [before for before in range(place) if sizes[before] >= sizes[place]]
        last = alike[-1] if alike else 0
        between = files[last : place + 1]
        touching = all(one.span.end == other.span.first for one, other in itertools.pairwise(between))
        goes_on = bool(alike) and touching and sizes[last] == sizes[place]
        if goes_on and rows_of(files[begins[last] : place]) + file.rows <= merges.LARGEST:
            begin, count = begins[last], counts[last] + 1
        begins.append(begin)
        counts.append(count)
        if count == merges.FAN:
            return files[begin : place + 1]
    return []


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


def test_files_stay_few_in_whatever_order_pieces_end():
    """20 workers' pieces at random: files between larger ones are not left over, however many pieces there are."""
    most = []
    for pieces in (2000, 8000):
        draw, files, doing, pieces_left = random.Random(0), [], [], iter(range(pieces))
        counts = []
        for done in range(pieces):
            doing += itertools.islice(pieces_left, 20 - len(doing))
            piece = doing.pop(draw.randrange(len(doing)))
            bisect.insort(files, merges.SizedSpan(Span(piece, piece + 1), 850))
            if done % 16 == 0:
                for run in list(merges.by_size(files)):
                    place = bisect.bisect_left(files, (Span(run[0].first, 0), 0))
                    parts = files[place : place + len(run)]
                    whole = Span(run[0].first, run[-1].end)
                    files[place : place + len(run)] = [merges.SizedSpan(whole, rows_of(parts))]
            counts.append(len(files))
        most.append(max(counts))
    assert most[1] < 1.5 * most[0]


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
