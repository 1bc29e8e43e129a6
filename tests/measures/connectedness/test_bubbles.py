"""Which pairs are tried: only across components, the nearest first, and never for ever."""

import numpy as np

from brittle.measures.connectedness.bubbles import Bubbles


def worked_through(pieces, tries=5, seed=0):
    """Bubbles of points whose connections are known: those of one piece are connected. Gives the pairs tried too."""
    points = np.random.default_rng(seed).normal(size=(len(pieces), 3))
    bubbles = Bubbles(np.linalg.norm(points[:, None] - points, axis=-1), tries)
    rounds, pairs = [], bubbles.sample(np.arange(len(pieces)))
    while pairs:
        rounds.append(pairs)
        for first, second in pairs:
            (bubbles.join if pieces[first] == pieces[second] else bubbles.failed)(first, second)
        pairs = bubbles.proposals()
    return bubbles, rounds


def test_images_of_one_piece_end_up_in_one_bubble_with_as_few_pairs_as_a_tree_has():
    bubbles, rounds = worked_through(np.zeros(50, dtype=int))
    assert set(bubbles.root.tolist()) == {0}
    assert sum(map(len, rounds)) <= 60
    assert len(rounds) <= 7


def test_pieces_are_told_apart_where_every_pair_is_tried():
    pieces = np.random.default_rng(1).integers(0, 4, 40)
    bubbles, _ = worked_through(pieces, tries=10**6)
    assert np.array_equal(bubbles.root[:, None] == bubbles.root, pieces[:, None] == pieces)


def test_no_pair_is_tried_twice_and_none_within_a_component():
    pieces = np.random.default_rng(2).integers(0, 3, 30)
    bubbles = Bubbles(np.random.default_rng(3).uniform(size=(30, 30)), 10**6)
    bubbles.distances = bubbles.distances + bubbles.distances.T
    tried, pairs = [], bubbles.sample(np.arange(30))
    while pairs:
        assert all(bubbles.apart(*pair) for pair in pairs)
        tried += pairs
        for first, second in pairs:
            (bubbles.join if pieces[first] == pieces[second] else bubbles.failed)(first, second)
        pairs = bubbles.proposals()
    assert len(set(tried)) == len(tried)
    assert all(first < second for first, second in tried)


def test_a_component_rests_after_so_many_pairs_in_vain():
    bubbles, rounds = worked_through(np.arange(60), tries=3)
    assert len(set(bubbles.root.tolist())) == 60
    assert sum(map(len, rounds)) <= 3 * 60 + 30


def test_the_first_pairs_are_neighbours_among_all_images_whichever_of_them_are_there():
    assert Bubbles(np.zeros((7, 7)), 1).sample(np.arange(7)) == [(0, 1), (2, 3), (4, 5)]
    without_1_and_4 = np.array([0, 2, 3, 5, 6, 7])
    assert Bubbles(np.zeros((6, 6)), 1).sample(without_1_and_4) == [(1, 2), (4, 5)]


def test_classes_of_no_image_or_one_have_no_pairs():
    for count in (0, 1):
        bubbles = Bubbles(np.zeros((count, count)), 5)
        assert bubbles.sample(np.arange(count)) == []
        assert bubbles.proposals() == []
