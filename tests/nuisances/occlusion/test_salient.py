import itertools

import pytest
import torch

from brittle.errors import BrittleError
from brittle.nuisances import nuisances
from brittle.random import draw_keys
from brittle.types import Batch


def explained(count: int, height: int = 11, width: int = 14, ties: bool = False) -> Batch:
    """Images with a saliency in which no two pixels are equal, or only a few are not 0."""
    made = torch.rand(count, height, width, generator=torch.Generator().manual_seed(8))
    saliency = made.clamp(min=0.9) - 0.9 if ties else made
    images = 0.2 + 0.6 * torch.rand(count, 3, height, width, generator=torch.Generator().manual_seed(9))
    none = torch.zeros(count, dtype=torch.int64)
    return Batch(images, none, torch.arange(count), {"saliency": saliency})


def thetas(space, batch: Batch, draws: int = 1) -> torch.Tensor:
    return space.sample(batch, draw_keys(2, "salient", batch.ids, torch.arange(draws)))


@pytest.mark.parametrize("share", [0.01, 0.3, 0.5, 1.0])
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("which", ["either", "most", "least"])
def test_exactly_the_share_is_hidden(share, ties, which):
    space, batch = nuisances.build(f"salient:share={share},which={which}"), explained(30, ties=ties)
    hidden = space.mask(thetas(space, batch)[:, 0], batch).sum((1, 2, 3))
    assert hidden.tolist() == [round(share * 11 * 14)] * 30


@pytest.mark.parametrize(("which", "sign"), [("most", 1), ("least", -1)])
def test_what_is_hidden_is_more_or_less_salient_than_all_that_is_not(which, sign):
    space, batch = nuisances.build(f"salient:which={which}"), explained(20, ties=True)
    hidden = space.mask(thetas(space, batch)[:, 0], batch)[:, 0]
    signed = sign * batch.extras["saliency"]
    for mask, values in zip(hidden, signed, strict=True):
        assert values[mask].min() >= values[~mask].max()


def test_most_or_least_is_tossed_for_each_image_and_draw():
    either, batch = nuisances.build("salient"), explained(400)
    theta = thetas(either, batch)[:, 0]
    found = either.mask(theta, batch)
    same = {
        which: (found == nuisances.build(f"salient:which={which}").mask(theta, batch)).all(-1).all(-1)[:, 0]
        for which in ("most", "least")
    }
    assert (same["most"] ^ same["least"]).all()
    assert 150 < int(same["most"].sum()) < 250
    one = explained(1)
    tosses = thetas(either, one, 400)[0, :, 1] < 0.5
    assert 150 < int(tosses.sum()) < 250


def test_equals_are_hidden_in_a_random_order_that_the_key_decides():
    """Where everything is equally salient, each pixel is hidden as often as any other."""
    space = nuisances.build("salient:share=0.25")
    batch = explained(1, 6, 6)._replace(extras={"saliency": torch.zeros(1, 6, 6)})
    theta = thetas(space, batch, 4000)[0]
    many = batch.take(torch.zeros(4000, dtype=torch.int64))
    often = space.mask(theta, many)[:, 0].double().mean(0)
    assert (often - 0.25).abs().max() < 5 * (0.25 * 0.75 / 4000) ** 0.5
    assert torch.equal(space.mask(theta, many), space.mask(theta.clone(), many))


def test_masks_are_nested_along_the_severity_path():
    space, batch = nuisances.build("salient"), explained(12, ties=True)
    theta = thetas(space, batch)[:, 0]
    masks = [space.mask(space.at(theta, severity, batch), batch) for severity in (0.0, 0.2, 1.0, 2.0, 9.0)]
    for less, more in itertools.pairwise(masks):
        assert (less <= more).all()
    assert not masks[0].any()
    assert masks[-1].all()


def test_what_it_needs_says_which_saliency():
    assert nuisances.build("salient").needs == {"saliency"}
    assert nuisances.build("salient:of-class=label,layer=conv2").needs == {"saliency:of-class=label,layer=conv2"}
    both = nuisances.build("salient+salient:layer=conv2+noise")
    assert both.needs == {"saliency", "saliency:layer=conv2"}


def test_images_without_saliency_are_refused():
    space, batch = nuisances.build("salient"), explained(2)
    with pytest.raises(BrittleError, match="needs saliency, which these images come without"):
        space.apply(batch._replace(extras={}), thetas(space, batch)[:, 0])
