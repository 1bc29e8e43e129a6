"""Searches against exact minima: closed forms for linear classifiers, a convex programme, a mixed-integer one."""

import math

import numpy as np
import pytest
import scipy.optimize
import torch
from torch import nn

from brittle.measures.perturbation.signs import sign_search
from brittle.measures.targeted_search import UNTARGETED, Search, SearchGoal, adam_search

SHARE = 0.9
NEEDED = math.log(9)  # the logit margin of two classes at p = 0.9


def linear(numbers, classes, seed=0, scale=1.0):
    draws = torch.Generator().manual_seed(seed)
    weights = scale * torch.randn(numbers, classes, generator=draws)
    return weights, torch.randn(classes, generator=draws)


def searched(logits, images, origin, target, **options):
    size, bounds = options.pop("size", 16), options.pop("bounds", None)
    goal = SearchGoal(origin, target, SHARE)
    search = Search(len(images), size, lambda pair: images[pair], lambda pair, values: logits(values), goal, bounds)
    return adam_search(search, **{"rate": 0.01, "steps": 2000} | options)


def least_of_two(weights, bias, images, target):
    """(ln 9 − margin) / ‖w_t − w_o‖₁, unclipped."""
    towards = (weights[:, target] - weights[:, 1 - target]).double()
    margin = images.flatten(1).double() @ towards + (bias[target] - bias[1 - target]).double()
    return ((NEEDED - margin) / towards.abs().sum()).clamp(min=0)


@pytest.mark.parametrize("rate", [0.05, 0.002])
def test_adam_finds_the_least_change_of_a_linear_classifier_of_two_classes(rate):
    weights, bias = linear(30, 2, scale=0.3)
    images = torch.rand(40, 1, 5, 6, generator=torch.Generator().manual_seed(1))
    logits = lambda values: values.flatten(1) @ weights + bias  # noqa: E731
    origin = logits(images).argmax(1)
    found = searched(logits, images, origin, 1 - origin, rate=rate)
    least = torch.stack([least_of_two(weights, bias, images[i : i + 1], int(1 - origin[i]))[0] for i in range(40)])
    assert found.reached.all()
    assert (found.linf >= least * (1 - 1e-5)).all()
    assert (found.linf <= least * 1.03).all()
    np.testing.assert_allclose(found.log_p.exp(), SHARE, atol=2e-3 if rate > 0.01 else 1e-4)


@pytest.mark.parametrize("rate", [0.5, 0.05, 0.002])
def test_the_least_change_of_label_is_found_below_a_step(rate):
    """Of two classes at p = ½: margin / ‖w_t − w_o‖₁, whatever the step."""
    weights, bias = linear(30, 2, scale=0.3)
    images = torch.rand(40, 1, 5, 6, generator=torch.Generator().manual_seed(1))
    logits = lambda values: values.flatten(1) @ weights + bias  # noqa: E731
    origin = logits(images).argmax(1)
    found = searched(logits, images, origin, 1 - origin, rate=rate, narrow=True)
    margin = (logits(images)[:, 0] - logits(images)[:, 1]).abs()
    least = margin / (weights[:, 0] - weights[:, 1]).abs().sum()
    assert (found.left >= least * (1 - 1e-4)).all()
    assert (found.left <= least * 1.02 + max(rate, 0.01) / 200).all()
    plain = searched(logits, images, origin, 1 - origin, rate=rate)
    assert torch.equal(found.linf, plain.linf)
    assert torch.equal(found.values, plain.values)
    assert torch.equal(found.log_p, plain.log_p)


def test_adam_is_above_the_convex_optimum_for_more_classes():
    """min ε such that z_t − logsumexp(z_o) reaches ln 9 on |δ| ≤ ε: the margin is concave in δ."""
    weights, bias = linear(12, 4, seed=3)
    images = torch.rand(6, 1, 3, 4, generator=torch.Generator().manual_seed(4))
    logits = lambda values: values.flatten(1) @ weights + bias  # noqa: E731
    origin = logits(images).argmax(1)
    target = (origin + 1) % 4
    found = searched(logits, images, origin, target, rate=0.001)
    exact = [convex_minimum(weights, bias, images[i], int(target[i])) for i in range(6)]
    gap = found.linf.numpy() / np.array(exact)
    assert found.reached.all()
    assert (gap >= 1 - 1e-4).all()
    assert gap.mean() < 2


def convex_minimum(weights, bias, image, target):
    w, x, b = (each.double().numpy() for each in (weights, image.flatten(), bias))
    others = [place for place in range(len(b)) if place != target]

    def lacking(change):
        """−margin, which is convex in the change, and its gradient."""
        z = (x + change) @ w + b
        part = np.exp(z[others] - np.logaddexp.reduce(z[others]))
        return np.logaddexp.reduce(z[others]) - z[target], w[:, others] @ part - w[:, target]

    def excess(epsilon):
        box = [(-epsilon, epsilon)] * len(x)
        found = scipy.optimize.minimize(lacking, np.zeros(len(x)), jac=True, bounds=box, options={"ftol": 1e-13})
        return -found.fun - NEEDED

    return scipy.optimize.brentq(excess, 0, 10, xtol=1e-9)


def test_no_change_is_below_the_exact_minimum_of_a_small_network():
    """Two classes, one hidden layer of ReLU: max margin on the box |δ| ≤ ε is a mixed-integer linear programme."""
    torch.manual_seed(5)
    network = nn.Sequential(nn.Flatten(), nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 2))
    with torch.no_grad():
        for part in network.parameters():
            part.mul_(2.5)
    images = torch.rand(5, 1, 2, 2)
    origin = network(images).argmax(1)
    found = searched(network, images, origin, 1 - origin, rate=0.002, steps=3000)
    exact = np.array([milp_minimum(network, images[i], int(1 - origin[i])) for i in range(5)])
    here = found.reached.numpy()
    assert here.sum() >= 3
    gap = found.linf.numpy()[here] / exact[here]
    assert (gap >= 1 - 1e-4).all()
    assert np.median(gap) < 1.5


def milp_minimum(network, image, target, most=5.0):
    """Variables: δ (4), hidden pre-activations a (6), their ReLU h (6), which are on (6, binary), ε."""
    first, last = network[1], network[3]
    w, b = first.weight.detach().double().numpy(), first.bias.detach().double().numpy()
    v = (last.weight[target] - last.weight[1 - target]).detach().double().numpy()
    c = float((last.bias[target] - last.bias[1 - target]).detach())
    x, hidden, size = image.flatten().double().numpy(), len(b), 4
    span = np.abs(w).sum(1) * most + np.abs(w @ x + b)
    total = size + 3 * hidden + 1
    delta, pre, post, on = (
        slice(*ends)
        for ends in (
            (0, size),
            (size, size + hidden),
            (size + hidden, size + 2 * hidden),
            (size + 2 * hidden, size + 3 * hidden),
        )
    )
    rows, lows, highs = [], [], []

    def add(low, high, **parts):
        row = np.zeros(total)
        for place, value in parts.values():
            row[place] += value
        rows.append(row), lows.append(low), highs.append(high)

    for unit in range(hidden):
        row = np.zeros(total)
        row[delta], row[pre.start + unit] = w[unit], -1
        rows.append(row), lows.append(-(w[unit] @ x + b[unit])), highs.append(-(w[unit] @ x + b[unit]))
        add(0, np.inf, h=(post.start + unit, 1), a=(pre.start + unit, -1))
        add(-np.inf, 0, h=(post.start + unit, 1), s=(on.start + unit, -span[unit]))
        add(-np.inf, span[unit], h=(post.start + unit, 1), a=(pre.start + unit, -1), s=(on.start + unit, span[unit]))
    for pixel in range(size):
        add(0, np.inf, d=(pixel, 1), e=(total - 1, 1))
        add(0, np.inf, d=(pixel, -1), e=(total - 1, 1))
    row = np.zeros(total)
    row[post] = v
    rows.append(row), lows.append(NEEDED - c), highs.append(np.inf)
    low, high = np.full(total, -np.inf), np.full(total, np.inf)
    low[delta], high[delta] = -most, most
    low[post], low[on], high[on] = 0, 0, 1
    whole = np.zeros(total)
    whole[on] = 1
    found = scipy.optimize.milp(
        np.eye(total)[-1], constraints=scipy.optimize.LinearConstraint(np.array(rows), lows, highs),
        bounds=scipy.optimize.Bounds(low, high), integrality=whole, options={"mip_rel_gap": 1e-9},
    )  # fmt: skip
    return found.fun if found.success else np.inf


def test_held_values_stay_in_their_bounds_and_need_at_least_as_much():
    weights, bias = linear(30, 2, scale=0.5)
    images = torch.rand(20, 1, 5, 6, generator=torch.Generator().manual_seed(1))
    logits = lambda values: values.flatten(1) @ weights + bias  # noqa: E731
    origin = logits(images).argmax(1)
    free = searched(logits, images, origin, 1 - origin)
    held = searched(logits, images, origin, 1 - origin, bounds=(0.0, 1.0))
    assert 0 <= float(held.values.min()) < float(held.values.max()) <= 1
    assert (held.linf[held.reached] >= free.linf[held.reached] * (1 - 1e-5)).all()
    np.testing.assert_allclose(held.linf, (held.values - images).flatten(1).abs().amax(1))
    np.testing.assert_allclose(held.l2, (held.values - images).flatten(1).norm(dim=1), rtol=1e-6)


def test_what_can_not_be_reached_is_kept_as_a_failure():
    """A classifier that looks at nothing, and one that is too flat to get there in time."""
    images = torch.rand(3, 1, 2, 2)
    origin, target = torch.zeros(3, dtype=torch.int64), torch.ones(3, dtype=torch.int64)
    blind = searched(
        lambda values: torch.stack((values.sum((1, 2, 3)) * 0 + 1, values.sum((1, 2, 3)) * 0), 1),
        images,
        origin,
        target,
        steps=7,
    )
    assert not blind.reached.any()
    assert blind.calls.tolist() == [8, 8, 8]
    assert blind.linf.tolist() == [0, 0, 0]
    assert torch.isinf(blind.left).all()


def test_an_image_that_is_already_there_needs_no_change():
    images = torch.rand(2, 1, 2, 2)
    there = torch.ones(2, dtype=torch.int64)
    found = searched(
        lambda values: torch.stack((values.sum((1, 2, 3)) * 0, values.sum((1, 2, 3)) * 0 + 5), 1), images, there, there
    )
    assert found.reached.all()
    assert (found.linf.tolist(), found.calls.tolist()) == ([0, 0], [1, 1])


@pytest.mark.parametrize("size", [5, 64])
def test_nothing_found_depends_on_the_batch(size):
    torch.manual_seed(0)
    network = nn.Sequential(nn.Flatten(), nn.Linear(16, 12), nn.ReLU(), nn.Linear(12, 3)).double()
    with torch.no_grad():
        network[1].weight.mul_(8)
    images = torch.rand(14, 1, 4, 4, dtype=torch.float64)
    origin = network(images).argmax(1)
    one = searched(network, images, origin, (origin + 1) % 3, size=1, steps=60, rate=0.03)
    many = searched(network, images, origin, (origin + 1) % 3, size=size, steps=60, rate=0.03)
    assert 0 < one.reached.sum() <= 14
    assert torch.equal(one.reached, many.reached)
    assert torch.equal(one.calls, many.calls)
    np.testing.assert_allclose(one.values, many.values, atol=1e-9)


def test_answers_that_are_not_numbers_are_noticed():
    images = torch.rand(4, 1, 2, 2)
    spoilt = torch.tensor([0.0, 0.0, math.nan, 0.0])
    origin = torch.zeros(4, dtype=torch.int64)

    def answer(pair, values):
        return torch.stack((values.sum((1, 2, 3)), -values.sum((1, 2, 3)) + spoilt[pair]), 1)

    search = Search(4, 2, lambda pair: images[pair], answer, SearchGoal(origin, origin + 1, SHARE))
    found = adam_search(search, rate=0.1, steps=100)
    assert found.finite.tolist() == [True, True, False, True]
    assert found.reached.tolist() == [True, True, False, True]


def sign_searched(logits, images, origin, target, iterations=1, greatest=64.0, bounds=None):
    goal = SearchGoal(origin, target, SHARE)
    search = Search(len(images), 8, lambda pair: images[pair], lambda pair, values: logits(values), goal, bounds)
    return sign_search(search, iterations=iterations, greatest=greatest)


@pytest.mark.parametrize(("iterations", "targeted"), [(1, True), (1, False), (7, True), (7, False)])
def test_sign_methods_are_exact_for_a_linear_classifier_of_two_classes(iterations, targeted):
    """With two classes, leaving one is reaching the other: FGSM, targeted FGSM and I-FGSM are the same."""
    weights, bias = linear(30, 2, scale=0.3)
    images = torch.rand(25, 1, 5, 6, generator=torch.Generator().manual_seed(1))
    logits = lambda values: values.flatten(1) @ weights + bias  # noqa: E731
    origin = logits(images).argmax(1)
    target = 1 - origin if targeted else torch.full_like(origin, UNTARGETED)
    found = sign_searched(logits, images, origin, target, iterations)
    least = torch.stack([least_of_two(weights, bias, images[i : i + 1], int(1 - origin[i]))[0] for i in range(25)])
    assert found.reached.all()
    np.testing.assert_allclose(found.linf, least, rtol=3e-3)
    assert (found.linf >= least * (1 - 1e-5)).all()
    assert torch.equal(found.predicted, 1 - origin)


def test_one_step_takes_the_gradient_at_the_image_and_many_follow_it():
    """z₁ − z₀ = 40·(u − u²) along one pixel: its slope at 0.4 points up, and the top at 0.5 is too low for p = 0.9
    unless other pixels help; a second pixel turns its slope on the way, which only many steps follow."""

    def logits(values):
        u, v = values[:, 0, 0, 0], values[:, 0, 0, 1]
        margin = 8 * u * (v - 0.45) - 2
        return torch.stack((-margin / 2, margin / 2), 1)

    images = torch.tensor([[[[-0.1, 0.6]]]])  # ∂/∂u = 8·0.15 > 0, ∂/∂v = −0.8 < 0, which turns once u > 0
    origin, target = torch.tensor([0]), torch.tensor([1])
    one = sign_searched(logits, images, origin, target, greatest=64.0)
    many = sign_searched(logits, images, origin, target, iterations=50, greatest=64.0)
    assert not one.reached.any()
    assert many.reached.all()


def test_an_epsilon_that_never_reaches_the_goal_is_a_failure():
    images = torch.rand(3, 1, 2, 2)
    origin, target = torch.zeros(3, dtype=torch.int64), torch.ones(3, dtype=torch.int64)
    flat = lambda values: torch.stack((values.sum((1, 2, 3)) * 0.01, -0.01 * values.sum((1, 2, 3))), 1)  # noqa: E731
    found = sign_searched(flat, images, origin, target, greatest=1.0, bounds=(0.0, 1.0))
    assert not found.reached.any()
    assert (found.values >= 0).all()
