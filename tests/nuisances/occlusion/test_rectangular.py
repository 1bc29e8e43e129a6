import itertools
import math

import numpy as np
import pytest
import scipy.stats
import torch

from brittle.errors import BrittleError
from brittle.nuisances import nuisance, nuisances
from brittle.nuisances.ops.rectangles import union_area
from brittle.random import draw_keys, normal, uniform
from brittle.types import Batch

HEIGHT, WIDTH = 4, 5


def blank(count: int = 1, height: int = HEIGHT, width: int = WIDTH) -> Batch:
    images = torch.ones(count, 1, height, width, dtype=torch.float64)
    return Batch(images, torch.zeros(count, dtype=torch.int64), torch.arange(count))


def draws(space, batch: Batch, count: int) -> torch.Tensor:
    return space.sample(batch, draw_keys(3, "occlusion", batch.ids, torch.arange(count)))


def every_rectangle() -> np.ndarray:
    """All (left, top, right, bottom) with ordered corners inside the image."""
    across = itertools.combinations(range(WIDTH + 1), 2)
    down = itertools.combinations(range(HEIGHT + 1), 2)
    return np.array([(x0, y0, x1, y1) for (x0, x1), (y0, y1) in itertools.product(across, down)], dtype=float)


def pixels_of(rectangle: np.ndarray) -> np.ndarray:
    picture = np.zeros((HEIGHT, WIDTH), dtype=bool)
    x0, y0, x1, y1 = rectangle.astype(int)
    picture[y0:y1, x0:x1] = True
    return picture.ravel()


def fits(drawn: torch.Tensor, states: np.ndarray, probabilities: np.ndarray) -> float:
    """p-value of χ² between draws (n, d) and enumerated states (m, d), rare states taken together."""
    radix = (max(HEIGHT, WIDTH) + 1) ** np.arange(states.shape[1])
    codes = states @ radix
    order = np.argsort(codes)
    found = np.searchsorted(codes[order], drawn.numpy() @ radix)
    assert (codes[order][found] == drawn.numpy() @ radix).all(), "a draw outside the support"
    observed = np.zeros(len(states))
    np.add.at(observed, order[found], 1)
    expected = probabilities * len(drawn)
    rare = expected < 10
    observed, expected = (np.append(each[~rare], each[rare].sum()) for each in (observed, expected))
    keep = expected > 0
    return float(scipy.stats.chisquare(observed[keep], expected[keep]).pvalue)


@pytest.mark.parametrize("spec", ["occlusion", "occlusion:scale=0.2", "occlusion:sigma=2", "occlusion:sigma=2000"])
def test_one_rectangle_is_drawn_as_enumeration_says(spec):
    space, batch, states = nuisances.build(spec), blank(), every_rectangle()
    assert len(states) == 15 * 10
    s = {"occlusion": 1.0, "occlusion:scale=0.2": 4.0, "occlusion:sigma=2": 4.0, "occlusion:sigma=2000": 4e6}[spec]
    weights = np.exp(-np.array([pixels_of(each).sum() for each in states]) / s)
    assert fits(draws(space, batch, 60_000)[0], states, weights / weights.sum()) > 1e-3
    density = space.log_prior(torch.from_numpy(states)[None], batch)[0].exp().numpy()
    np.testing.assert_allclose(density, weights / weights.sum(), rtol=1e-9)


@pytest.mark.parametrize("scale", [0.05, 0.3, 20.0])
def test_two_rectangles_are_drawn_as_enumeration_says_with_their_overlap_counted_once(scale):
    space, batch, single = nuisance("occlusion", rectangles=2, scale=scale), blank(), every_rectangle()
    covers = np.stack([pixels_of(each) for each in single])
    union = (covers[:, None] | covers[None]).sum(-1).ravel()
    states = np.concatenate((np.repeat(single, len(single), 0), np.tile(single, (len(single), 1))), 1)
    weights = np.exp(-union / (scale * HEIGHT * WIDTH))
    drawn = draws(space, batch, 300_000)[0]
    assert fits(drawn, states, weights / weights.sum()) > 1e-3
    assert fits(drawn.roll(4, -1), states, weights / weights.sum()) > 1e-3
    density = space.log_prior(torch.from_numpy(states)[None], batch)[0].exp().numpy()
    np.testing.assert_allclose(density, weights / weights.sum(), rtol=0.02)


def test_three_rectangles_hide_as_much_as_enumeration_says():
    """All 150³ triples, by their union: the law of the number of hidden pixels."""
    single = every_rectangle()
    masks = np.stack([pixels_of(each) for each in single]) @ (1 << np.arange(HEIGHT * WIDTH))
    bits = np.zeros(1, dtype=int)
    for _ in range(HEIGHT * WIDTH):
        bits = np.concatenate((bits, bits + 1))
    pairs = (masks[:, None] | masks[None]).ravel()
    counts = np.zeros(HEIGHT * WIDTH + 1)
    for mask in masks:
        counts += np.bincount(bits[pairs | mask], minlength=HEIGHT * WIDTH + 1)
    expected = counts * np.exp(-np.arange(HEIGHT * WIDTH + 1) / 3.0)
    expected /= expected.sum()
    space, batch = nuisance("occlusion", rectangles=3, scale=0.15), blank()
    drawn = union_area(draws(space, batch, 40_000)[0].view(-1, 3, 4))
    observed = np.bincount(drawn.long().numpy(), minlength=HEIGHT * WIDTH + 1)
    keep = expected > 0
    assert scipy.stats.chisquare(observed[keep], 40_000 * expected[keep]).pvalue > 1e-3


@pytest.mark.parametrize("rectangles", [1, 2, 3, 5])
def test_the_union_is_the_number_of_pixels_that_turn_black(rectangles):
    batch = blank(200, 13, 17)
    space = nuisance("occlusion", rectangles=rectangles, scale=1.0)
    theta = draws(space, batch, 1)[:, 0]
    hidden = (space.apply(batch, theta) == 0).sum((1, 2, 3))
    assert torch.equal(union_area(theta.view(200, rectangles, 4)).long(), hidden)


def test_a_rectangle_hides_from_its_first_corner_up_to_its_second():
    batch = blank(1, 6, 9)
    expected = torch.ones(6, 9, dtype=torch.float64)
    expected[1:4, 2:7] = 0
    shown = nuisance("occlusion").apply(batch, torch.tensor([[2.0, 1.0, 7.0, 4.0]], dtype=torch.float64))
    assert torch.equal(shown[0, 0], expected)


def test_a_real_corner_stands_for_the_nearest_whole_one():
    space, batch = nuisance("occlusion", rectangles=2), blank(1, 12, 15)
    whole = draws(space, batch, 200)
    jitter = 0.98 * (torch.rand(whole.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64) - 0.5)
    torch.testing.assert_close(space.log_prior(whole + jitter, batch), space.log_prior(whole, batch))
    assert torch.equal(space.hidden((whole + jitter)[0], 12, 15), space.hidden(whole[0], 12, 15))


@pytest.mark.parametrize(
    "corners", [(-1, 0, 2, 2), (0, -1, 2, 2), (0, 0, 6, 2), (0, 0, 2, 5), (2, 0, 2, 2), (3, 0, 2, 2), (0, 0, 0, 0)]
)
def test_outside_the_support_there_is_no_density(corners):
    density = nuisance("occlusion").log_prior(torch.tensor([[corners]], dtype=torch.float64), blank())
    assert density.item() == -math.inf


def test_metropolis_with_pixel_proposals_finds_the_prior_again():
    """Issue 4 walks on θ with Gaussian steps in pixels: the stationary mean area must be that of exact draws."""
    space, batch = nuisance("occlusion", rectangles=2, scale=0.1), blank(400, 12, 14)
    theta = draws(space, batch, 1)
    density = space.log_prior(theta, batch)
    keys = draw_keys(9, "walk", batch.ids, torch.arange(150))
    for step in range(150):
        proposal = theta + 2 * normal(keys[:, step : step + 1], 8)
        proposed = space.log_prior(proposal, batch)
        accept = uniform(keys[:, step : step + 1] + 1, 1)[..., 0].log() < proposed - density
        theta, density = torch.where(accept[..., None], proposal, theta), torch.where(accept, proposed, density)
    walked = space.hidden(theta[:, 0], 12, 14).sum((1, 2, 3)).double()
    exact = space.hidden(draws(space, blank(1, 12, 14), 4000)[0], 12, 14).sum((1, 2, 3)).double()
    assert abs(walked.mean() - exact.mean()) < 4 * walked.std() / math.sqrt(400)
    assert scipy.stats.ks_2samp(walked.numpy(), exact.numpy()).pvalue > 1e-3


def test_severity_is_the_share_of_the_area_and_masks_are_nested():
    space, batch = nuisance("occlusion", rectangles=3, scale=0.3), blank(50, 96, 128)
    theta = draws(space, batch, 1)[:, 0]
    masks = [space.hidden(space.at(theta, s, batch), 96, 128) for s in (0.0, 0.1, 0.25, 0.5, 0.9, 1.0, 1.5, 2.0, 9.0)]
    for smaller, larger in itertools.pairwise(masks):
        assert (smaller <= larger).all()
    assert not masks[0].any()
    single = nuisance("occlusion")
    corner = torch.tensor([[20.0, 10.0, 100.0, 74.0]], dtype=torch.float64)
    for severity in (0.1, 0.25, 0.5, 1.0):
        grown = single.hidden(single.at(corner, severity, batch), 96, 128).sum().item()
        assert grown == pytest.approx(severity * 80 * 64, rel=0.05)
    everywhere = single.at(corner, torch.tensor([[1.0], [100.0]], dtype=torch.float64), batch)
    assert everywhere.shape == (2, 1, 4)
    assert everywhere[1, 0].tolist() == [0, 0, 128, 96]


def test_the_description_is_the_measured_share():
    for spec in ("occlusion", "occlusion:rectangles=3", "occlusion:sigma=2000"):
        space, batch = nuisances.build(spec), blank(1, 40, 60)
        theta = draws(space, batch, 4000)[0]
        measured = 100 * space.hidden(theta, 40, 60).double().mean().item()
        said = float(space.describe(40, 60).split("hide")[1].split(" ")[1])
        assert said == pytest.approx(measured, rel=0.08)
    assert "nearly flat" in nuisances.build("occlusion:sigma=2000").describe(224, 224)


def test_draws_do_not_depend_on_how_many_proposals_are_tried_at_a_time(monkeypatch):
    space, batch = nuisance("occlusion", rectangles=3), blank(30, 20, 20)
    whole = draws(space, batch, 3)
    monkeypatch.setattr("brittle.nuisances.ops.rectangles.math.ceil", lambda value: 2 * math.floor(value) + 5)
    assert torch.equal(draws(space, batch, 3), whole)


@pytest.mark.parametrize(
    ("spec", "word"),
    [
        ("occlusion:scale=0.1,sigma=3", "both"),
        ("occlusion:scale=0", "above 0"),
        ("occlusion:sigma=-2", "above 0"),
        ("occlusion:rectangles=0", "between 1 and 16"),
    ],
)
def test_a_prior_that_makes_no_sense_is_refused(spec, word):
    with pytest.raises(BrittleError, match=word):
        nuisances.build(spec)


def test_more_rectangles_than_can_be_drawn_are_refused_before_work_starts():
    with pytest.raises(BrittleError, match="fewer rectangles"):
        nuisance("occlusion", rectangles=12, scale=0.01).check((1, 28, 28))
    nuisance("occlusion", rectangles=12, sigma=2000.0).check((1, 28, 28))
