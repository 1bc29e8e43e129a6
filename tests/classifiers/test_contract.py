"""What every adapted classifier promises, and what it says when outputs won't do."""

import numpy as np
import pytest
import torch
from torch import nn

from brittle.classifiers import classifier, classifiers
from brittle.classifiers.base import AdaptedClassifier
from brittle.errors import BrittleError, Failure
from brittle.registry import options_of
from brittle.types import Classifier


def linear_scores(images):
    return images.flatten(1)[:, :5] * 4 - 2


def test_logits_and_their_softmax_are_told_apart_and_agree(images):
    logits = classifier(linear_scores)
    probabilities = classifier(lambda x: linear_scores(x).softmax(1))
    expected = linear_scores(images).double().log_softmax(1).float()
    assert torch.allclose(logits.log_probs(images), expected, atol=1e-6)
    assert torch.allclose(probabilities.log_probs(images), expected, atol=1e-5)
    assert (logits.output, probabilities.output) == ("logits", "probabilities")


def test_output_said_wins_over_what_the_batch_looks_like(images):
    said = classifier(lambda x: linear_scores(x).softmax(1), output="logits")
    assert torch.allclose(said.log_probs(images), linear_scores(images).softmax(1).log_softmax(1), atol=1e-6)
    assert said.can == frozenset()


def test_log_probability_of_the_other_classes_is_finite_when_the_label_is_all_but_sure(images):
    # p(ℓ) = 1 − 1e-12 with K = 5: the other four logits lie log(4e12) below.
    below = float(np.log(4e12))
    found = classifier(lambda x: torch.tensor([0.0] + [-below] * 4).repeat(len(x), 1)).log_probs(images)
    others = torch.logsumexp(found[:, 1:], 1)
    assert torch.allclose(others, torch.full((7,), float(np.log(1e-12))), atol=1e-4)


def test_small_float64_probabilities_are_not_lost(images):
    row = torch.tensor([1 - 1e-60, 1e-60], dtype=torch.float64)
    found = classifier(lambda x: row.repeat(len(x), 1)).log_probs(images)
    assert found.dtype == torch.float32
    assert found[0, 1] == pytest.approx(-60 * np.log(10), rel=1e-6)


def test_a_probability_rounded_past_one_is_no_positive_logarithm(images):
    found = classifier(lambda x: torch.tensor([[1.0000004, 0.0]]).repeat(len(x), 1)).log_probs(images)
    assert found.tolist() == [[0.0, -np.inf]] * 7


def test_half_precision_scores_become_float32(images):
    found = classifier(lambda x: linear_scores(x).half()).log_probs(images)
    assert found.dtype == torch.float32
    assert torch.allclose(found.exp().sum(1), torch.ones(7), atol=1e-6)


def test_arrays_are_as_good_as_tensors_and_one_hot_rows_are_hard(images):
    found = classifier(lambda x: np.eye(3)[np.arange(len(x)) % 3])
    found.check(images)
    assert found.can == {"hard"}
    assert found.labels == ("0", "1", "2")
    assert found.log_probs(images)[1].tolist() == [-np.inf, 0.0, -np.inf]


def test_what_is_a_classifier_already_is_returned_as_it_is(images):
    class Mine:
        labels = ("a", "b")
        can = frozenset()

        def log_probs(self, images):
            return torch.zeros(len(images), 2)

    mine = Mine()
    assert classifier(mine) is mine
    adapted = classifier(linear_scores)
    assert isinstance(adapted, Classifier)
    assert classifier(adapted) is adapted
    with pytest.raises(BrittleError, match="is already a classifier and takes no mean"):
        classifier(mine, mean=0.5)


def test_labels_come_from_a_file_or_from_names(tmp_path, images):
    (tmp_path / "names.txt").write_text("ant\nbee\ncat\ndog\nemu\n")
    for labels in (str(tmp_path / "names.txt"), "ant/bee/cat/dog/emu", ("ant", "bee", "cat", "dog", "emu")):
        found = classifier(linear_scores, labels=labels)
        found.check(images)
        assert found.labels == ("ant", "bee", "cat", "dog", "emu")


def test_the_first_batch_is_computed_once_and_later_batches_are_not_looked_into(images):
    calls = []
    found = classifier(lambda x: calls.append(len(x)) or linear_scores(x))
    found.log_probs(images)
    assert calls == [7]
    spoilt = images.clone()
    spoilt[0] = torch.nan
    assert found.log_probs(spoilt)[0].isnan().all()


@pytest.mark.parametrize(
    ("scores", "options", "kind", "message"),
    [
        (lambda x: linear_scores(x) * torch.nan, {}, Failure, "NaN or infinite outputs for 7 of 7 images"),
        (lambda x: linear_scores(x)[:, :1], {}, BrittleError, "one number per image"),
        (lambda x: x, {}, BrittleError, "outputs of 7×1×8×8 for 7 images"),
        (lambda x: linear_scores(x)[:3], {}, BrittleError, "outputs of 3×5 for 7 images"),
        (lambda x: linear_scores(x)[0], {}, BrittleError, "outputs of 5 for 7 images"),
        (linear_scores, {"labels": "a/b"}, BrittleError, "5 classes but has 2 label names"),
        (linear_scores, {"output": "probabilities"}, BrittleError, r"not give probabilities.*Set output=logits"),
        (lambda x: torch.full((7, 4), 0.3), {"output": "probabilities"}, BrittleError, "sum to 1.2"),
    ],
)
def test_outputs_that_will_not_do_are_one_line(images, scores, options, kind, message):
    with pytest.raises(kind, match=message) as caught:
        classifier(scores, **options).check(images)
    assert "\n" not in str(caught.value)
    assert caught.value.remedy
    assert caught.value.exit_status == (1 if kind is Failure else 2)


def test_a_change_in_the_number_of_classes_is_noticed(images):
    widths = iter((5, 4))
    found = classifier(lambda x: linear_scores(x)[:, : next(widths)])
    found.check(images)
    with pytest.raises(Failure, match="outputs of 7×4 for 7 images"):
        found.log_probs(images)


@pytest.mark.parametrize(
    ("what", "options", "message"),
    [
        ("onx:model.onnx", {}, "Did you mean 'onnx'"),
        ("torch", {}, "needs 'factory'"),
        (3, {}, "int is not a classifier"),
        (nn.Identity, {}, "is a class"),
        (linear_scores, {"men": 0.5}, "Did you mean 'mean'"),
        (linear_scores, {"output": "logit"}, "Did you mean 'logits'"),
        (linear_scores, {"labels": "nowhere.txt"}, "there is no such file"),
        ("python:os.path:sep", {}, "not a function"),
    ],
)
def test_a_wrong_word_is_answered_with_the_right_one(what, options, message):
    with pytest.raises(BrittleError, match=message):
        classifier(what, **options)


def test_failures_that_are_not_the_shapes_pass_through(images):
    def exhausted(x):
        raise torch.OutOfMemoryError("out of memory")

    with pytest.raises(torch.OutOfMemoryError):
        classifier(exhausted).log_probs(images)


@pytest.mark.parametrize("device", ["gpu", "cuda:99", "meta", "xla"])
def test_a_device_that_is_not_there_is_one_line(device):
    with pytest.raises(BrittleError, match=f"device '{device}'.*Use cpu") as caught:
        classifier(nn.Linear(3, 2), device=device)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", classifiers.names())
def test_every_option_has_help(name):
    assert all(field.metadata["help"] for field in options_of(classifiers.get(name)).values())


@pytest.mark.parametrize("name", ["torch", "onnx", "sklearn", "python"])
def test_the_common_options_are_everywhere(name):
    common = {"size", "crop", "mean", "std", "channels", "range", "layout", "output", "labels"}
    assert common <= set(options_of(classifiers.get(name)))


def test_a_spec_carries_every_option_and_can_be_written_again():
    text = "python:os.path:join,size=20x30,crop=16,channels=rgb,range=255,mean=1/2/3,std=0.5,layout=nhwc,labels=a/b"
    loader = classifiers.build(text)
    assert (loader.size, loader.crop, loader.mean, loader.std) == ("20x30", 16, (1.0, 2.0, 3.0), 0.5)
    assert classifiers.build(classifiers.spec_of(loader)) == loader


def test_the_contract_is_final():
    assert AdaptedClassifier.log_probs.__final__


def test_a_classifier_is_shown_in_one_line(network, images):
    found = classifier(network)
    assert repr(found) == "<TorchClassifier 'Sequential'>"
    found.log_probs(images)
    assert repr(found) == "<TorchClassifier 'Sequential': 5 classes>"
    assert repr(classifier("bundled:plain")).startswith("<TorchClassifier 'bundled:plain': 10 classes")
