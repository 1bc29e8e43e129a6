"""Paired changes: intervals hold as often as they say, also when looked at again; the number that would tell tells."""

import numpy as np
import pytest

from brittle.statistics.paired_change import ChangeDesign, items_to_tell, mean_change

ALLOW = 0.05


def changes(random, images, drop):
    """Some images were right and are wrong now, a few the other way round."""
    lost, won = random.random(images) < drop + 0.05, random.random(images) < 0.05
    return (won.astype(float) - lost.astype(float))[None]


def test_a_fall_by_exactly_what_is_allowed_raises_few_alarms():
    random, studies = np.random.default_rng(0), 400
    design = ChangeDesign("population", 300)
    alarms = sum(mean_change(changes(random, 300, ALLOW), design, 0.9).high < -ALLOW for _ in range(studies))
    assert alarms / studies <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / studies)
    assert alarms > 0, "or the interval is far too wide"


def test_looking_again_at_more_images_raises_no_more_alarms():
    random, studies = np.random.default_rng(1), 200
    design, looks = ChangeDesign("population", None), (50, 100, 200, 400, 800)
    alarms = 0
    for _ in range(studies):
        every = changes(random, looks[-1], ALLOW)
        alarms += any(mean_change(every[:, :count], design, 0.9).high < -ALLOW for count in looks)
    assert alarms / studies <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / studies)


def test_a_planted_fall_is_seen():
    found = mean_change(changes(np.random.default_rng(2), 1000, 0.2), ChangeDesign("population", 1000), 0.95)
    assert found.high < -ALLOW
    assert found.low < -0.2 < found.high


def test_the_number_that_would_tell_is_where_the_interval_leaves_the_boundary():
    values = changes(np.random.default_rng(3), 100, 0.0)
    design = ChangeDesign("population", 100)
    told = items_to_tell(values, design, 0.95, -ALLOW)
    assert told is not None
    for count, tells in ((told, True), (int(told / 1.1), False)):
        repeated = np.resize(values, (1, count))
        low, high = mean_change(repeated, design._replace(planned=count), 0.95)[1:]
        assert (not low < -ALLOW <= high) == tells


def test_a_change_at_the_boundary_itself_is_never_told():
    values = np.tile([-1.0] + [0.0] * 19, 10)[None]
    assert items_to_tell(values, ChangeDesign("population", 200), 0.95, -0.05) is None


@pytest.mark.parametrize("count", [20, 200])
def test_where_nothing_changes_the_width_falls_as_one_over_the_number(count):
    found = mean_change(np.zeros((1, count)), ChangeDesign("population", count), 0.95)
    assert found.value == 0
    assert found.half_width == pytest.approx(5 / count, rel=0.2)


def test_exactly_these_images_narrow_with_draws_and_not_with_images():
    """Estimand `set`: what varies is θ alone."""
    random = np.random.default_rng(4)
    apart = np.tile(random.choice([-1.0, 1.0], 50), (40, 1))
    assert mean_change(apart, ChangeDesign("set", 40), 0.95).half_width < 0.05
    assert mean_change(apart[:1], ChangeDesign("population", 50), 0.95).half_width > 0.2
