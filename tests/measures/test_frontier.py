"""Where paths end, against a search of each by itself, and how many answers that takes."""

import numpy as np
import pytest

from brittle.measures.frontier import Frontier


def one_by_one(met, valid, halving):
    """Where a path with answers (K,) ends, whether the criterion is met there, and how many answers that took."""
    below, above, count = -1, len(met), 0
    while above - below > 1:
        place = (below + above) // 2 if halving else below + 1
        count += 1
        if not valid[place]:
            return place, bool(met[place]), count
        below, above = (below, place) if met[place] else (place, above)
    return min(above, len(met) - 1), above < len(met), count


def in_batches(met, valid, size, capacity, halving):
    """The same of all paths (n, K) by a frontier, and how many answers each batch was asked for."""
    paths, places = met.shape
    frontier, batches, followed = Frontier(paths, places, size, capacity, halving=halving), [], np.zeros(0, int)
    noted = np.full(paths, -1)
    while not frontier.finished:
        followed = np.concatenate((followed, frontier.admit()))
        assert (frontier.path == followed).all()
        assert len(followed) <= capacity
        looks = frontier.looks()
        assert len(np.unique(looks.path * places + looks.place)) == len(looks.path)
        batches += [min(size, len(looks.path) - start) for start in range(0, len(looks.path), size)]
        whole = followed[looks.path], looks.place
        path, look, kept = frontier.advance(looks, met[whole], valid[whole])
        assert (followed[looks.path[look]] == path).all()
        noted[path] = looks.place[look]
        followed = followed[kept]
    assert (noted == frontier.at).all()
    return frontier.at, frontier.met, batches


@pytest.mark.parametrize("halving", [False, True])
@pytest.mark.parametrize(
    ("paths", "size", "capacity"), [(1, 8, 64), (5, 8, 64), (100, 8, 64), (70, 64, 512), (40, 1, 8)]
)
def test_paths_end_where_each_would_by_itself_also_where_they_come_back_or_end_in_nothing_valid(
    paths, size, capacity, halving
):
    draw = np.random.default_rng(paths * size)
    for places in (1, 2, 20):
        met, valid = draw.random((paths, places)) < 0.15, draw.random((paths, places)) > 0.03
        at, found, _ = in_batches(met, valid, size, capacity, halving)
        expected = [one_by_one(*each, halving) for each in zip(met, valid, strict=True)]
        assert list(zip(at.tolist(), found.tolist(), strict=True)) == [each[:2] for each in expected]


@pytest.mark.parametrize("halving", [False, True])
def test_no_more_is_asked_than_paths_need_but_for_the_last_of_them(halving):
    """100 paths of 20 places, half of which never end, in batches of 8: within 2 % of what each needs by itself."""
    met = np.arange(20) >= np.append(np.full(50, 20), np.arange(50) % 20)[:, None]
    *_, batches = in_batches(met, np.ones_like(met), 8, 64, halving)
    needed = sum(one_by_one(row, np.ones(20, bool), halving)[2] for row in met)
    assert needed <= 8 * len(batches) <= 1.02 * needed


def test_paths_that_never_end_take_no_more_batches_than_their_places_fill():
    for paths in (1, 3, 10, 64, 100):
        met = np.zeros((paths, 20), bool)
        *_, batches = in_batches(met, ~met, 64, 512, halving=False)
        assert len(batches) == -(-paths * 20 // 64)
        assert sum(batches) == paths * 20
