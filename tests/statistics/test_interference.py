"""The DI index by hand, and its chance levels in closed form."""

import itertools
from collections import Counter

import numpy as np
import pytest

from brittle.statistics.interference import (
    WrongAnswers,
    all_to_one,
    bootstrap,
    increases,
    index,
    renamed_at_random,
    unequal_shares,
)


def test_a_small_table_worked_by_hand():
    """Two runs, three classes, shares of all images. Increases × 3: run 1 (0.6, 0.3, 0), run 2 (0.3, 0, 0.3).

    Means (0.45, 0.15, 0.15), so c_max is class 0: shares 2/3 and 1/2, mean 7/12; DI = 7/12 · 0.45."""
    clean = np.array([[0.0, 0.1, 0.2], [0.1, 0.1, 0.0]])
    now = np.array([[0.2, 0.2, 0.1], [0.2, 0.0, 0.1]])
    found = index(increases(now, clean))
    assert found.value == pytest.approx(7 / 12 * 0.45)
    assert (found.top, found.agreeing, found.undefined) == (0, 2, 0)
    assert found.share == pytest.approx(7 / 12)
    assert found.worst == pytest.approx(7 / 12 * 0.6)  # its greatest increase is that of run 1


def test_the_worst_case_may_be_of_another_class_and_is_the_index_itself_for_one_run():
    """Means (0.4, 0.3), but class 1 has 0.6 in one run: shares 0.6 / 1 and 0, times 0.6."""
    found = index(np.array([[0.4, 0.6], [0.4, 0.0]]))
    assert (found.top, found.agreeing) == (0, 1)
    assert found.worst == pytest.approx((0.6 + 0.0) / 2 * 0.6)
    alone = index(np.array([[0.1, 0.3, 0.2]]))
    assert alone.worst == pytest.approx(alone.value)


def test_without_any_increase_it_is_undefined():
    found = index(np.zeros((3, 4)))
    assert found.value is None
    assert found.top is None
    assert found.undefined == 3


def test_a_run_without_increase_counts_for_the_mean_increase_and_not_for_the_share():
    found = index(np.array([[0.4, 0.4], [0.0, 0.0]]))
    assert found.value == pytest.approx(0.5 * 0.2)
    assert found.undefined == 1


def test_errors_spread_evenly_give_a_tenth_of_the_increase_for_ten_classes():
    even = np.full((5, 10), 0.3 / 10)
    assert index(increases(even, np.zeros((5, 10)))).value == pytest.approx(0.3 / 10)


def test_all_errors_of_a_run_to_one_random_class_give_1_4216_of_the_increase():
    """By enumeration: DI = 10·E·E[(m/5)²], m the greatest number of runs that share a class out of ten."""
    expected = np.mean([10 * (max(Counter(each).values()) / 5) ** 2 for each in itertools.product(range(10), repeat=5)])
    assert expected == pytest.approx(1.4216, abs=5e-5)
    wrong, clean = np.full((5, 10), 0.02), np.zeros((5, 10))
    found = all_to_one(wrong, clean, observed=1.0, draws=100_000)
    assert found.mean == pytest.approx(1.4216 * 0.2, rel=0.01)


def answered(labels, clean, said, classes):
    """Labels (M,), clean answers (R, M) and answers (R, M, draws) → what `renamed_at_random` takes."""
    _, images, draws = said.shape
    run, image, _ = np.indices(said.shape)
    wrong = said != labels[:, None]
    keys, counts = np.unique((run * images + image)[wrong] * classes + said[wrong], return_counts=True)
    run, image, given = keys // classes // images, keys // classes % images, keys % classes
    kept = np.sort(np.concatenate([labels[None], clean]).T, 1)
    kept[:, 1:][kept[:, 1:] == kept[:, :-1]] = classes
    before = np.stack([np.bincount(each[each != labels], minlength=classes) / images for each in clean])
    return WrongAnswers(image, run, given, counts / (images * draws), kept), before


def p_value(labels, clean, said, classes, simulations=99, shares=None):
    answers, before = answered(labels, clean, said, classes)
    now = np.zeros_like(before)
    np.add.at(now, (answers.run, answers.given), answers.share)
    value = index(increases(now, before)).value or 0.0
    return renamed_at_random(answers, before, value, simulations, 0, shares).p_value


def others(generator, labels, classes, shape):
    """Wrong answers (…, M, …), every class but the label alike."""
    return (labels + generator.integers(1, classes, shape)) % classes


@pytest.mark.parametrize("draws", ["each draw anew", "all draws alike"])
@pytest.mark.parametrize("clean", ["none", "persisting", "others than under the distortion", "all to class 3"])
def test_where_no_class_attracts_errors_p_values_are_uniform_but_for_ties(clean, draws):
    generator, images, classes, p_values = np.random.default_rng(0), 300, 10, []
    for _ in range(150):
        labels = generator.integers(classes, size=images)
        wrong = generator.random((1, images, 1)) < 0.4
        given = others(generator, labels[:, None], classes, (1, images, 5 if draws == "each draw anew" else 1))
        said = np.where(wrong, np.broadcast_to(given, (1, images, 5)), labels[:, None])
        at_first = generator.random((1, images)) < 0.1
        before = np.broadcast_to(labels, (1, images))
        if clean == "persisting":
            at_first &= wrong[..., 0]
            before = np.where(at_first, said[..., 0], before)
            said = np.where(at_first[..., None], before[..., None], said)
        elif clean == "others than under the distortion":
            before = np.where(at_first, others(generator, labels, classes, (1, images)), before)
        elif clean == "all to class 3":
            before = np.where(at_first, 3, before)
        p_values.append(p_value(labels, before, said, classes))
    assert 0.42 < np.mean(p_values) < 0.65  # counts of errors are often equal
    assert np.mean(np.array(p_values) <= 0.05) < 0.1


def test_of_five_runs_that_err_alike_p_values_are_uniform():
    generator, p_values = np.random.default_rng(1), []
    for _ in range(100):
        labels = np.repeat([0, 1, 2, 3], [250, 20, 20, 10])
        wrong, given = generator.random((1, 300, 1)) < 0.3, others(generator, labels, 4, 300)[:, None]
        said = np.where(np.broadcast_to(wrong, (5, 300, 2)), given, labels[:, None])
        p_values.append(p_value(labels, np.broadcast_to(labels, (5, 300)), said, 4))
    assert 0.4 < np.mean(p_values) < 0.6


def test_answers_that_go_by_how_frequent_classes_are_are_no_more_than_chance_against_the_shares():
    """Of 300 images 200 are of class 0; a classifier that sees nothing says it most of the time."""
    generator, p_values, evenly = np.random.default_rng(1), [], []
    labels = np.repeat([0, 1, 2, 3], [200, 50, 30, 20])
    for _ in range(60):
        said = generator.choice(4, (1, 300, 3), p=[2 / 3, 1 / 6, 0.1, 1 / 15])
        said = np.where(generator.random((1, 300, 1)) < 0.5, said, labels[:, None])
        for found, shares in ((p_values, np.bincount(labels) / 300), (evenly, None)):
            found.append(p_value(labels, labels[None], said, 4, shares=shares))
    assert np.mean(np.array(p_values) <= 0.05) < 0.1
    assert np.mean(np.array(evenly) <= 0.05) > 0.9


def test_equal_answers_of_several_runs_get_one_name():
    """Two runs give an image class 1: renamed by shares, both are class 2, or both class 3."""
    answers = WrongAnswers(np.zeros(2, int), np.arange(2), np.ones(2, int), np.ones(2), np.array([[0]]))
    clean = np.array([[0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 1.0, 0.0]])  # what goes to class 2 is no increase
    found = renamed_at_random(answers, clean, 4.0, 4000, shares=np.array([0.0, 0.0, 0.5, 0.5]))
    assert found.mean == pytest.approx(2.0, abs=0.1)  # 4 or 0; 1 with different names in half of the draws


def test_shares_are_unequal_where_chance_does_not_explain_it():
    """By simulation: equal classes are taken for unequal in 1 % of studies."""
    drawn = np.random.default_rng(0).multinomial(300, np.full(20, 0.05), 2000)
    assert np.mean([unequal_shares(each.astype(float)) is not None for each in drawn]) < 0.02
    found = unequal_shares(np.array([600.0, 200.0, 100.0, 100.0]))
    assert found == pytest.approx([0.6, 0.2, 0.1, 0.1], abs=0.02)
    assert found.sum() == pytest.approx(1)
    assert unequal_shares(np.full(7, 10.0)) is None


def test_draws_of_one_image_add_power_where_they_are_independent():
    """One image in five is wrong in each draw, and a fifth of these errors is drawn to class 7."""
    generator, images, classes, found = np.random.default_rng(2), 300, 10, {}
    for draws in (1, 5):
        p_values = []
        for _ in range(60):
            labels = generator.integers(classes, size=images)
            given = others(generator, labels[:, None], classes, (1, images, draws))
            given = np.where(generator.random(given.shape) < 0.2, 7, given)
            said = np.where(generator.random(given.shape) < 0.2, given, labels[:, None])
            p_values.append(p_value(labels, labels[None], said, classes))
        found[draws] = np.mean(np.array(p_values) <= 0.05)
    assert found[5] > 0.95
    assert found[5] > found[1] + 0.2


def test_a_renaming_keeps_labels_and_clean_errors_and_reaches_all_other_classes():
    """Three classes, one label, no clean error: an answer is itself or the other one, as often. With the other one as a
    clean error there is nothing that it could be renamed to."""
    answers = WrongAnswers(*(np.array([0]) for _ in range(2)), np.array([2]), np.array([1.0]), np.array([[0, 3]]))
    found = renamed_at_random(answers, np.zeros((1, 3)), 3.0, 2000)
    assert found.mean == pytest.approx(3.0)  # always all in one class
    table = np.zeros((1, 3))
    table[0, 1] = 1.0  # class 1 has as many wrong answers untouched: nothing increases where they are renamed to it
    assert renamed_at_random(answers, table, 3.0, 2000).mean == pytest.approx(1.5, abs=0.1)
    kept = answers._replace(kept=np.array([[0, 1]]))
    assert renamed_at_random(kept, table, 3.0, 2000).mean == pytest.approx(3.0)
    for shares, mean in (([0.5, 0.5, 0.0], 0.0), ([0.2, 0.2, 0.6], 3 * 0.75), ([1.0, 0.0, 0.0], 3.0)):
        drawn = renamed_at_random(answers, table, 3.0, 4000, shares=np.array(shares))
        assert drawn.mean == pytest.approx(mean, abs=0.1)


@pytest.mark.parametrize("classes", [10, 1000])
def test_many_answers_take_few_draws(classes):
    generator = np.random.default_rng(0)
    image = np.repeat(np.arange(2000), 5)
    labels = generator.integers(classes, size=2000)
    given = others(generator, labels[image], classes, len(image))
    answers = WrongAnswers(image, np.zeros_like(image), given, np.full(len(image), 1e-4), labels[:, None])
    found = renamed_at_random(answers, np.zeros((1, classes)), 10.0, 200)
    assert found.p_value == 1 / 201


def test_a_planted_class_is_far_above_chance():
    generator, images, classes = np.random.default_rng(3), 2000, 10
    labels = np.arange(images) % classes
    given = np.where(
        generator.random((5, images, 1)) < 0.5, 8, others(generator, labels[:, None], classes, (5, images, 1))
    )
    said = np.where(generator.random((5, images, 1)) < 0.2, given, labels[:, None])
    answers, before = answered(labels, np.broadcast_to(labels, (5, images)), said, classes)
    now = np.zeros_like(before)
    np.add.at(now, (answers.run, answers.given), answers.share)
    found = index(increases(now, before))
    chance = renamed_at_random(answers, before, found.value, 1000)
    assert found.top == 8
    assert found.agreeing == 5
    assert found.value > 3 * chance.high
    assert chance.p_value < 0.001


def test_the_bootstrap_of_equal_runs_is_a_point_and_of_two_runs_is_not_given():
    equal = np.tile([0.4, 0.1, 0.0], (5, 1))
    low, high = bootstrap(equal, 0.95)
    assert low == pytest.approx(high)
    assert bootstrap(equal[:2], 0.95) is None


def test_a_tie_goes_to_the_more_consistent_class_whatever_the_order_of_classes():
    """Both gain 0.3 on average; the first has 0.75 and 0 of a run's increase, the second 0.25 and 1."""
    table = np.array([[0.6, 0.2], [0.0, 0.4]])
    for order in ([0, 1], [1, 0]):
        found = index(table[:, order])
        assert found.value == pytest.approx(0.3 * (0.25 + 1) / 2)
        assert order[found.top] == 1
        assert [order[each] for each in found.tied] == [0]
        assert found.agreeing == 1


def test_rounding_decides_no_tie():
    """0.1 + 0.2 + 0.3 is not 0.3 + 0.2 + 0.1 in floating point."""
    table = np.array([[0.1, 0.3], [0.2, 0.2], [0.3, 0.1]])
    assert table.mean(0)[0] != table.mean(0)[1]
    for each in (table, table[:, ::-1]):
        assert (index(each).top, index(each).tied) == (0, (1,))


def test_a_run_in_which_two_classes_lead_agrees_with_either():
    tied = np.array([[0.3, 0.3], [0.5, 0.1]])
    assert index(tied).agreeing == index(tied[:, ::-1]).agreeing == 2


def test_by_chance_the_top_class_gains_more_than_an_equal_share():
    """By brute force: of 100 errors among ten classes the most frequent class has not 10, but as many as the fullest of
    ten boxes into which 100 balls are thrown. Labels are an eleventh class."""
    boxes = np.random.default_rng(1).integers(10, size=(4000, 100))
    fullest = np.mean([np.bincount(each, minlength=10).max() for each in boxes])
    assert fullest > 14
    answers = WrongAnswers(
        np.arange(100), np.zeros(100, int), np.arange(100) % 10, np.full(100, 1e-3), np.full((100, 1), 10)
    )
    found = renamed_at_random(answers, np.zeros((1, 11)), observed=1.0, draws=4000)
    assert 1000 * found.increase / 11 == pytest.approx(fullest, rel=0.01)
