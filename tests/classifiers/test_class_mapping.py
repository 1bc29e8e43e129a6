"""Mapped classes: against averages worked out by hand, and against the places that others have published."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from torch import nn

from brittle import imagenet
from brittle.classifiers import classifier
from brittle.classifiers.class_mapping import class_mapping
from brittle.errors import BrittleError
from brittle.types import Differentiable, Layered

# Places among ImageNet's thousand that model-vs-human (github.com/bethgelab/model-vs-human, human_categories.py) lists.
PUBLISHED = {
    "airplane": [404],
    "bear": [294, 295, 296, 297],
    "bicycle": [444, 671],
    "boat": [472, 554, 625, 814, 914],
    "bottle": [440, 720, 737, 898, 899, 901, 907],
    "car": [436, 511, 817],
    "cat": [281, 282, 283, 284, 285, 286],
    "chair": [423, 559, 765, 857],
    "clock": [409, 530, 892],
    "elephant": [385, 386],
    "keyboard": [508, 878],
    "knife": [499],
    "oven": [766],
    "truck": [555, 569, 656, 675, 717, 734, 864, 867],
}
PROBABILITIES = torch.tensor([[0.4, 0.1, 0.05, 0.15, 0.3], [0.0, 0.2, 0.2, 0.1, 0.5]])


def members(pooling):
    return [sorted(row[there].tolist()) for row, there in zip(pooling.places, pooling.there, strict=True)]


def given(images):
    return PROBABILITIES.expand(2, 5)[: len(images)]


@pytest.mark.parametrize(
    ("within", "first", "second"),
    [
        # mean: (0.4 + 0.1) / 2 = 0.25 against (0.05 + 0.15) / 2 = 0.1; then 0.1 against 0.15
        ("mean", [0.25 / 0.35, 0.1 / 0.35], [0.1 / 0.25, 0.15 / 0.25]),
        ("sum", [0.5 / 0.7, 0.2 / 0.7], [0.2 / 0.5, 0.3 / 0.5]),
    ],
)
def test_probabilities_are_joined_within_a_class_and_normalised_over_classes(within, first, second):
    """The last class belongs to none."""
    mapped = classifier(given, classes={"a": [0, 1], "b": [2, 3]}, within=within)
    found = mapped.log_probs(torch.rand(2, 1, 4, 4)).exp()
    assert mapped.labels == ("a", "b")
    assert torch.allclose(found, torch.tensor([first, second]), atol=1e-6)


def test_mean_and_sum_differ_where_classes_are_of_different_size():
    sizes = {"many": [0, 1, 2], "one": [3]}
    by_mean, by_sum = (classifier(given, classes=sizes, within=each) for each in ("mean", "sum"))
    images = torch.rand(1, 1, 4, 4)
    assert torch.allclose(by_mean.log_probs(images).exp(), torch.tensor([[0.55 / 3, 0.15]]) / (0.55 / 3 + 0.15))
    assert torch.allclose(by_sum.log_probs(images).exp(), torch.tensor([[0.55, 0.15]]) / 0.7)


def test_imagenet_16_has_207_classes_where_others_found_them():
    mapping = class_mapping("imagenet-16")
    pooling = mapping.resolved(None, 1000, "it")
    found = dict(zip(mapping.names, members(pooling), strict=True))
    assert {name: found[name] for name in PUBLISHED} == PUBLISHED
    assert (len(found["bird"]), len(found["dog"]), sum(map(len, found.values()))) == (49, 109, 207)
    assert found["bird"][:3] == [8, 10, 11]
    assert (found["dog"][0], found["dog"][-1]) == (152, 268)


def test_imagenet_ids_are_sorted_and_known():
    """Tench is the first, toilet tissue the last, and the tabby cat is number 281."""
    ids = imagenet.ids()
    assert list(ids) == sorted(set(ids))
    assert (len(ids), ids[0], ids[-1], ids[281]) == (1000, "n01440764", "n15075141", "n02123045")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("m.json", json.dumps({"animal": ["cat", 3], "thing": ["n03041632"]})),
        ("m.toml", 'animal = ["cat", 3]\nthing = ["n03041632"]\n'),
        ("m.csv", "class,member\nanimal,cat\nanimal,3\nthing,n03041632\n"),
    ],
)
def test_files_name_members_by_label_number_or_wordnet_id(tmp_path, name, content):
    (tmp_path / name).write_text(content)
    labels = ("x", "n03041632 cleaver", "cat", "y")
    pooling = class_mapping(str(tmp_path / name)).resolved(labels, 4, "it")
    assert members(pooling) == [[2, 3], [1]]


def test_every_kind_of_classifier_can_be_mapped():
    images = torch.rand(6, 1, 2, 2)
    numbers = images.flatten(1).numpy()
    estimator = LogisticRegression().fit(numbers, [0, 1, 2, 0, 1, 2])
    whole = torch.from_numpy(estimator.predict_proba(numbers)).float()
    expected = torch.stack([whole[:, 0], whole[:, 1:].mean(1)], 1)
    found = classifier(estimator, classes={"a": [0], "b": [1, 2]}).log_probs(images).exp()
    assert torch.allclose(found, expected / expected.sum(1, keepdim=True), atol=1e-6)


def test_a_spec_can_be_mapped(tmp_path):
    (tmp_path / "m.toml").write_text('shoes = ["Sandal", "Sneaker", "Ankle boot"]\nother = ["Bag", "Coat", 0]\n')
    images = torch.rand(4, 1, 28, 28)
    plain, mapped = classifier("bundled:plain"), classifier(f"bundled:plain,classes={tmp_path / 'm.toml'},within=sum")
    p = plain.log_probs(images).exp()
    expected = torch.stack([p[:, [5, 7, 9]].sum(1), p[:, [8, 4, 0]].sum(1)], 1)
    assert mapped.labels == ("shoes", "other")
    assert torch.allclose(mapped.log_probs(images).exp(), expected / expected.sum(1, keepdim=True), atol=1e-5)


def test_gradients_and_layers_stay():
    module = nn.Sequential(nn.Flatten(), nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 4))
    mapped = classifier(module, classes={"a": [0, 1], "b": [2, 3]})
    images = torch.rand(3, 1, 2, 2, requires_grad=True)
    logits = mapped.logits(images)
    mapped.check(images.detach())
    assert isinstance(mapped, Differentiable)
    assert isinstance(mapped, Layered)
    assert mapped.layers == ("input", "1", "2", "3", "weights")
    assert torch.allclose(logits.softmax(1), mapped.log_probs(images).exp(), atol=1e-6)
    (slope,) = torch.autograd.grad(logits[:, 0].sum(), images)
    assert slope.abs().sum() > 0


def test_a_tiny_probability_keeps_its_logarithm():
    mapped = classifier(lambda _: torch.tensor([[200.0, 0.0, 0.0]]), classes={"a": [0], "b": [1, 2]}, output="logits")
    assert mapped.log_probs(torch.rand(1, 1, 2, 2))[0, 1] == pytest.approx(-200)


@pytest.mark.parametrize(
    ("classes", "said"),
    [
        ({"a": [0]}, "at least two classes"),
        ({"a": [0], "b": []}, "not a list of members"),
        ({"a": [0], "b": [1.5]}, "not a list of members"),
        ({"a": [0], "b": [0]}, "belongs to 'a' and 'b'"),
        ({"a": [0, 0], "b": [1]}, "stands twice in 'a'"),
        ({"a": [0], "b": [5]}, "has no class 5"),
        ({"a": [0], "b": ["rat"]}, "has no class 'rat'"),
        ({"a": [0], "b": ["n02123045"]}, "none with the WordNet id"),
        ("imagenet-17", "no such file"),
        (3, "of type int"),
    ],
)
def test_mappings_that_make_no_sense_are_refused(classes, said):
    with pytest.raises(BrittleError, match=said):
        classifier(given, classes=classes).log_probs(torch.rand(2, 1, 4, 4))


@pytest.mark.parametrize(("name", "content"), [("m.json", "{"), ("m.csv", "a,b\n"), ("m.txt", "a"), ("m.toml", "=")])
def test_files_that_hold_no_mapping_are_refused(tmp_path, name, content):
    (tmp_path / name).write_text(content)
    with pytest.raises(BrittleError, match="classes="):
        class_mapping(Path(tmp_path / name))


def test_a_hard_classifier_needs_a_mapping_of_all_its_classes():
    """An image that goes to a class outside would have the probability 0 of every mapped class."""

    def hard(images):
        return torch.eye(3)[torch.arange(len(images)) % 3]

    with pytest.raises(BrittleError, match="leaves classes out"):
        classifier(hard, classes={"a": [0], "b": [1]}).log_probs(torch.rand(3, 1, 2, 2))
    whole = classifier(hard, classes={"a": [0, 2], "b": [1]}).log_probs(torch.rand(3, 1, 2, 2))
    assert np.array_equal(whole.argmax(1), [0, 1, 0])
