"""Targeted changes of layers against closed forms of a linear classifier."""

import math
import re

import numpy as np
import pytest
import torch
from torch import nn

import brittle
from brittle.errors import BrittleError
from brittle.measures.layer_changes.measure import LayerChanges
from brittle.measures.layer_changes.search import drawn_targets
from brittle.measures.layer_noise.measure import LayerNoise

pytestmark = pytest.mark.warned("all are taken")

SEARCH = {"rate": 0.03, "batch": 56}


def linear(count=7):
    """Two classes of 12 numbers, z = Wx + b, images, and their predictions."""
    torch.manual_seed(2)
    module = nn.Sequential(nn.Flatten(), nn.Linear(12, 2))
    images = torch.rand(count, 1, 3, 4)
    with torch.no_grad():
        module[1].weight.mul_(8)
        return module, images, module(images).argmax(1)


def least(module, images, layer):
    """(ln 9 − margin) / ‖w‖₁ with the margin z_target − z_other and w what it changes by."""
    with torch.no_grad():
        logits = module(images)
        slopes = 2.0 if layer == "[1]" else float((module[1].weight[1] - module[1].weight[0]).abs().sum())
    margin = (logits.amin(1) - logits.amax(1)).numpy()
    return (math.log(9) - margin) / slopes


@pytest.mark.parametrize(("layer", "number"), [("input", 0), ("[1]", 1)])
def test_the_change_of_a_linear_layer_is_nearly_the_smallest_and_never_below(layer, number):
    module, images, labels = linear()
    found = brittle.layer_changes(module, (images, labels), layers=layer, **SEARCH)
    rows = found.rows.sort_by("image")
    smallest, linf = least(module, images, layer), rows["linf"].to_numpy()
    assert rows["layer"].to_pylist() == [number] * 7
    assert all(rows["reached"].to_pylist())
    assert rows["target"].to_pylist() == (1 - labels).tolist()
    assert np.exp(rows["log_p"].to_numpy()) == pytest.approx(0.9, abs=0.002)
    assert (linf >= smallest * (1 - 1e-4)).all()
    assert (linf <= smallest * 1.05).all()


def test_sizes_are_told_beside_the_root_mean_square_of_what_the_layer_gives():
    module, images, labels = linear()
    found = brittle.layer_changes(module, (images, labels), layers="input", **SEARCH)
    rows = found.rows.sort_by("image")
    rms = images.flatten(1).square().mean(1).sqrt().numpy()
    assert rows["rms"].to_numpy() == pytest.approx(rms, rel=1e-5)
    assert rows["relative"].to_numpy() == pytest.approx(rows["l2"].to_numpy() / (rms * math.sqrt(12)), rel=1e-5)
    layer = found.layer("input")
    assert layer["relative"] == pytest.approx(np.median(rows["relative"].to_numpy()), rel=1e-6)
    assert layer["linf_relative"] == pytest.approx(np.median(rows["linf"].to_numpy() / rms), rel=1e-5)
    low, high = layer["relative_interval"]
    assert low <= layer["relative"] <= high


def test_searches_that_fail_are_kept_and_count_as_larger_than_any():
    module, images, labels = linear()
    found = brittle.layer_changes(module, (images, labels), layers="input", steps=3, **SEARCH)
    assert found.rows.num_rows == 7
    assert not any(found.rows["reached"].to_pylist())
    layer = found.layer(0)
    assert (layer["reached"], layer["relative"], layer["relative_interval"]) == (0, None, [None, None])
    assert re.search(r"^ *0 input +∞", str(found), re.MULTILINE)
    table = found.table()
    assert table.select(["reached", "relative", "relative_low", "relative_high"]).to_pylist() == [
        {"reached": 0, "relative": None, "relative_low": None, "relative_high": None}
    ]


@pytest.mark.warned("have no label")
def test_the_same_changes_come_of_any_batch_size():
    torch.manual_seed(0)
    module = nn.Sequential(nn.Conv2d(1, 3, 3), nn.ReLU(), nn.Flatten(), nn.Linear(108, 5))
    images = torch.rand(3, 1, 8, 8)
    found = [
        brittle.layer_changes(module, images, layers="0-2", targets=2, rate=0.2, batch=batch).rows
        for batch in (1, 24, 64)
    ]
    for other in found[1:]:
        for column in ("image", "layer", "repeat", "target", "reached", "calls"):
            assert other[column].equals(found[0][column]), column
        assert np.allclose(other["relative"], found[0]["relative"], rtol=1e-3)
    assert found[0].num_rows == 3 * 3 * 2


def test_targets_are_other_classes_that_the_seed_and_the_image_decide():
    ids, origin = torch.arange(400), torch.arange(400) % 4
    slots = torch.stack([drawn_targets(0, ids, origin, torch.full((400,), slot), 4) for slot in range(3)], 1)
    for own, others in zip(origin.tolist(), slots.tolist(), strict=True):
        assert sorted([own, *others]) == [0, 1, 2, 3]
    first = torch.bincount(slots[origin == 0, 0], minlength=4)
    assert first.min() == first[0] == 0
    assert first[1:].min() > 15
    order = torch.randperm(400)
    assert torch.equal(drawn_targets(0, ids[order], origin[order], torch.zeros(400).long(), 4), slots[order, 0])


def test_more_targets_than_other_classes_are_all_of_them():
    module, images, labels = linear()
    assert brittle.layer_changes(module, (images, labels), layers="input", targets=9, **SEARCH).rows.num_rows == 7


def test_weights_are_left_out_unless_they_are_named():
    module, images, labels = linear()
    for layers, searched in (((), ["input", "1"]), ("*", ["input", "1"]), ("1-2", ["1", "weights"])):
        found = brittle.layer_changes(module, (images, labels), layers=layers, **SEARCH)
        assert [each["layer"] for each in found["layers"]] == searched


def test_the_change_of_the_weights_is_nearly_the_smallest_and_never_below():
    """Every weight moves the margin by an image's number, and every bias by 1: (ln 9 − margin) / (2‖x‖₁ + 2)."""
    module, images, labels = linear()
    found = brittle.layer_changes(module, (images, labels), layers="weights", rate=0.01, batch=56)
    rows = found.rows.sort_by("image")
    with torch.no_grad():
        logits = module(images)
        rms = torch.cat([each.flatten() for each in module.parameters()]).square().mean().sqrt().item()
    margin = (logits.amin(1) - logits.amax(1)).numpy()
    smallest = (math.log(9) - margin) / (2 * images.flatten(1).abs().sum(1).numpy() + 2)
    linf = rows["linf"].to_numpy()
    assert all(rows["reached"].to_pylist())
    assert (linf >= smallest * (1 - 1e-4)).all()
    assert (linf <= smallest * 1.05).all()
    assert rows["rms"].to_numpy() == pytest.approx(rms, rel=1e-5)
    assert rows["layer"].to_pylist() == [2] * 7


def test_layers_are_changed_at_once_each_in_units_of_its_own():
    """With u in units of r₀ on the input and r₁ on the outputs the margin moves by u (r₀‖w‖₁ + 2 r₁)."""
    module, images, labels = linear()
    found = brittle.layer_changes(module, (images, labels), layers="input+[1]", rate=0.01, batch=56)
    rows = found.rows.sort_by("image")
    with torch.no_grad():
        logits = module(images)
        slope = float((module[1].weight[1] - module[1].weight[0]).abs().sum())
    own = images.flatten(1).square().mean(1).sqrt().numpy()
    out = logits.square().mean(1).sqrt().numpy()
    margin = (logits.amin(1) - logits.amax(1)).numpy()
    smallest = (math.log(9) - margin) / (own * slope + 2 * out) * np.maximum(own, out)
    linf = rows["linf"].to_numpy()
    assert (linf >= smallest * (1 - 1e-4)).all()
    assert (linf <= smallest * 1.05).all()
    assert rows["rms"].to_numpy() == pytest.approx(np.sqrt((12 * own**2 + 2 * out**2) / 14), rel=1e-5)
    assert set(rows["layer"].to_pylist()) == {found.rows["layer"][0].as_py()}
    assert found.rows["layer"][0].as_py() < 0
    assert found.layer("0+1")["relative"] == pytest.approx(np.median(rows["relative"].to_numpy()), rel=1e-6)


def test_a_change_of_the_weights_is_the_same_in_any_company():
    module, images, labels = linear()
    whole = brittle.layer_changes(module, (images, labels), layers="0+weights", rate=0.02, batch=56).rows
    alone = brittle.layer_changes(module, (images[4:5], labels[4:5]), layers="0+weights", rate=0.02, batch=1).rows
    row = next(each for each in whole.to_pylist() if each["image"] == 4)
    for column in ("layer", "target", "reached", "calls"):
        assert alone[column][0].as_py() == row[column]
    for column in ("linf", "l2", "rms", "relative", "log_p"):
        assert alone[column][0].as_py() == pytest.approx(row[column], rel=1e-5)


def test_of_many_layers_the_same_are_searched_as_are_disturbed():
    many = ("input", *(f"block{number}" for number in range(99)), "weights")
    noisy, searched = LayerNoise().chosen(many), LayerChanges().chosen(many)
    assert searched == noisy[:-1]
    assert searched[-1].number == 99
    assert [each.number for each in LayerChanges(layers=("*",)).chosen(many)] == list(range(100))


class Opaque:
    """A classifier with layers and without gradients."""

    labels, can = ("a", "b"), frozenset()

    def __init__(self, module):
        self.inner = brittle.classifier(module)

    @property
    def layers(self):
        return self.inner.layers

    def check(self, images):
        self.inner.check(images)

    def perturbed(self, layer, change):
        return self.inner.perturbed(layer, change)

    def log_probs(self, images):
        return self.inner.log_probs(images)


def test_a_layered_classifier_without_gradients_takes_noise_and_is_refused_a_search():
    module, images, labels = linear()
    noisy = brittle.layer_noise(Opaque(module), (images, labels), layers="input", step=0.5, limit=1)
    assert noisy["correct"] == 7
    with pytest.raises(BrittleError, match=r"needs a differentiable classifier.*has no logits"):
        brittle.layer_changes(Opaque(module), (images, labels), layers="input", **SEARCH)


def test_nothing_is_left_behind_by_a_search():
    module, images, labels = linear()
    parameters = dict(module.named_parameters())
    before = [each.clone() for each in module.parameters()]
    brittle.layer_changes(module, (images, labels), layers="0,1,weights,0+weights", **SEARCH)
    assert list(module.named_parameters()) == list(parameters.items())
    assert all(map(torch.equal, before, module.parameters()))
    assert all(each.grad is None for each in module.parameters())
    assert not any(part._forward_hooks or part._forward_pre_hooks for part in module.modules())
