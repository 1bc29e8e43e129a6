"""A classifier on its first few images: what it answers, and whether it keeps to what resuming and pairing rest on.

It should leave its input alone, say the same when it is asked again, and look at each image by itself. One that changes
its input is handed a copy from then on; the rest can only be reported.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from brittle.classifiers.base import AdaptedClassifier, layouts
from brittle.memory import slices
from brittle.types import Classifier, Differentiable, Remarks, SettlesOnImages

FAINTEST = -15.0  # log-probability below which devices differ
SAME = 0.01  # in log-probability: more than rounding makes of another batch, less than dropout does


class ClassifierTrial(NamedTuple):
    """What was found."""

    classifier: Classifier  # as it is used from now on
    answers: Tensor  # log p(c | x) (B, K), no less than FAINTEST
    copies: bool  # whether it changes its input
    unsteady: float = 0.0  # the most that a probability differs when it is asked again
    mixing: float = 0.0  # the most that a probability differs when the batch is another


class ClassifierGivenCopies:
    """Somebody's classifier that changes its input, given a copy of it each time."""

    def __init__(self, inner: Classifier) -> None:
        self.inner = inner

    def __getattr__(self, name: str) -> Any:
        if name == "submit":  # what it is given would be no copy
            raise AttributeError(name)
        return getattr(self.inner, name)

    @property
    def labels(self) -> Any:
        return self.inner.labels

    @property
    def can(self) -> frozenset[str]:
        return self.inner.can

    def log_probs(self, images: Tensor) -> Tensor:
        return self.inner.log_probs(images.clone())


def without_copies(classifier: Classifier) -> Classifier:
    """The classifier itself, not what gives it copies."""
    return classifier.inner if isinstance(classifier, ClassifierGivenCopies) else classifier


def settle(classifier: Classifier, images: Tensor) -> Classifier:
    """The classifier once a first batch has shown what its outputs are, where it needs one, and has a copy of its
    input where it changes it."""
    asked = without_copies(classifier)
    if isinstance(asked, SettlesOnImages):
        asked.check(images.clone())
    if isinstance(classifier, (AdaptedClassifier, ClassifierGivenCopies)):
        return classifier
    return ClassifierGivenCopies(classifier) if _changes(classifier, images) else classifier


def _changes(classifier: Classifier, images: Tensor) -> bool:
    with torch.inference_mode():
        for given in layouts(images):
            classifier.log_probs(given)
            if not torch.equal(given, images):
                return True
    return False


def try_classifier(classifier: Classifier, images: Tensor, size: int) -> ClassifierTrial:
    """Asks a classifier about images (B, C, H, W), at most `size` at once."""
    classifier = settle(classifier, images[:size])
    copies = isinstance(classifier, ClassifierGivenCopies) or (
        isinstance(classifier, AdaptedClassifier) and classifier.copies
    )
    answers, again = _answers(classifier, images, size), _answers(classifier, images, size)
    if not _same(answers, again):
        return ClassifierTrial(classifier, answers, copies, unsteady=_greatest_difference(answers, again))
    # In two halves; an image that is alone, beside its negative.
    half = len(images) // 2
    if half:
        parted = torch.cat([_answers(classifier, images[:half], size), _answers(classifier, images[half:], size)])
    else:
        parted = _answers(classifier, torch.cat([images, 1 - images]), max(size, 2))[:1]
    mixing = 0.0 if _same(answers, parted) else _greatest_difference(answers, parted)
    return ClassifierTrial(classifier, answers, copies, mixing=mixing)


def gradients_flow(classifier: Differentiable, images: Tensor) -> bool:
    """Whether the logits of images (B, C, H, W) depend on them as far as autograd can tell."""
    with torch.enable_grad():
        point = images.clone().requires_grad_()
        logits = classifier.logits(point)
        if not logits.requires_grad:
            return False
        (slope,) = torch.autograd.grad(logits.sum(), point, allow_unused=True)
    return slope is not None


def _answers(classifier: Classifier, images: Tensor, size: int) -> Tensor:
    with torch.inference_mode():
        found = [classifier.log_probs(images[part]).cpu() for part in slices(len(images), size)]
    return torch.cat(found).clamp(min=FAINTEST)


def _same(first: Tensor, second: Tensor) -> bool:
    """NaN is reported elsewhere."""
    return not bool(((first - second).abs() > SAME).any())


def _greatest_difference(first: Tensor, second: Tensor) -> float:
    return float((first.exp() - second.exp()).abs().nan_to_num().max())


def trial_warnings(name: str, trial: ClassifierTrial) -> list[str]:
    """What a reader of the numbers must know, a sentence each."""
    classifier = without_copies(trial.classifier)
    remarks = classifier.remarks if isinstance(classifier, Remarks) else ()
    said = [f"the classifier {name!r} {remark}" for remark in remarks]
    if trial.copies:
        said.append(
            f"the classifier {name!r} changes the images that it is given in place; it gets a copy of its own, and "
            "would be faster if it computed new values instead"
        )
    if trial.unsteady:
        said.append(
            f"the classifier {name!r} is not deterministic: asked again about the same images, its probabilities "
            f"differ by up to {trial.unsteady:.2g}; a resumed run gives other rows, and paired differences hold its "
            "own noise too"
        )
    if trial.mixing:
        said.append(
            f"what the classifier {name!r} says of an image depends on the other images of the batch: its "
            f"probabilities differ by up to {trial.mixing:.2g}; rows then depend on the batch size and on where a run "
            "was resumed"
        )
    return said
