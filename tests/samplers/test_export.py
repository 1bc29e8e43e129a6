"""Draws as ArviZ sees them."""

import sys

import numpy as np
import pytest
import torch

from brittle.errors import BrittleError, MissingPackage
from brittle.samplers.diagnostics import bulk_ess, split_rhat, tail_ess
from brittle.samplers.export import to_arviz

B, CHAINS, DRAWS = 2, 4, 50
NAMES = ["shift x", "shift y", "angle"]


@pytest.fixture
def theta():
    return torch.from_numpy(np.random.default_rng(1).standard_normal((B, CHAINS, DRAWS, 3)))


def test_without_arviz_the_command_to_install_it_is_given(monkeypatch, theta):
    monkeypatch.setitem(sys.modules, "arviz", None)
    with pytest.raises(MissingPackage, match=r"pip install .*\[arviz\]'"):
        to_arviz(theta, NAMES, [7, 9])


def test_arviz_finds_each_draw_by_image_and_parameter(theta):
    pytest.importorskip("arviz")
    seen = -theta.abs().sum(-1)
    told = to_arviz(theta, NAMES, torch.tensor([7, 9]), log_likelihood=seen, accepted=seen > -1)
    assert told.posterior["theta"].dims == ("chain", "draw", "image", "parameter")
    one = {"image": 9, "chain": 2, "draw": 30}
    assert float(told.posterior["theta"].sel(parameter="shift y", **one)) == theta[1, 2, 30, 1]
    assert float(told.sample_stats["log_not_label"].sel(**one)) == seen[1, 2, 30]
    assert bool(told.sample_stats["accepted"].sel(**one)) == bool(seen[1, 2, 30] > -1)
    assert "log_weight" not in told.sample_stats
    assert told.posterior.attrs["weighted"] == 0


def test_arviz_summarises_the_export_with_names_and_the_same_figures(theta):
    arviz = pytest.importorskip("arviz")
    table = arviz.summary(to_arviz(theta, NAMES, [7, 9]), round_to="none")
    assert list(table.index[:3]) == ["theta[7, shift x]", "theta[7, shift y]", "theta[7, angle]"]
    draws = theta.permute(0, 3, 1, 2).flatten(0, 1)
    np.testing.assert_allclose(table["r_hat"], split_rhat(draws), rtol=1e-8)
    np.testing.assert_allclose(table["ess_bulk"], bulk_ess(draws), rtol=1e-8)
    np.testing.assert_allclose(table["ess_tail"], tail_ess(draws), rtol=1e-8)


def test_a_population_is_one_chain_with_its_weights(theta):
    pytest.importorskip("arviz")
    log_weight = torch.linspace(-3, 0, DRAWS, dtype=torch.float64).repeat(B, 1, 1)
    log_weight[0, 0, 5] = -torch.inf
    told = to_arviz(theta[:, :1], NAMES, [7, 9], log_weight=log_weight)
    assert dict(told.posterior.sizes) == {"chain": 1, "draw": DRAWS, "image": B, "parameter": 3}
    np.testing.assert_array_equal(told.sample_stats["log_weight"].values, log_weight.permute(1, 2, 0))
    assert told.posterior.attrs["weighted"] == 1
    lost = told.posterior["theta"].isnull().values
    assert lost[0, 5, 0].all()
    assert lost.sum() == 3


def test_a_field_is_numbered_and_a_wrong_number_of_names_is_refused(theta):
    pytest.importorskip("arviz")
    told = to_arviz(theta, ["noise"], [7, 9])
    assert list(told.posterior["parameter"].values) == ["noise 1", "noise 2", "noise 3"]
    with pytest.raises(BrittleError, match="θ has 3 numbers, but 2 names"):
        to_arviz(theta, NAMES[:2], [7, 9])
