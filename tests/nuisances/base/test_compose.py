import pytest
import torch

from brittle.errors import BrittleError
from brittle.nuisances import nuisance, nuisances
from brittle.random import draw_keys
from brittle.types import Batch

BATCH = Batch(torch.rand(3, 3, 20, 24, generator=torch.Generator().manual_seed(0)), torch.zeros(3), torch.arange(3))
KEYS = draw_keys(0, "compose", BATCH.ids, torch.arange(4))


def test_parts_are_applied_in_order():
    both = nuisance("rotation:sigma=30+translation:sigma=3,unit=pixels")
    theta = torch.tensor([[90.0, 3.0, 0.0]]).expand(3, -1)
    turned = nuisance("rotation").apply(BATCH, theta[:, :1])
    expected = nuisance("translation", unit="pixels").apply(BATCH._replace(images=turned), theta[:, 1:])
    assert torch.equal(both.apply(BATCH, theta), expected)
    assert both.parameters == ["rotation angle", "translation shift x", "translation shift y"]


def test_the_prior_is_the_product():
    both, first, second = nuisance("affine:alpha=20+scaling"), nuisance("affine:alpha=20"), nuisance("scaling")
    theta = both.sample(BATCH, KEYS)
    density = first.log_prior(theta[..., :6], BATCH) + second.log_prior(theta[..., 6:], BATCH)
    torch.testing.assert_close(both.log_prior(theta, BATCH), density)
    assert both.latent(BATCH) == 7


def test_two_parts_of_one_kind_are_drawn_apart():
    theta = nuisance("scaling+scaling").sample(BATCH, KEYS)
    assert not torch.equal(theta[..., 0], theta[..., 1])


def test_severity_walks_all_parts_from_their_identities():
    both = nuisance("affine+rotation")
    theta = both.sample(BATCH, KEYS)[:, 0]
    assert torch.equal(both.at(theta, 0.0, BATCH), both.identity(BATCH))
    torch.testing.assert_close(both.at(theta, 1.0, BATCH), theta)


def test_push_gives_each_part_its_own_z():
    both, z = nuisance("rotation:sigma=10+scaling:sigma=0.5"), torch.tensor([[[1.0, 2.0]]])
    torch.testing.assert_close(both.push(z, BATCH.take(torch.tensor([0]))), torch.tensor([[[10.0, 1.0]]]))


def test_a_plus_inside_a_number_is_no_composition():
    assert nuisances.build("affine:alpha=1e+2").alpha == 100


def test_the_spec_of_a_composition_builds_it_again():
    text = "affine:alpha=50+rotation:sigma=3"
    assert nuisances.spec_of(nuisances.build(text)) == text
    assert nuisances.build(nuisances.spec_of(nuisances.build(text))) == nuisances.build(text)


def test_a_part_that_cannot_be_applied_is_refused_before_work_starts():
    with pytest.raises(BrittleError, match="channel"):
        nuisance("rotation+hue").check((1, 28, 28))


def test_what_one_part_lacks_the_composition_lacks():
    both = nuisance("rotation+shuffle")
    assert not both.differentiable
    assert both.log_prior(both.sample(BATCH, KEYS), BATCH) is None
    assert nuisance("rotation+shot").latent(BATCH) is None


def test_a_plus_in_a_path_is_escaped():
    space = nuisances.build(r"occlusion:texture=folder:/a\+b")
    assert space.texture == "folder:/a+b"
    assert nuisances.build(nuisances.spec_of(space)) == space
    assert nuisances.build("affine + rotation") == nuisances.build("affine+rotation")
