"""Thresholds and rules of the out-of-class filter, counted out one image at a time."""

import math

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import confusion_matrix

from brittle.errors import BrittleError
from brittle.generation.filter.judged import LabelledScores, choosing, judged, rates, share_of
from brittle.generation.filter.rule import SCORES, fires, kept_paths, removed, threshold, thresholds


@pytest.mark.parametrize("count", [1, 2, 9, 10, 11, 37])
@pytest.mark.parametrize("share", [0.5, 0.9, 1.0])
def test_a_threshold_is_the_lowest_that_removes_the_share(count, share):
    scores = np.random.default_rng(count).normal(size=count)
    found = threshold(scores, share)
    assert (scores <= found).mean() >= share - 1e-12
    lower = max((each for each in scores if each < found), default=-math.inf)
    assert (scores <= lower).mean() < share


def test_thresholds_look_at_out_of_class_images_alone():
    generator = np.random.default_rng(0)
    scores, out = generator.normal(size=(200, 4)), generator.random(200) < 0.3
    limits = thresholds(scores, out, 0.9)
    moved = scores.copy()
    moved[~out] += 5
    assert np.array_equal(limits, thresholds(moved, out, 0.9))
    assert ((scores[out] <= limits).mean(0) >= 0.9).all()


def test_no_out_of_class_label_gives_no_threshold():
    with pytest.raises(BrittleError, match="no labelled image is out of class"):
        thresholds(np.zeros((3, 4)), np.zeros(3, dtype=bool), 0.9)


def test_two_of_four_scores_remove_an_image():
    patterns = np.array([[int(bit) for bit in f"{number:04b}"] for number in range(16)])
    scores, limits = np.where(patterns, 0.2, 0.8), np.full(4, 0.5)
    assert np.array_equal(fires(scores, limits), patterns.astype(bool))
    assert np.array_equal(removed(scores, limits, 2), patterns.sum(1) >= 2)
    assert removed(np.full((1, 4), 0.5), limits, 4).all()  # at its threshold a score fires


def test_a_path_stays_only_whole():
    path = np.array([0, 0, 1, 1, 2])
    gone = np.array([False, True, False, False, True])
    assert kept_paths(path, gone).tolist() == [False, False, True, True, False]
    assert kept_paths(np.empty(0, dtype=np.int64), np.empty(0, dtype=bool)).tolist() == []


def test_rates_are_those_of_a_confusion_matrix():
    generator = np.random.default_rng(1)
    gone, out = generator.random(300) < 0.4, generator.random(300) < 0.3
    found = rates(gone, out, np.arange(300), 0.95, 0)
    (stayed, wrongly), (missed, rightly) = confusion_matrix(out, gone)
    assert found.true_positive.value == pytest.approx(rightly / (rightly + missed))
    assert found.false_positive.value == pytest.approx(wrongly / (wrongly + stayed))
    assert found.accuracy.value == pytest.approx((rightly + stayed) / 300)


def test_an_interval_of_independent_images_is_about_a_binomial_one():
    generator = np.random.default_rng(2)
    gone, out = generator.random(1000) < 0.5, np.ones(1000, dtype=bool)
    found = rates(gone, out, np.arange(1000), 0.95, 0).true_positive
    exact = stats.binomtest(int(gone.sum()), 1000).proportion_ci(method="wilson")
    assert (found.low, found.high) == pytest.approx((exact.low, exact.high), abs=0.005)


def test_images_that_share_a_seed_are_one_piece_of_evidence():
    """Ten equal copies of each image: the interval is that of the originals, and far wider than that of copies."""
    generator = np.random.default_rng(3)
    gone, out, group = generator.random(100) < 0.5, np.ones(100, dtype=bool), np.arange(100)
    once = rates(gone, out, group, 0.95, 0).true_positive
    copied = rates(np.repeat(gone, 10), np.repeat(out, 10), np.repeat(group, 10), 0.95, 0).true_positive
    naive = rates(np.repeat(gone, 10), np.repeat(out, 10), np.arange(1000), 0.95, 0).true_positive
    assert (copied.low, copied.high) == pytest.approx((once.low, once.high), abs=1e-12)
    assert copied.half_width > 2.5 * naive.half_width


def test_a_share_of_which_nothing_was_seen_has_an_exact_interval():
    found = share_of(np.zeros(60, dtype=bool), np.repeat(np.arange(20), 3), 0.95, 0)
    exact = stats.binomtest(0, 20).proportion_ci(method="exact")
    assert (found.value, found.low, found.high) == pytest.approx((0.0, exact.low, exact.high))


def test_the_split_puts_a_group_on_one_side_whatever_others_there_are():
    groups = [f"class{number // 40}/seed{number // 4}" for number in range(400)]
    chosen = choosing(groups, 0.5, 0)
    sides = {
        group: {bool(side) for other, side in zip(groups, chosen, strict=True) if other == group} for group in groups
    }
    assert all(len(side) == 1 for side in sides.values())
    assert 0.35 < chosen.mean() < 0.65
    fewer = choosing(groups[:200], 0.5, 0)
    assert np.array_equal(fewer, chosen[:200])
    assert not np.array_equal(choosing(groups, 0.5, 1), chosen)


def test_labels_that_judge_choose_nothing():
    generator = np.random.default_rng(4)
    part = [LabelledScores(generator.normal(size=(80, 4)), generator.random(80) < 0.4, np.arange(80)) for _ in range(2)]
    limits, filters = judged(part[0], part[1], 0.9, 2, 0.95, 0)
    other = LabelledScores(part[1].scores - 3, ~part[1].out, part[1].group)
    assert np.array_equal(judged(part[0], other, 0.9, 2, 0.95, 0)[0], limits)
    assert [each.name for each in filters] == [
        "text alignment alone", *(f"{name} alone" for name in SCORES[1:]), "2 of 4"
    ]  # fmt: skip
    gone = (part[1].scores <= limits).sum(1) >= 2
    assert filters[-1].judged.accuracy.value == pytest.approx(float((gone == part[1].out).mean()))
    assert all(each.chosen_on.true_positive.value >= 0.9 for each in filters[:-1])
