import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from brittle import BrittleError, classifier, image_set
from brittle.random import draw_keys
from brittle.training import trainable
from brittle.training.networks import SpatialTransformer, cnn_2_stn, translated
from brittle.training.trainer import seeded
from brittle.types import Batch

NAMES = [f"cnn-{layers}{variant}" for layers in (1, 2) for variant in ("", "-da", "-dropout", "-stn")]


def some(count: int) -> Batch:
    random = torch.Generator().manual_seed(0)
    return Batch(torch.rand(count, 1, 28, 28, generator=random), torch.zeros(count).long(), torch.arange(count))


def keys(count: int) -> torch.Tensor:
    return draw_keys(3, "test", torch.arange(count), torch.zeros(1).long())[:, 0]


def test_there_are_the_eight_networks_of_the_table():
    assert [name for name in trainable.names() if name.startswith("cnn")] == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_weights_load_through_the_classifier_spec(name, tmp_path):
    kind = trainable.build(name)
    module = seeded(kind.module, 4).eval()
    save_file(module.state_dict(), tmp_path / "w.safetensors")
    loaded = classifier(f"torch:{kind.factory},weights={tmp_path}/w.safetensors,output=logits")
    images = image_set("sample").batch(range(5)).images
    with torch.no_grad():
        torch.testing.assert_close(loaded.log_probs(images), module(images).log_softmax(1))


def test_sizes_are_those_of_the_paper():
    """Weights counted by hand: filters and biases, then the linear layer."""
    counts = {name: sum(each.numel() for each in trainable.build(name).module().parameters()) for name in NAMES}
    first, second = 32 * 25 + 32, 64 * 32 * 25 + 64
    assert counts["cnn-1"] == counts["cnn-1-dropout"] == counts["cnn-1-da"] == first + 32 * 14 * 14 * 10 + 10
    assert counts["cnn-2"] == counts["cnn-2-dropout"] == counts["cnn-2-da"] == first + second + 64 * 7 * 7 * 10 + 10
    localisation = 20 * 25 + 20 + 20 * 20 * 25 + 20 + 20 * 7 * 7 * 6 + 6
    assert counts["cnn-1-stn"] - counts["cnn-1"] == counts["cnn-2-stn"] - counts["cnn-2"] == localisation


def test_a_spatial_transformer_starts_as_the_identity_and_can_leave_it():
    images, net = some(6).images, SpatialTransformer()
    torch.testing.assert_close(net(images), images, atol=5e-5, rtol=0)
    (net(images) * torch.rand(28, 28)).sum().backward()
    assert net.localisation[-1].weight.grad.abs().max() > 0


def test_a_spatial_transformer_looks_where_its_matrix_says():
    """A shift of a quarter of the picture: the output shows what lay seven pixels to the right."""
    net = SpatialTransformer()
    with torch.no_grad():
        net.localisation[-1].bias.copy_(torch.tensor([1.0, 0, 0.5, 0, 1, 0]))
    images = some(2).images
    torch.testing.assert_close(net(images)[..., :21], images[..., 7:], atol=5e-5, rtol=0)


def test_the_transformer_of_a_network_learns_to_undo_a_shift():
    """Its gradient moves the picture back: the six numbers are trained through the classifier behind."""
    net = seeded(cnn_2_stn, 0)
    torch.nn.functional.cross_entropy(net(some(8).images), torch.arange(8)).backward()
    assert net.transformer.localisation[-1].bias.grad.abs().min() > 0


def test_dropout_is_before_the_linear_layer_and_only_in_training():
    for name, drops in (("cnn-1", False), ("cnn-2-dropout", True)):
        net = seeded(trainable.build(name).module, 0)
        images = some(2).images
        assert torch.equal(net(images), net(images)) is not drops
        net.eval()
        assert torch.equal(net(images), net(images))
    assert net.dropout.p == 0.5


def test_augmentation_translates_a_tenth_of_the_samples_by_up_to_three_pixels():
    batch = some(4000)
    moved = trainable.build("cnn-1-da").transform()(batch, keys(4000)).images
    changed = (moved != batch.images).flatten(1).any(1)
    expected = 0.1 * 48 / 49  # one shift in 49 is none
    assert abs(float(changed.float().mean()) - expected) < 4 * np.sqrt(expected * (1 - expected) / 4000)
    shifts = set()
    for before, after in zip(batch.images[changed, 0], moved[changed, 0], strict=True):
        framed = torch.nn.functional.pad(before, (3, 3, 3, 3)).unfold(0, 28, 1).unfold(1, 28, 1)  # (7, 7, 28, 28)
        ((down, across),) = (framed == after).flatten(2).all(2).nonzero().tolist()
        shifts.add((down - 3, across - 3))
    assert shifts == {(y, x) for y in range(-3, 4) for x in range(-3, 4)} - {(0, 0)}


def test_what_moves_depends_on_the_keys_alone():
    batch, turned = some(50), torch.arange(50).flip(0)
    whole = translated(batch, keys(50), 0.5, 4).images
    torch.testing.assert_close(translated(batch.take(turned), keys(50)[turned], 0.5, 4).images, whole[turned])
    torch.testing.assert_close(translated(batch, keys(50), 0.0, 4).images, batch.images)


@pytest.mark.parametrize("spec", ["cnn-1-da:translated=2", "cnn-2-stn:shift=-1", "cnn-1:shift=3"])
def test_options_that_make_no_sense_are_refused(spec):
    with pytest.raises(BrittleError):
        trainable.build(spec)
