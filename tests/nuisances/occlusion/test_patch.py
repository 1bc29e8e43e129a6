import itertools

import numpy as np
import pytest
import scipy.stats
import torch

from brittle.errors import BrittleError
from brittle.nuisances import nuisances
from brittle.random import draw_keys, normal
from brittle.types import Batch


def blank(count: int, height: int, width: int) -> Batch:
    images = torch.ones(count, 1, height, width, dtype=torch.float64)
    return Batch(images, torch.zeros(count, dtype=torch.int64), torch.arange(count))


def thetas(space, batch: Batch) -> torch.Tensor:
    return space.sample(batch, draw_keys(2, "patch", batch.ids, torch.arange(1)))[:, 0]


def sides(mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Width and height of each mask's hidden rectangle."""
    return mask.any(2).sum((1, 2)), mask.any(3).sum((1, 2))


def test_an_exact_share_inside_hides_that_share_of_the_area():
    space, batch = nuisances.build("patch:share=0.3"), blank(300, 100, 160)
    mask = space.hidden(thetas(space, batch), 100, 160)
    assert ((mask.double().mean((1, 2, 3)) - 0.3).abs() < 0.006).all()
    across, down = sides(mask)
    assert torch.equal(across * down, mask.sum((1, 2, 3)))
    assert set(across.tolist()) == {round(0.3**0.5 * 160)}


def test_a_share_of_the_side_is_that_share_of_each_side():
    space, batch = nuisances.build("patch:share=0.3,of=side"), blank(50, 100, 160)
    across, down = sides(space.hidden(thetas(space, batch), 100, 160))
    assert set(across.tolist()) == {48}
    assert set(down.tolist()) == {30}


def test_every_place_inside_is_equally_likely():
    """10×8 pixels and sides of 5×4: 6 × 5 places, each hidden rectangle's corner uniform (χ²)."""
    space, batch = nuisances.build("patch:share=0.5,of=side"), blank(20_000, 8, 10)
    mask = space.hidden(thetas(space, batch), 8, 10)[:, 0]
    left, top = mask.any(1).int().argmax(1), mask.any(2).int().argmax(1)
    counts = np.bincount((top * 6 + left).numpy(), minlength=30)
    assert len(counts) == 30
    assert scipy.stats.chisquare(counts).pvalue > 1e-3


def test_an_overhanging_patch_has_its_centre_anywhere_and_hides_less():
    """E[visible side] for a centre uniform on a side of 1 and a patch of share p ≤ 1: p − p²/4 each way."""
    space, batch = nuisances.build("patch:share=0.6,of=side,place=overhanging"), blank(6000, 50, 50)
    mask = space.hidden(thetas(space, batch), 50, 50)
    assert mask.double().mean().item() == pytest.approx((0.6 - 0.6**2 / 4) ** 2, rel=0.02)
    # Each column is hidden when the centre is within 15 pixels of it: 0.3 at the border, 0.6 in the middle.
    columns = mask.any(2)[:, 0].double().mean(0)
    assert columns[25].item() == pytest.approx(0.6, abs=0.03)
    assert columns[0].item() == pytest.approx(0.3, abs=0.03)


@pytest.mark.parametrize(
    ("spec", "law"),
    [
        ("patch:law=uniform,low=0.7,high=1,place=overhanging", scipy.stats.uniform(0.7, 0.3)),
        ("patch:law=uniform", scipy.stats.uniform(0.1, 0.9)),
        ("patch:law=beta", scipy.stats.beta(2, 1)),
        ("patch:law=beta,a=0.5,b=3", scipy.stats.beta(0.5, 3)),
    ],
)
def test_the_papers_laws_of_the_share(spec, law):
    space, batch = nuisances.build(spec), blank(8000, 4, 4)
    theta = thetas(space, batch)
    assert scipy.stats.kstest(theta[:, 0].numpy(), law.cdf).pvalue > 1e-3
    for place in (1, 2):
        assert scipy.stats.kstest(theta[:, place].numpy(), "uniform").pvalue > 1e-3
    density = space.log_prior(theta[:, None], batch)[:, 0]
    np.testing.assert_allclose(density.numpy(), law.logpdf(theta[:, 0].numpy()), atol=1e-9, rtol=1e-6)
    outside = theta[:1, None] + torch.tensor([0.0, 1.0, 0.0], dtype=torch.float64)
    assert space.log_prior(outside, batch).item() == -np.inf


def test_draws_are_the_push_of_normal_numbers():
    space, batch = nuisances.build("patch:law=beta,fill=noise"), blank(40, 8, 8)
    keys = draw_keys(2, "patch", batch.ids, torch.arange(3))
    pushed = space.push(normal(keys, space.latent(batch)), batch)
    torch.testing.assert_close(space.sample(batch, keys), pushed)


@pytest.mark.parametrize("place", ["inside", "overhanging"])
@pytest.mark.parametrize("of", ["area", "side"])
def test_masks_are_nested_along_the_severity(place, of):
    space, batch = nuisances.build(f"patch:share=0.4,place={place},of={of}"), blank(100, 96, 128)
    theta = thetas(space, batch)
    masks = [space.hidden(space.at(theta, s, batch), 96, 128) for s in (0.0, 0.1, 0.3, 0.7, 1.0, 1.7, 2.5, 1e3)]
    for smaller, larger in itertools.pairwise(masks):
        assert (smaller <= larger).all()
    assert not masks[0].any()
    assert masks[-1].all()


@pytest.mark.parametrize("of", ["area", "side"])
def test_half_the_severity_hides_half_as_much(of):
    space, batch = nuisances.build(f"patch:share=0.4,place=inside,of={of}"), blank(100, 96, 128)
    theta = thetas(space, batch)
    half, whole = (space.hidden(space.at(theta, severity, batch), 96, 128).sum().item() for severity in (0.5, 1.0))
    assert half == pytest.approx(0.5 * whole, rel=0.03)


def test_an_exact_share_has_no_density():
    space, batch = nuisances.build("patch"), blank(2, 8, 8)
    assert space.log_prior(thetas(space, batch)[:, None], batch) is None


@pytest.mark.parametrize(
    ("spec", "word"),
    [
        ("patch:law=uniform,share=0.3", "law=exact"),
        ("patch:low=0.3", "law=uniform"),
        ("patch:law=beta,low=0.2", "law=uniform"),
        ("patch:share=1.2", "at most 1"),
        ("patch:share=0", "above 0"),
        ("patch:law=uniform,low=0.9,high=0.2", "low < high"),
        ("patch:law=beta,a=-1", "above 0"),
    ],
)
def test_a_law_that_makes_no_sense_is_refused(spec, word):
    with pytest.raises(BrittleError, match=word):
        nuisances.build(spec)


@pytest.mark.parametrize("law", ["a=0.02,b=0.02", "a=0.3,b=2", "a=2,b=0.1"])
def test_beta_shares_stay_off_the_ends_where_their_density_is_infinite(law):
    batch = blank(1, 8, 8)
    batch = batch._replace(images=batch.images.float())
    space = nuisances.build(f"patch:law=beta,{law}")
    theta = space.sample(batch, draw_keys(0, "ends", batch.ids, torch.arange(5000)))
    assert ((theta[..., 0] > 0) & (theta[..., 0] < 1)).all()
    assert space.log_prior(theta, batch).isfinite().all()
    theta[:, :2, 0] = torch.tensor([0.0, 1.0])
    assert (space.log_prior(theta[:, :2], batch) == -torch.inf).all()


@pytest.mark.parametrize("options", ["share=0.3", "share=0.001", "share=0.3,of=side"])
def test_the_description_says_the_pixels_that_are_hidden(options):
    space, batch = nuisances.build(f"patch:{options}"), blank(5, 24, 32)
    width, height = sides(space.hidden(thetas(space, batch), 24, 32))
    assert f"{height[0]}×{width[0]} pixels" in space.describe(24, 32)
