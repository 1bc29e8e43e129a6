"""Paths along a level: by SUNDIALS IDA and by the projected method, against scipy and each other."""

import numpy as np
import pytest
import torch
from scipy.integrate import solve_ivp
from torch import nn

from brittle.classifiers import classifier
from brittle.measures.connectedness.ida import by_ida
from brittle.measures.connectedness.margin import level, log_odds, margin
from brittle.measures.connectedness.projected import FRAMES, PathEnds, projected
from brittle.measures.connectedness.walk import ClassRegion, check_segments

from . import moons

UNTIL = 0.99


def ends_of(net, start, end, label):
    """Pairs of images with what is known of them, and what tells the class."""
    start, end = torch.as_tensor(start), torch.as_tensor(end)
    labels = torch.full((len(start),), label)
    with torch.no_grad():
        said = [net.logits(each) for each in (start, end)]
    odds = [log_odds(each, labels) for each in said]
    inside = ClassRegion(net, labels, 512, lambda _: None)
    return inside, PathEnds(start, end, *odds, margin(said[0], labels))


METHODS = {
    "ida": lambda inside, ends: by_ida(inside, ends, UNTIL, 64, 128, 10.0, frames=True),
    "torch": lambda inside, ends: projected(inside, ends, UNTIL, 64, 128, frames=True),
}


def by_scipy(centres, start, end, times):
    """x' = v − λg with λ from the level's condition, κ = 0, to 1e-10."""
    m_start, m_end = (moons.log_odds(centres, each)[0] for each in (start, end))

    def slope(t, x):
        _, g = moons.log_odds(centres, x)
        v = (end - x) / (1 - t)
        return v - (g @ v - (m_end - m_start)) / (g @ g) * g

    return solve_ivp(slope, (0, times[-1]), start, t_eval=times, rtol=1e-10, atol=1e-12).y.T


@pytest.mark.parametrize("method", METHODS)
def test_a_path_along_a_moon_is_the_one_that_scipy_finds(method):
    start, end = moons.arc(0.05, 0.9, 2) + np.array([[0.01, 0.0], [0.0, 0.02]])
    net = classifier(moons.Bumps(moons.ONE_PIECE))
    inside, ends = ends_of(net, moons.as_images([start]), moons.as_images([end]), 1)
    found = METHODS[method](inside, ends)
    times = np.linspace(0, 1, FRAMES)[:-1]
    expected = by_scipy(moons.ONE_PIECE, *(each.flatten().double().numpy() for each in ends[:2]), times)
    assert found.arrived.tolist() == [True]
    assert np.abs(found.frames[0, :-1].flatten(1).numpy() - expected).max() < 2e-3
    assert torch.equal(found.frames[:, -1], ends.end)


@pytest.mark.parametrize("method", METHODS)
def test_the_log_odds_run_evenly_from_those_of_one_image_to_those_of_the_other(method):
    points = moons.arc(0.1, 0.8, 2) + np.array([[0.0, 0.03], [0.02, 0.0]])
    net = classifier(moons.Bumps(moons.ONE_PIECE))
    inside, ends = ends_of(net, moons.as_images(points[:1]), moons.as_images(points[1:]), 1)
    found = METHODS[method](inside, ends)
    m = [moons.log_odds(moons.ONE_PIECE, each)[0] for each in found.frames[0].flatten(1).double().numpy()]
    assert np.allclose(m, np.linspace(m[0], m[-1], FRAMES), atol=0.02)


@pytest.mark.parametrize("method", METHODS)
def test_between_images_of_a_linear_classifier_the_path_is_straight(method):
    torch.manual_seed(0)
    net = classifier(nn.Sequential(nn.Flatten(), nn.Linear(16, 2)))
    images = torch.rand(40, 1, 4, 4)
    with torch.no_grad():
        images = images[net.logits(images).argmax(1) == 1]
    start, end = images[:3], images[3:6]
    inside, ends = ends_of(net, start, end, 1)
    found = METHODS[method](inside, ends)
    shares = torch.linspace(0, 1, FRAMES).view(1, -1, 1, 1, 1)
    assert torch.allclose(found.frames, torch.lerp(start[:, None], end[:, None], shares), atol=2e-3)


def test_both_methods_find_the_same_paths_between_small_images():
    torch.manual_seed(3)
    module = nn.Sequential(nn.Flatten(), nn.Linear(36, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 3))
    for parameter in module.parameters():
        parameter.data *= 5  # so that levels are curved
    net = classifier(module)
    images = torch.rand(100, 1, 6, 6)
    with torch.no_grad():
        predicted = net.logits(images).argmax(1)
    label = int(predicted.mode().values)
    start, end = images[predicted == label][:16].split(8)
    inside, ends = ends_of(net, start, end, label)
    found = {name: solve(inside, ends) for name, solve in METHODS.items()}
    shares = torch.linspace(0, 1, FRAMES).view(1, -1, 1, 1, 1)
    bent = (found["torch"].frames - torch.lerp(start[:, None], end[:, None], shares)).abs().flatten(1).amax(1)
    apart = (found["ida"].frames - found["torch"].frames).abs().flatten(1).amax(1)
    assert bool((found["ida"].arrived & found["torch"].arrived).all())
    assert float(bent.median()) > 0.02
    assert float(apart.max()) < 0.002
    assert torch.allclose(found["ida"].checked.least, found["torch"].checked.least, atol=0.005)


def test_the_check_of_a_straight_segment_agrees_with_a_much_finer_one():
    points = np.random.default_rng(0).uniform(0.05, 0.95, (200, 2))
    module = moons.Bumps(moons.ONE_PIECE)
    net = classifier(module)
    with torch.no_grad():
        kept = points[(net.logits(torch.from_numpy(moons.as_images(points))).argmax(1) == 1).numpy()]
    kept = kept[: len(kept) // 2 * 2]
    inside, ends = ends_of(net, moons.as_images(kept[::2]), moons.as_images(kept[1::2]), 1)
    found = check_segments(inside, ends.start, ends.end, ends.margin, 128)
    finer = torch.lerp(ends.start[:, None], ends.end[:, None], torch.linspace(0, 1, 4001).view(1, -1, 1, 1, 1))
    with torch.no_grad():
        least = torch.stack([margin(module(each), torch.ones(len(each), dtype=torch.int64)).min() for each in finer])
    assert 0.1 < found.inside.float().mean() < 0.9
    assert torch.equal(found.inside, least > 0)
    stayed = found.inside
    assert torch.allclose(found.least[stayed], least[stayed], atol=1e-3)


def test_a_gap_much_thinner_than_the_spacing_of_points_is_found_where_the_margin_is_least():
    class Dip(nn.Module):
        def forward(self, images):
            x = images.flatten(1)[:, 0]
            inside = (x - 0.503).abs() * 4 - 0.002  # negative on a thousandth of the segment
            return torch.stack((torch.zeros_like(inside), inside), 1)

    net = classifier(Dip())
    inside, ends = ends_of(net, moons.as_images([[0.0, 0.5]]), moons.as_images([[1.0, 0.5]]), 1)
    found = check_segments(inside, ends.start, ends.end, ends.margin, 64)
    assert found.inside.tolist() == [False]


def test_the_gradient_of_the_log_odds_is_that_of_the_closed_form():
    points = np.random.default_rng(1).uniform(0, 1, (50, 2))
    net, images = classifier(moons.Bumps(moons.ONE_PIECE)), torch.from_numpy(moons.as_images(points))
    found = level(net, images, torch.ones(50, dtype=torch.int64))
    expected = [moons.log_odds(moons.ONE_PIECE, each) for each in images.flatten(1).double().numpy()]
    assert np.allclose(found.m, [m for m, _ in expected], rtol=1e-4, atol=1e-3)
    assert np.allclose(found.g.flatten(1), [g for _, g in expected], rtol=1e-3, atol=1e-2)


def test_a_path_out_of_the_range_of_pixels_is_told():
    """A moon whose upper part lies above 1."""
    higher = np.array([0.0, 0.35])
    ends = moons.arc(0.1, 0.9, 2) + higher + np.array([[0.03, 0.0], [0.0, 0.02]])
    net = classifier(moons.Bumps(moons.ONE_PIECE + higher))
    inside, ends = ends_of(net, moons.as_images(ends[:1]), moons.as_images(ends[1:]), 1)
    for solve in METHODS.values():
        found = solve(inside, ends)
        assert found.checked.inside.tolist() == [True]
        assert float(found.checked.outside) == pytest.approx(0.1, abs=0.03)


def test_a_solver_that_fails_says_so_in_its_result_alone(capfd):
    """A level that rises beyond all that a piece of the class reaches can't be followed there."""

    class Peaks(nn.Module):
        def forward(self, images):
            x = images.flatten(1)[:, 0]
            inside = torch.maximum(1 - 200 * (x - 0.2).square(), 9 - 1800 * (x - 0.8).square())
            return torch.stack((torch.zeros_like(inside), inside), 1)

    inside, ends = ends_of(classifier(Peaks()), moons.as_images([[0.21, 0.5]]), moons.as_images([[0.8, 0.5]]), 1)
    found = METHODS["ida"](inside, ends)
    assert found.arrived.tolist() == [False]
    assert capfd.readouterr().out == ""
    assert METHODS["torch"](inside, ends).arrived.tolist() == [False]
