"""AUROC against scikit-learn, its interval against simulation, and risk–coverage against every order of ties."""

import itertools

import numpy as np
import pytest
import scipy.stats
from sklearn.metrics import roc_auc_score

from brittle.statistics.selective import auroc, mean_interval, risk_coverage


@pytest.mark.parametrize("ties", [False, True])
def test_auroc_is_that_of_scikit_learn(ties):
    draws = np.random.default_rng(0)
    score, wrong = draws.normal(size=200), draws.random(200) < 0.3
    score = np.round(score - wrong) if ties else score - wrong
    assert auroc(score, wrong).value == pytest.approx(roc_auc_score(~wrong, score), abs=1e-12)


def test_auroc_counts_ties_with_infinite_scores_half():
    found = auroc([np.inf, np.inf, 1.0, 2.0], [False, True, True, False])
    assert found.value == pytest.approx((0.5 + 1 + 0 + 1) / 4)


def test_without_errors_or_right_answers_there_is_no_auroc():
    for wrong in ([False, False], [True, True]):
        assert np.isnan(auroc([1.0, 2.0], wrong)).all()


def test_the_interval_of_auroc_covers():
    """Normal scores shifted by d: AUROC = Φ(d/√2)."""
    draws, covered = np.random.default_rng(1), 0
    truth = scipy.stats.norm.cdf(1 / np.sqrt(2))
    for _ in range(400):
        wrong = np.arange(80) < 15
        low, high = auroc(draws.normal(size=80) + ~wrong, wrong, 0.9).interval
        covered += low <= truth <= high
    assert covered >= 0.9 * 400


def test_the_interval_of_a_mean_of_nothing_but_ones():
    """At mean 1 the relative entropy is −ln θ: the interval begins at (δ/2)^(1/n)."""
    assert mean_interval(1.0, 20, 0.95) == pytest.approx((0.025 ** (1 / 20), 1.0))
    assert mean_interval(0.0, 20, 0.95) == pytest.approx((0.0, 1 - 0.025 ** (1 / 20)))


def test_the_interval_of_a_mean_is_within_hoeffdings():
    for mean, count in itertools.product((0.1, 0.5, 0.93), (3, 50, 2000)):
        low, high = mean_interval(mean, count, 0.95)
        width = np.sqrt(np.log(40) / (2 * count))
        assert mean - width <= low < mean < high <= mean + width


def test_risk_coverage_is_the_mean_over_all_orders_of_ties():
    score, wrong = np.array([3.0, 2, 2, 2, 1, 1]), np.array([0, 1, 0, 0, 1, 1])
    risks = []
    for order in itertools.permutations(range(6)):
        chosen = list(order)
        if (np.diff(score[chosen]) <= 0).all():
            risks.append(wrong[chosen].cumsum() / np.arange(1, 7))
    found = risk_coverage(score, wrong)
    np.testing.assert_allclose(found.risk, np.mean(risks, 0))
    assert found.area == pytest.approx(np.mean(risks))
    assert found.risk[-1] == pytest.approx(0.5)


def test_no_score_has_a_smaller_area_than_one_that_puts_errors_last():
    draws = np.random.default_rng(2)
    wrong = draws.random(50) < 0.2
    best = risk_coverage(-wrong.astype(float) + 1e-3 * draws.random(50), wrong)
    assert best.area == pytest.approx(best.least_area)
    assert risk_coverage(draws.random(50), wrong).area > best.area


def test_images_that_never_broke_score_highest():
    assert risk_coverage([np.inf, 0.1, np.inf, 0.2], [0, 1, 0, 1]).risk.tolist() == [0, 0, 1 / 3, 0.5]
