import itertools
import math

import numpy as np
import pytest
import scipy.stats
import torch

from brittle.errors import BrittleError
from brittle.nuisances import nuisance, nuisances
from brittle.nuisances.noise.shot import poisson_quantile
from brittle.random import draw_keys
from brittle.types import Batch


def batch_of(images: torch.Tensor) -> Batch:
    return Batch(images, torch.zeros(len(images), dtype=torch.int64), torch.arange(len(images)))


def drawn(space, batch, seed=0):
    return space.sample(batch, draw_keys(seed, "noise", batch.ids, torch.arange(1)))[:, 0]


def grey(value: float, count: int = 2, side: int = 200) -> Batch:
    return batch_of(torch.full((count, 3, side, side), value))


# Hendrycks & Dietterich 2019, as in the package imagecorruptions 1.1.2.
PUBLISHED = {
    "noise": (0.08, 0.12, 0.18, 0.26, 0.38),
    "speckle": (0.15, 0.2, 0.35, 0.45, 0.6),
    "impulse": (0.03, 0.06, 0.09, 0.17, 0.27),
    "shot": (60, 25, 12, 5, 3),
}


@pytest.mark.parametrize("level", [1, 2, 3, 4, 5])
def test_additive_and_multiplicative_noise_have_the_published_strength(level):
    """x = 0.5 with σ: the noise before it is cut off is θ itself, or θ·x."""
    for name in ("noise", "speckle"):
        theta = drawn(nuisance(name, level=float(level)), grey(0.5)).double().numpy().ravel()
        published = PUBLISHED[name][level - 1]
        assert theta.std() == pytest.approx(published, rel=0.01)
        assert scipy.stats.kstest(theta[::4] / published, "norm").pvalue > 1e-3


@pytest.mark.parametrize("level", [1, 2, 3, 4, 5])
def test_impulses_hit_the_published_share_half_white_half_black(level):
    batch, space = grey(0.4), nuisance("impulse", level=float(level))
    hit = space.apply(batch, drawn(space, batch))
    amount, size = PUBLISHED["impulse"][level - 1], hit.numel()
    assert hit.unique().tolist() == pytest.approx([0.0, 0.4, 1.0])
    for value in (0.0, 1.0):
        share = (hit == value).double().mean().item()
        assert abs(share - amount / 2) < 4.5 * math.sqrt(amount / 2 / size)


@pytest.mark.parametrize("level", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("value", [0.02, 0.3, 0.9])
def test_shot_noise_is_poisson_with_the_published_photons(level, value):
    """The counts behind the values, against scipy's probabilities (χ²); values above 1 are cut off."""
    batch, space = grey(value), nuisance("shot", level=float(level))
    photons = PUBLISHED["shot"][level - 1]
    counts = (space.apply(batch, drawn(space, batch)) * photons).double().numpy().ravel()
    np.testing.assert_allclose(counts, np.round(counts), atol=1e-3)
    found = np.bincount(np.round(counts).astype(int), minlength=photons + 1)
    expected = scipy.stats.poisson.pmf(np.arange(photons + 1), photons * value)
    expected[-1] = scipy.stats.poisson.sf(photons - 1, photons * value)
    common = expected * counts.size > 10
    found = np.append(found[common], found[~common].sum())
    expected = np.append(expected[common], expected[~common].sum()) * counts.size
    # The expansion above a mean of 4 is off by up to 0.0008 in total variation, which a test of this size can see.
    statistic, freedom = ((found - expected) ** 2 / np.maximum(expected, 1)).sum(), len(found) - 1
    slack = (2 * 0.0008) ** 2 * counts.size * freedom if photons * value > 4 else 0
    assert statistic < scipy.stats.chi2.isf(1e-4, freedom) + slack


def test_small_means_have_scipys_quantiles_exactly():
    shares = torch.linspace(0.0005, 0.9995, 1500)[:, None]
    means = torch.tensor([[0.0, 1e-6, 0.01, 0.3, 1.0, 2.5, 3.99]])
    expected = scipy.stats.poisson.ppf(shares.double().numpy(), np.maximum(means.double().numpy(), 1e-300))
    found = poisson_quantile(*torch.broadcast_tensors(shares, means)).numpy()
    assert (found == expected).mean() > 0.9995  # a share that rounding puts on the other side of a step
    assert np.abs(found - expected).max() <= 1
    assert (found[:, 0] == 0).all()


@pytest.mark.parametrize("mean", [4.01, 6.0, 10.0, 25.0, 60.0, 500.0])
def test_larger_means_have_scipys_quantiles_but_for_the_stated_share(mean):
    shares = (torch.arange(200000, dtype=torch.float64) + 0.5) / 200000
    found = poisson_quantile(shares, torch.full_like(shares, mean)).numpy()
    expected = scipy.stats.poisson.ppf(shares.numpy(), mean)
    assert np.abs(found - expected).max() <= 1
    kinds = int(expected.max()) + 2
    found, expected = (np.bincount(k.astype(int), minlength=kinds) / k.size for k in (found, expected))
    assert 0.5 * np.abs(found - expected).sum() < 0.0008


def test_a_black_pixel_counts_no_photons():
    batch, space = grey(0.0), nuisance("shot", photons=3.0)
    assert space.apply(batch, drawn(space, batch)).max() == 0


def test_shot_noise_keeps_its_quantiles_along_the_severity_path():
    """A pixel whose share is high is brightened at every severity: values at two severities rise together."""
    batch, space = grey(0.5, 1), nuisance("shot", photons=100.0)
    theta = drawn(space, batch)
    noises = [space.apply(batch, space.at(theta, s, batch)).flatten() - 0.5 for s in (0.01, 0.3, 0.6, 1.0)]
    for severity, noise in zip((0.01, 0.3, 0.6, 1.0), noises, strict=True):
        assert noise.std() == pytest.approx(severity * math.sqrt(0.5 / 100), rel=0.02)
    assert np.corrcoef(np.stack([noise.numpy() for noise in noises])).min() > 0.97


def test_what_is_hit_stays_hit_as_severity_grows():
    batch, space = grey(0.5), nuisance("impulse", amount=0.1)
    theta = drawn(space, batch)
    steps = [space.apply(batch, space.at(theta, severity, batch)) for severity in (0.0, 0.5, 1.0, 2.0, 20.0)]
    for less, more in itertools.pairwise(steps):
        hit = less != 0.5
        assert torch.equal(less[hit], more[hit])
    shares = [(step != 0.5).double().mean().item() for step in steps]
    np.testing.assert_allclose(shares, [0, 0.05, 0.1, 0.2, 1], atol=0.003)


def test_noise_is_added_and_speckle_multiplied_and_both_are_cut_off():
    generator = torch.Generator().manual_seed(5)
    images, theta = torch.rand(2, 1, 9, 11, generator=generator), torch.randn(2, 99, generator=generator)
    batch, field = batch_of(images), theta.view(2, 1, 9, 11)
    for name, expected in (
        ("noise", images + field),
        ("uniform-noise", images + field),
        ("speckle", images * (1 + field)),
    ):
        torch.testing.assert_close(nuisance(name).apply(batch, theta), expected.clamp(0, 1))


@pytest.mark.parametrize("spec", ["noise:sigma=0.3", "speckle", "uniform-noise:width=0.4", "impulse:amount=0.2"])
def test_pushed_gaussians_have_the_law_of_the_draws(spec):
    space, batch = nuisances.build(spec), grey(0.5, 1, 60)
    z = torch.randn(1, 4, space.latent(batch), generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    pushed, direct = space.push(z, batch).numpy().ravel(), drawn(space, batch).double().numpy().ravel()
    assert scipy.stats.ks_2samp(pushed, direct).pvalue > 1e-3
    assert np.corrcoef(z.numpy().ravel(), np.sign(pushed))[0, 1] > 0.7  # more z, more noise


@pytest.mark.parametrize(
    ("spec", "law"),
    [
        ("noise:sigma=0.3", scipy.stats.norm(0, 0.3)),
        ("speckle:level=1.5", scipy.stats.norm(0, 0.175)),
        ("uniform-noise:width=0.4", scipy.stats.uniform(-0.4, 0.8)),
    ],
)
def test_densities_are_those_of_scipy(spec, law):
    space, batch = nuisances.build(spec), batch_of(torch.rand(2, 3, 8, 8))
    theta = space.sample(batch, draw_keys(0, "x", batch.ids, torch.arange(3))).double()
    found = space.log_prior(theta, batch)
    assert found.shape == (2, 3)
    np.testing.assert_allclose(found.numpy(), law.logpdf(theta.numpy()).sum(-1), rtol=1e-9)


def test_the_impulse_density_is_that_of_amount_over_a_uniform():
    """θ = a/v: |θ| is Pareto with index 1 from a on, either sign being as likely."""
    space, batch = nuisance("impulse", amount=0.2), batch_of(torch.rand(2, 1, 8, 8))
    theta = drawn(space, batch).double()
    expected = (scipy.stats.pareto(1, scale=0.2).logpdf(theta.abs().numpy()) - math.log(2)).sum(-1)
    np.testing.assert_allclose(space.log_prior(theta[:, None], batch)[:, 0].numpy(), expected, rtol=1e-9)
    assert space.log_prior(0.01 * theta[:, None], batch).max() == -math.inf
    wide = nuisance("uniform-noise", width=0.1)
    assert wide.log_prior(torch.full((1, 1, 64), 0.11), batch).item() == -math.inf


def test_between_levels_the_strength_is_linear():
    assert nuisance("noise", level=2.5).strength == pytest.approx(0.15)
    assert nuisance("noise", level=0.5).strength == pytest.approx(0.04)
    assert nuisance("noise", level=6.0).strength == pytest.approx(0.50)
    assert nuisance("impulse", level=4.25).strength == pytest.approx(0.195)
    assert nuisance("shot", level=2.0).grain == pytest.approx(0.2)
    assert nuisance("shot", level=1.5).grain == pytest.approx((60**-0.5 + 0.2) / 2)


@pytest.mark.parametrize(
    "spec",
    ["noise:sigma=0", "noise:sigma=nan", "shot:photons=-1", "impulse:amount=1.5", "noise:level=0", "shot:level=-1"],
)
def test_noise_without_a_possible_strength_is_refused(spec):
    with pytest.raises(BrittleError, match=r"above 0|at most 1"):
        nuisances.build(spec)


def test_a_level_and_a_strength_together_are_refused():
    with pytest.raises(BrittleError, match=r"'level' and 'sigma'.*Give one"):
        nuisances.build("noise:sigma=0.2,level=3")


def test_noise_of_varying_strength_has_a_uniform_standard_deviation_and_is_normal_given_it():
    space = nuisance("varying-noise", low=0.02, high=0.1)
    batch = Batch(torch.full((400, 1, 40, 40), 0.5), torch.zeros(400).long(), torch.arange(400))
    theta = drawn(space, batch).double()
    sigma = theta.std(1)
    assert scipy.stats.kstest(sigma.numpy(), scipy.stats.uniform(0.02, 0.08).cdf).pvalue > 0.01
    within = (theta / sigma[:, None]).numpy()
    assert scipy.stats.kstest(within.ravel()[::7], "norm").pvalue > 0.01
    z = torch.randn(400, 1, space.latent(batch), generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    pushed = space.push(z, batch)[:, 0]
    assert scipy.stats.ks_2samp(pushed.std(1).numpy(), sigma.numpy()).pvalue > 0.01


def test_noise_of_varying_strength_refuses_a_low_above_its_high():
    with pytest.raises(BrittleError, match="low"):
        nuisance("varying-noise", low=0.2)
