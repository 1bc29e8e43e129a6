"""Networks for images of any size: what they see, and that what is trained can be loaded."""

import pytest
import torch
from torch import nn

import brittle
from brittle import BrittleError
from brittle.training import trainable

NAMES = ["preact-resnet-18", "small-vgg", "bagnet-9", "bagnet-17"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("channels", "side", "classes"), [(1, 28, 9), (3, 32, 100)])
def test_a_spec_makes_the_network_and_a_classifier_of_its_size(name, channels, side, classes):
    kind = trainable.build(f"{name}:channels={channels},side={side},classes={classes},width=2")
    assert kind.shape == (channels, side, side)
    loaded = brittle.classifier(f"torch:{kind.factory}")
    assert loaded.log_probs(torch.rand(2, channels, side, side)).shape == (2, classes)
    assert [each.shape for each in loaded.module.parameters()] == [each.shape for each in kind.module().parameters()]


@pytest.mark.parametrize("field", [9, 17])
def test_a_bagnets_patches_see_as_many_pixels_as_its_name_says(field):
    net = trainable.build(f"bagnet-{field}:width=4").module().double().eval()
    for each in net.parameters():
        each.data.abs_()  # so that no ReLU hides what is seen
    images = torch.rand(1, 1, 32, 32, dtype=torch.double, requires_grad=True)
    patches = net.patches(images)
    for row, column in ((0, 0), (1, 2), (patches.shape[1] - 1, patches.shape[2] - 1)):
        gradient = torch.autograd.grad(patches[0, row, column].sum(), images, retain_graph=True)[0][0, 0]
        seen = gradient.nonzero()
        assert seen.min(0).values.tolist() == [4 * row, 4 * column]
        assert seen.max(0).values.tolist() == [4 * row + field - 1, 4 * column + field - 1]
    torch.testing.assert_close(net(images), patches.mean((1, 2)))


def test_preact_resnet_18_has_its_layers_and_parameters():
    """Counted by hand: 17 convolutions 3×3, three 1×1 where stages begin, a linear layer."""
    net = trainable.build("preact-resnet-18:channels=3").module()
    stages, convolutions, norms = [64, 128, 256, 512], 27 * 64, 0
    for before, after in zip([64, *stages], stages, strict=False):
        convolutions += 9 * before * after + 3 * 9 * after**2 + (before * after if before != after else 0)
        norms += 2 * (before + 3 * after)
    expected = convolutions + norms + 2 * 512 + 512 * 10 + 10
    assert sum(each.numel() for each in net.parameters()) == expected
    kernels = [part.kernel_size[0] for part in net.modules() if isinstance(part, nn.Conv2d)]
    assert (kernels.count(3), kernels.count(1)) == (17, 3)


def test_preact_resnet_keeps_the_identity_where_nothing_changes():
    net = trainable.build("preact-resnet-18:width=4").module().eval()
    block = net.blocks[0]
    nn.init.zeros_(block.conv2.weight)
    images = torch.randn(2, 4, 8, 8)
    assert torch.equal(block(images), images)


def test_images_too_small_for_a_network_are_refused():
    with pytest.raises(BrittleError, match="bagnet-17: side is 16, but must be at least 17"):
        trainable.build("bagnet-17:side=16")
