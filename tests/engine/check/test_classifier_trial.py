"""Classifiers that spoil their input, change their minds or look at the whole batch: found out on the first images."""

import numpy as np
import pytest
import torch
from torch import nn

from brittle.api import compare, measure, perturb, run
from brittle.classifiers import classifier
from brittle.errors import BrittleError
from brittle.report.html import write_report

pytestmark = pytest.mark.warned("is near chance on the untouched images", "has a mean confidence of")

MEAN, STD = 0.4, 0.2


def images(count=24, channels=1):
    random = np.random.default_rng(3)
    return random.random((count, channels, 8, 8), dtype=np.float32), random.integers(0, 4, count)


def weights(channels=1):
    return torch.randn(64 * channels, 4, generator=torch.Generator().manual_seed(1)) / 4


def careful(given):
    return ((given - MEAN) / STD).flatten(1) @ weights(given.shape[1])


def careless(given):
    return given.sub_(MEAN).div_(STD).flatten(1) @ weights(given.shape[1])


class Net(nn.Module):
    """A convolution, so that the input is laid out anew; in colour only an input that is laid out so shows it."""

    def __init__(self, scores):
        super().__init__()
        self.scores, self.convolution = scores, nn.Conv2d(1, 1, 1)

    def forward(self, given):
        return self.scores(given)


class Own:
    """A classifier by protocol alone."""

    labels = tuple("abcd")
    can = frozenset()

    def __init__(self, scores):
        self.scores = scores

    def log_probs(self, given):
        return self.scores(given).log_softmax(1)


def numbers(result):
    return {key: value for key, value in result.items() if key not in ("classifier", "warnings")}


@pytest.mark.warned("changes the images that it is given in place; it gets a copy")
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("made", [lambda scores: scores, Net, Own], ids=["function", "module", "protocol"])
def test_equal_classifiers_are_equal_though_they_change_their_input(made, channels):
    both = {"a": made(careless), "b": made(careless), "c": made(careful)}
    found = compare(both, images(channels=channels), "affine:alpha=20", samples=4)
    a, b, c = found["results"]
    assert numbers(a) == numbers(b) == numbers(c)
    said = [text for text in found.summary["warnings"] if "in place" in text]
    assert [text.split("'")[1] for text in said] == ["a", "b"]


def test_a_layout_that_hides_a_changed_input_is_not_the_only_one_tried():
    colour = torch.from_numpy(images(channels=3)[0])
    adapted = classifier(Net(careless))
    adapted.check(colour)
    laid_out = colour.contiguous(memory_format=torch.channels_last)
    kept = laid_out.clone()
    adapted.log_probs(laid_out)
    assert torch.equal(laid_out, kept)
    assert adapted.copies


def test_who_leaves_the_input_alone_gets_no_copy():
    adapted = classifier(careful)
    adapted.check(torch.from_numpy(images()[0]))
    assert not adapted.copies


@pytest.mark.warned("asked again about the same images, its probabilities differ")
def test_a_classifier_that_is_not_deterministic_is_told():
    found = measure(lambda given: careful(given) + torch.rand(len(given), 4), images(), "affine", samples=2)
    assert [text for text in found["warnings"] if "is not deterministic" in text]


@pytest.mark.warned("rows then depend on the batch size", "this prior may destroy the label")
@pytest.mark.parametrize("count", [1, 24])
def test_a_classifier_that_looks_at_the_whole_batch_is_told(count):
    def normalised(given):
        return careful(given - given.mean((0, 2, 3), keepdim=True) / 2)

    def said(scores):
        return "\n".join(measure(scores, images(count), "affine", samples=2)["warnings"])

    assert "depends on the other images of the batch" in said(normalised)
    assert "depends on the other images of the batch" not in said(careful)


@pytest.mark.warned("asked again about the same images, its probabilities differ")
def test_what_was_told_stands_in_the_report_and_a_noisy_run_can_be_resumed(things):
    module = things.folder / "things.py"
    module.write_text(
        module.read_text() + "\n\ndef noisy(images):\n    return first(images) + torch.rand(len(images), 4)\n"
    )
    study = things.study("noisy", nuisances=["affine:alpha=20"])
    first = run(study, out=things.out)
    assert "is not deterministic" in "\n".join(first["warnings"])
    assert "is not deterministic" in write_report(things.out).read_text()
    assert "is not deterministic" in "\n".join(run(study, out=things.out)["warnings"])


@pytest.mark.parametrize("how", ["detach", "no_grad"])
def test_a_module_that_lets_no_gradient_through_is_refused_where_gradients_are_needed(how):
    class Stopped(nn.Module):
        def __init__(self):
            super().__init__()
            self.last = nn.Linear(16, 3)

        def forward(self, images):
            if how == "detach":
                return self.last(images.detach().flatten(1))
            with torch.no_grad():
                return self.last(images.flatten(1))

    shown = torch.rand(4, 1, 4, 4), torch.tensor([0, 1, 2, 0])
    with pytest.raises(BrittleError, match="needs gradients, and those of 'classifier' do not reach the images"):
        perturb(Stopped(), shown)
