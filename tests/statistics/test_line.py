"""Lines against scipy, partial correlation against its closed form and a regression, gains by leaving out by hand."""

import numpy as np
import pytest
from scipy import stats

from brittle.statistics.line import gains, line, partial, probit


@pytest.fixture
def models():
    random = np.random.default_rng(5)
    x = random.uniform(0.6, 0.9, 12)
    return x, 1.4 * x - 0.5 + 0.03 * random.standard_normal(12), random.lognormal(3, 1, 12)


def test_slope_correlation_and_p_value_are_scipys(models):
    x, y, _ = models
    found, expected = line(x, y), stats.linregress(x, y)
    told = found.points, found.slope.value, found.intercept, found.correlation.value, found.p_value
    assert told == pytest.approx((12, expected.slope, expected.intercept, expected.rvalue, expected.pvalue), rel=1e-9)
    reach = stats.t.ppf(0.975, 10) * expected.stderr
    assert found.slope.interval == pytest.approx((expected.slope - reach, expected.slope + reach))
    own = stats.pearsonr(x, y).confidence_interval(0.95)
    assert found.correlation.interval == pytest.approx((own.low, own.high))


def test_partial_correlation_is_the_closed_form_from_three_correlations(models):
    """(r_ay − r_ax r_yx) / √((1 − r_ax²)(1 − r_yx²)), with t on n − 3 degrees of freedom."""
    x, y, a = models
    ay, ax, yx = (stats.pearsonr(*both).statistic for both in ((a, y), (a, x), (y, x)))
    expected = (ay - ax * yx) / np.sqrt((1 - ax**2) * (1 - yx**2))
    found = partial(a, y, x)
    assert found.correlation.value == pytest.approx(expected)
    statistic = expected * np.sqrt(9 / (1 - expected**2))
    assert found.p_value == pytest.approx(2 * stats.t.sf(abs(statistic), 9))


def test_partial_correlation_agrees_with_a_regression_on_both(models):
    """The t of an attribute in y ~ x + attribute is that of the partial correlation."""
    x, y, a = models
    design = np.stack([np.ones(12), x, a], 1)
    weights, rest, *_ = np.linalg.lstsq(design, y)
    variance = rest[0] / 9 * np.linalg.inv(design.T @ design)[2, 2]
    assert partial(a, y, x).p_value == pytest.approx(2 * stats.t.sf(abs(weights[2]) / np.sqrt(variance), 9))


def test_five_models_leave_two_degrees_of_freedom_so_that_minus_0_358_means_nothing():
    r = -0.358
    expected = 2 * stats.t.sf(abs(r) * np.sqrt(2 / (1 - r * r)), 2)
    assert expected == pytest.approx(0.642, abs=5e-4)
    # Five points with that partial correlation: residuals on x in a plane, at the angle whose cosine it is.
    x = np.array([-2.0, -1, 0, 1, 2])
    u, v = np.array([2.0, -1, -2, -1, 2]), np.array([-1.0, 2, 0, -2, 1])  # orthogonal to 1, to x and to each other
    u, v = u / np.linalg.norm(u), v / np.linalg.norm(v)
    found = partial(u + x, r * u + np.sqrt(1 - r * r) * v + 3 * x, x)
    assert found.correlation.value == pytest.approx(r)
    assert found.p_value == pytest.approx(expected)


def test_a_confounded_attribute_has_no_partial_correlation():
    x = np.linspace(0.5, 0.9, 8)
    assert partial(3 * x + 1, x**2, x).correlation.interval is None


def test_gains_leave_the_model_itself_out(models):
    x, y, _ = models
    baseline = np.arange(12) < 9
    found = gains(x, y, baseline)
    for place in (2, 11):
        others = baseline & (np.arange(12) != place)
        fitted = stats.linregress(x[others], y[others])
        assert found.gain[place] == pytest.approx(y[place] - fitted.slope.value * x[place] - fitted.intercept)


def test_intervals_of_gains_hold_a_new_model_on_the_line_as_often_as_they_say():
    """Prediction intervals of 90 %, 600 of them, from six models each: Binomial(600, 0.9) is 515 to 563 in 99.9 %."""
    random = np.random.default_rng(2)
    held = 0
    for _ in range(600):
        x = random.uniform(0.5, 0.9, 7)
        found = gains(x, 0.8 * x + 0.05 * random.standard_normal(7), np.arange(7) < 6, 0.9)
        held += found.low[6] <= 0 <= found.high[6]
    assert 515 <= held <= 563


def test_fewer_than_three_others_leave_no_gain():
    found = gains(np.array([0.5, 0.6, 0.7]), np.array([0.1, 0.2, 0.3]), np.ones(3, bool))
    assert np.isnan(found.gain).all()


def test_probit_is_finite_at_both_ends():
    assert probit(np.array([0.0, 0.5, 1.0]), 100) == pytest.approx([stats.norm.ppf(0.005), 0, stats.norm.ppf(0.995)])


def test_what_does_not_vary_has_no_line():
    assert line(np.full(6, 0.7), np.linspace(0, 1, 6)).slope.interval is None
    assert line(np.linspace(0, 1, 6), np.full(6, 0.7)).correlation.interval is None
