"""The networks and the arithmetic behind papers/urem."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from scipy.optimize import curve_fit
from scipy.stats import t, ttest_1samp
from torch import nn

import brittle

HERE = Path(__file__).parents[2] / "papers" / "urem"


@pytest.fixture
def module(monkeypatch):
    """One of the folder's modules, imported as its scripts import one another."""
    monkeypatch.syspath_prepend(str(HERE))
    before = set(sys.modules)
    yield importlib.import_module
    for name in set(sys.modules) - before:
        if Path(getattr(sys.modules[name], "__file__", None) or "/").parent == HERE:
            del sys.modules[name]


@pytest.mark.parametrize("budget", [20_000, 100_000, 500_000])
@pytest.mark.parametrize("depth", [2, 4, 8])
def test_a_network_has_its_depth_and_nearly_its_parameters(module, depth, budget):
    networks = module("networks")
    made = networks.Plain(depth, budget).module()
    assert sum(isinstance(part, nn.Conv2d) for part in made.modules()) == depth
    assert sum(each.numel() for each in made.parameters()) == pytest.approx(budget, rel=0.025)
    assert made(torch.zeros(2, 1, 28, 28)).shape == (2, 10)


def test_skip_connections_add_what_each_convolution_but_the_first_was_given(module):
    networks = module("networks")
    plain, skipping = (networks.PlainNet(4, 3, 10, skips).eval() for skips in (False, True))
    assert [each.shape for each in plain.parameters()] == [each.shape for each in skipping.parameters()]
    with torch.no_grad():
        for mine, theirs in zip(skipping.parameters(), plain.parameters(), strict=True):
            mine.copy_(theirs)
        images = torch.rand(2, 1, 28, 28)
        layers = [part for part in plain.modules() if isinstance(part, (nn.Conv2d, nn.BatchNorm2d))]
        values = torch.relu(layers[1](layers[0](images)))
        for place in (1, 2, 3):
            values = values + torch.relu(layers[2 * place + 1](layers[2 * place](values)))
            values = nn.functional.max_pool2d(values, 2) if place in (1, 3) else values
        by_hand = plain.classes(nn.functional.avg_pool2d(values, 3, 2).flatten(1))
        assert torch.allclose(skipping(images), by_hand, atol=1e-5)
        assert not torch.allclose(plain(images), by_hand, atol=1e-3)


def test_a_spec_makes_a_network_with_skip_connections(module):
    networks = module("networks")
    wanted = networks.Plain(8, 20_000, skips=True)
    found = brittle.classifier(f"torch:{wanted.factory}").module
    assert [name for name, _ in found.named_parameters()] == [name for name, _ in wanted.module().named_parameters()]
    assert sum(type(part).__name__ == "Skip" for part in found.modules()) == 7


def test_networks_with_skip_connections_are_paired_with_plain_ones(module):
    skips, tables = module("skips"), module("tables")

    def network(accuracy, sigma, size):
        noises = {noise: {1: sigma} for noise in ("path", "fresh")}
        facts = {"classes": (0, 1), "accuracy": accuracy}
        return tables.Network(facts, {1: 0}, frozenset([1]), noises, {}, {0.005: {(1, 1): size}})

    nets = {
        (4, 20, "full", 0): network(0.9, 50.0, 8.0),
        (4, 20, "skip", 0): network(0.92, 53.0, 7.0),
        (4, 20, "skip", 1): network(0.92, 99.0, 7.0),
        (8, 20, "skip", 0): network(0.5, 1.0, 1.0),
    }
    assert skips.pairs(nets, 4) == pytest.approx(np.array([[2.0, 3.0, 3.0, -1.0]]))


def test_a_spec_makes_a_network_of_fewer_classes(module):
    networks = module("networks")
    wanted = networks.Plain(2, 20_000, 3)
    found = brittle.classifier(f"torch:{wanted.factory}")
    assert found.log_probs(torch.zeros(1, 1, 28, 28)).shape == (1, 3)
    assert [each.shape for each in found.module.parameters()] == [each.shape for each in wanted.module().parameters()]


def test_slopes_and_intervals_match_another_least_squares(module):
    tables = module("tables")
    rng = np.random.default_rng(0)
    depth, size = np.repeat([2, 4, 8], 9), np.tile(np.repeat([20_212, 100_310, 499_800], 3), 3)
    outcome = 40 + 5 * np.log2(depth) - 3 * np.log(size) / np.log(5) + rng.normal(0, 2, 27)
    found = tables.regression(depth, size, outcome)

    def line(x, a, b, c):
        return a + b * x[0] + c * x[1]

    best, covariance = curve_fit(line, np.stack([np.log2(depth), np.log(size) / np.log(5)]), outcome)
    away = t.ppf(0.975, 24) * np.sqrt(np.diag(covariance))
    for told, place in ((found.depth, 1), (found.size, 2)):
        assert told == pytest.approx((best[place], best[place] - away[place], best[place] + away[place]), rel=1e-5)


def test_a_mean_difference_has_students_interval(module):
    values = np.asarray([1.0, 2.5, -0.5, 3.0])
    found = module("tables").student(values)
    expected = ttest_1samp(values, 0).confidence_interval(0.95)
    assert found == pytest.approx((values.mean(), expected.low, expected.high))


def test_a_part_is_compared_on_images_and_targets_that_it_shares_with_the_whole(module):
    tables = module("tables")

    def network(right, sigma, linf, classes):
        noises = {"path": sigma, "fresh": {image: 2 * value for image, value in sigma.items()}}
        return tables.Network({"classes": classes}, {}, frozenset(right), noises, {}, {0.005: linf})

    part = network([1, 2], {1: 10.0, 2: 30.0, 3: 99.0}, {(1, 5): 4.0, (2, 5): np.inf, (3, 5): 50.0}, (0, 5))
    whole = network(
        [1, 2, 3, 4],
        {1: 8.0, 2: 20.0, 3: 1.0, 4: 1.0},
        {(1, 5): 1.0, (1, 7): 100.0, (2, 5): 1.0, (3, 5): 1.0},
        tuple(range(10)),
    )
    assert tables.difference(part, whole) == pytest.approx((6.0, 12.0, 3.0))


def test_variants_share_classes_between_training_and_test(module):
    fashion = module("fashion")
    whole = brittle.image_set("sample")
    three = fashion.VARIANTS["three"]
    some = whole.choose(200, seed=3)
    assert three.of(whole, 1).classes == three.of(some, 1).classes
    assert len(three.of(whole, 1).classes) == fashion.Trained(2, 100_000, "three", 1).classes == 3


def test_new_tables_are_joined_to_those_of_an_interrupted_run(module, tmp_path):
    redo = module("redo")
    earlier, out = tmp_path / "earlier", tmp_path / "out"
    earlier.mkdir()
    out.mkdir()
    row = {"depth": [2], "budget": [20_000], "variant": ["full"], "seed": [0]}
    table = pa.table(row | {"variant": pa.array(["full"]).dictionary_encode()})
    pq.write_table(table, earlier / "grid-networks.parquet")
    assert redo.known("grid", earlier) == {redo.fashion.Trained(2, 20_000, "full", 0)}
    redo.write(out, "grid", [{"networks": pa.table(row | {"seed": [1]})}], earlier)
    assert pq.read_table(out / "grid-networks.parquet")["seed"].to_pylist() == [0, 1]


def test_shares_of_a_matrix_are_those_of_what_made_it(module):
    shares = module("tables").shares
    target = np.tile(np.arange(4.0), (4, 1))
    np.fill_diagonal(target, np.nan)
    # Sources alone explain 1/9: without the diagonal, row i has the mean (6 − i) / 3, so 3 Σ((1.5 − i) / 3)² of 15.
    assert shares(target) == pytest.approx((0, 8 / 9), abs=1e-9)
    assert shares(target.T) == pytest.approx((8 / 9, 0), abs=1e-9)
