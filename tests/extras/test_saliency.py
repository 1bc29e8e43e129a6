"""Grad-CAM against the closed form of class activation maps, and what every map promises."""

import sys

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import brittle
from brittle.errors import BrittleError, MissingPackage
from brittle.extras import extras
from brittle.types import Batch


class Pooled(nn.Module):
    """Convolutions, global average pooling, a linear layer: here Grad-CAM is CAM (Zhou et al. 2016) over the number of
    places."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.first, self.last = nn.Conv2d(1, 4, 3, padding=1), nn.Conv2d(4, 6, 3, stride=2)
        self.between, self.linear = nn.ReLU(inplace=inplace), nn.Linear(6, 5)

    def forward(self, images):
        return self.linear(self.last(self.between(self.first(images))).mean((2, 3)))


def pooled(inplace: bool = False) -> Pooled:
    torch.manual_seed(0)
    return Pooled(inplace)


def pictures(count: int, side: int = 19) -> Batch:
    images = torch.rand(count, 1, side, side, generator=torch.Generator().manual_seed(5))
    return Batch(images, torch.arange(count) % 5, torch.arange(count))


def settled(module: nn.Module, batch: Batch, **settings):
    made = brittle.classifier(module, **settings)
    made.check(batch.images[:2])
    return made


def by_hand(module: Pooled, images, labels=None):
    """ReLU(Σ_k w_ck A_k / places), with w the linear layer's weights."""
    with torch.no_grad():
        maps = module.last(module.between(module.first(images)))
        classes = module(images).argmax(1) if labels is None else labels
        weights = module.linear.weight[classes] / maps[0, 0].numel()
        return torch.relu(torch.einsum("bk,bkhw->bhw", weights, maps))


@pytest.mark.parametrize("of_class", ["predicted", "label"])
def test_it_is_the_class_activation_map_of_a_pooled_network(of_class):
    module, batch = pooled(), pictures(21)
    found = extras.build(f"saliency:of-class={of_class}").compute(settled(module, batch), batch)
    small = by_hand(module, batch.images, batch.labels if of_class == "label" else None)
    expected = F.interpolate(small[:, None], (19, 19), mode="bilinear", align_corners=False)[:, 0]
    assert expected.max() > 1e-4
    torch.testing.assert_close(found, expected, atol=1e-7, rtol=1e-4)


def test_an_image_without_a_label_is_explained_by_its_prediction():
    batch = pictures(4)
    classifier = settled(pooled(), batch)
    found = extras.build("saliency:of-class=label").compute(classifier, batch._replace(labels=torch.full((4,), -1)))
    assert torch.equal(found, extras.build("saliency").compute(classifier, batch))


def test_a_map_depends_on_no_neighbour_and_on_no_batch():
    batch = pictures(37)
    classifier = settled(pooled(), batch)
    together = extras.build("saliency").compute(classifier, batch)
    for rows in ([0], [36, 3, 3], list(range(17, 37))):
        alone = extras.build("saliency").compute(classifier, batch.take(torch.tensor(rows)))
        assert torch.equal(alone, together[rows])


def test_activations_that_are_overwritten_afterwards_are_seen_as_they_were():
    """captum must look at what the first convolution gave, not at what an in-place ReLU made of it."""
    batch = pictures(3)
    plain, overwriting = (settled(pooled(inplace), batch) for inplace in (False, True))
    saliency = extras.build("saliency:layer=first")
    found = saliency.compute(plain, batch)
    assert found.max() > 0
    assert torch.equal(saliency.compute(overwriting, batch), found)


def test_frozen_weights_and_inference_mode_change_nothing():
    batch = pictures(3)
    classifier = settled(pooled(), batch)
    expected = extras.build("saliency").compute(classifier, batch)
    classifier.module.requires_grad_(False)
    with torch.inference_mode():
        images = batch.images * 1.0
        assert torch.equal(extras.build("saliency").compute(classifier, batch._replace(images=images)), expected)


def test_the_map_lies_over_what_the_classifier_sees():
    """Images of 40×40, resized to 20×20, of which the middle 10×10 are looked at: rows and columns 10 to 30."""
    batch = pictures(2, 40)
    classifier = settled(pooled(), batch, size=20, crop=10)
    found = extras.build("saliency").compute(classifier, batch)
    seen = by_hand(classifier.module, classifier.preprocess(batch.images))
    inside = F.interpolate(seen[:, None], (20, 20), mode="bilinear", align_corners=False)[:, 0]
    torch.testing.assert_close(found[:, 10:30, 10:30], inside, atol=1e-7, rtol=1e-4)
    outside = found.clone()
    outside[:, 10:30, 10:30] = 0
    assert not outside.any()


def test_the_last_convolution_is_the_last_that_is_computed():
    class Backwards(Pooled):
        def forward(self, images):
            return self.linear(self.first(self.between(self.last(images))).mean((2, 3)))

    module, batch = Backwards(), pictures(2)
    module.last, module.first = nn.Conv2d(1, 4, 3), nn.Conv2d(4, 6, 3)  # `last` was made last and is computed first
    classifier = settled(module, batch)
    saliency = extras.build("saliency")
    named = extras.build("saliency:layer=first")
    assert torch.equal(saliency.compute(classifier, batch), named.compute(classifier, batch))


class Detached(Pooled):
    def forward(self, images):
        return super().forward(images).detach()


class Aside(Pooled):
    def __init__(self):
        super().__init__()
        self.aside = nn.Conv2d(1, 2, 1)

    def forward(self, images):
        said = super().forward(images)
        self.aside(images)
        return said


REFUSED = {
    "no convolution": (lambda: nn.Sequential(nn.Flatten(), nn.Linear(361, 5)), "", "has none"),
    "unknown layer": (pooled, ":layer=lst", "no layer 'lst'. Did you mean 'last'"),
    "no maps": (pooled, ":layer=linear", "gives no feature maps. Name a convolution: first, last"),
    "no gradient": (Detached, "", "at the layer 'last': no gradient reaches it"),
    "an output that is not used": (Aside, "", r"at the layer 'aside': .* with layer=… \(first, last\)"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_can_not_be_explained_is_refused_in_one_line(case):
    make, options, said = REFUSED[case]
    batch = pictures(2)
    classifier = settled(make(), batch)
    with pytest.raises(BrittleError, match=said):
        extras.build(f"saliency{options}").check("it", classifier, batch.take(torch.tensor([0])))


def test_a_classifier_without_a_module_is_told_of_other_masks():
    batch = pictures(2)
    classifier = brittle.classifier(lambda images: torch.ones(len(images), 3) / 3)
    with pytest.raises(BrittleError, match=r"'it' is not made of one.*patch, fourier-mask or tiles"):
        extras.build("saliency").check("it", classifier, batch)


def test_without_captum_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "captum.attr", None)
    batch = pictures(2)
    with pytest.raises(MissingPackage, match=r"pip install .*\[captum\]'"):
        extras.build("saliency").compute(settled(pooled(), batch), batch)
