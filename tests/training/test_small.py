"""The network of the bundled classifiers, trained by name."""

import pytest
import torch

from brittle import BrittleError, image_set, nuisance
from brittle.random import draw_keys
from brittle.training import trainable
from brittle.training.small import warped

AFFINE = nuisance("affine:alpha=40")


@pytest.fixture
def batch():
    return image_set("sample").batch(range(400))


def keys(batch):
    return draw_keys(0, "test", batch.ids, torch.zeros(1).long())[:, 0]


def test_a_share_of_the_images_is_warped_and_the_others_are_as_they_were(batch):
    moved = warped(batch, keys(batch), 0.8, AFFINE)
    same = ((moved.images - batch.images).abs() < 1e-4).flatten(1).all(1)  # a warp by the identity rounds its grid
    assert 0.13 < float(same.float().mean()) < 0.27  # 0.2 ± 3.5 standard errors
    assert torch.equal(moved.labels, batch.labels)
    assert torch.allclose(warped(batch, keys(batch), 0.0, AFFINE).images, batch.images, atol=1e-4)


def test_warps_are_draws_of_the_prior_that_depend_on_the_keys_alone(batch):
    everything = warped(batch, keys(batch), 1.0, AFFINE).images
    some = torch.tensor([7, 3, 100])
    assert torch.equal(warped(batch.take(some), keys(batch)[some], 1.0, AFFINE).images, everything[some])
    theta = []
    how = nuisance("affine:alpha=40")

    class Spy:
        sample, identity = how.sample, how.identity

        @staticmethod
        def apply(batch, drawn):
            theta.append(drawn)
            return how.apply(batch, drawn)

    warped(batch, keys(batch), 1.0, Spy)
    away = theta[0] - how.identity(batch)
    spread = how.sample(batch, draw_keys(1, "other", batch.ids, torch.arange(50))).std((0, 1))
    assert torch.allclose(away.std(0), spread, rtol=0.15)
    assert float(away.mean(0).abs().max() / spread.max()) < 4 / 20  # four standard errors of 400 draws


@pytest.mark.parametrize("spec", ["small-augmented:share=2", "small-augmented:alpha=0"])
def test_options_that_make_no_sense_are_refused(spec):
    with pytest.raises(BrittleError, match=spec.split(":")[1].split("=")[0]):
        trainable.build(spec)


def test_its_own_recipe_holds_where_nothing_is_said(tmp_path):
    plain, augmented = (trainable.build(f"small-{name}") for name in ("plain", "augmented"))
    assert (plain.recipe.epochs, augmented.recipe.epochs) == (12, 30)
    assert plain.transform() is None
