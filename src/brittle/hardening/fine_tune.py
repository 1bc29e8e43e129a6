"""Fine-tunes a classifier on transformed images mixed with clean ones, through its own preprocessing."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.modules.batchnorm import _BatchNorm

from brittle.classifiers.torch_module import TorchClassifier
from brittle.errors import BrittleError, Failure
from brittle.hardening.pools import Pool, PoolBatch
from brittle.libraries import first_line
from brittle.memory import in_pieces, out_of_memory
from brittle.random import draw_keys, fold, stream_root
from brittle.training.augmentation import DrawnNumbers
from brittle.training.data import TrainingImages
from brittle.training.options import Recipe
from brittle.training.step import Step
from brittle.training.trainer import optimiser_for, random_state
from brittle.types import Batch, Nuisance

ANSWERED_AT_ONCE = 1 << 20  # numbers
TINY = 1e-30  # least probability, so that its logarithm is finite


class PreprocessedModule(nn.Module):
    """images (B, C, H, W) in [0, 1] → unnormalised log p(c | x) (B, K), with gradients to the module's weights."""

    def __init__(self, classifier: TorchClassifier) -> None:
        super().__init__()
        self.module, self.classifier = classifier.module, classifier
        self.dtype = next(classifier.module.parameters()).dtype

    def forward(self, images: Tensor) -> Tensor:
        outputs = self.module(self.classifier.preprocess(images).to(self.dtype))
        scores: Tensor = getattr(outputs, "logits", outputs).float()
        return scores if self.classifier.output == "logits" else scores.clamp(min=TINY).log()


def check_trainable(classifier: TorchClassifier, data: TrainingImages) -> None:
    """Raises a one-line error for what would fail in the first step, before anything is sampled."""
    network = _in_training(classifier)
    if network.dtype == torch.float16:
        said = f"{classifier.name} has float16 weights, with which training fails"
        raise BrittleError(said, "Convert it to float32: module.float().")
    batch = data.batch(torch.arange(min(2, len(data)), device=data.device))
    try:
        optimiser_for(Recipe(), network)
        with random_state(data.device, 0):
            F.cross_entropy(network(batch.images), batch.labels).backward()  # type: ignore[no-untyped-call]
    except Exception as error:
        if out_of_memory(error):
            raise
        raise BrittleError(
            f"{classifier.name} can't be trained: {first_line(error)}",
            "In training mode it must return scores (images, classes) through which gradients flow.",
        ) from error
    finally:
        network.zero_grad(set_to_none=True)
        network.eval()


def _in_training(classifier: TorchClassifier) -> PreprocessedModule:
    network = PreprocessedModule(classifier).train()
    for layer in network.modules():
        if isinstance(layer, _BatchNorm):
            layer.eval()
    return network


def fine_tune(
    classifier: TorchClassifier,
    data: TrainingImages,
    nuisance: Nuisance,
    pool: Pool,
    recipe: Recipe,
    *,
    steps: int,
    transformed: int,
    answers: Tensor,
    anchor: float,
    seed: int,
    stream: str,
    tick: Callable[[int], None] = lambda _: None,
) -> float:
    """Trains the classifier's module in place and returns the mean loss.

    In each batch of `recipe.batch` images, the first `transformed` come from the pool, and the others are unchanged
    training images. `answers` (n, K) are the original classifier's probabilities for each training image. They are the
    target for clean images, so that the classifier forgets nothing. The target for a transformed image is its label,
    mixed with a share `anchor` of the answer for its clean version, which says which classes are easily confused.
    Batch normalisation keeps the statistics of the images that the classifier was originally trained on.
    """
    clean_per_step = recipe.batch - transformed
    clean = _order(data, steps * clean_per_step, seed, stream)
    ones = torch.ones(clean_per_step, device=data.device)
    rows: Tensor
    picked: PoolBatch

    def mixed(batch: Batch, drawn: DrawnNumbers) -> Batch:
        first = batch.take(torch.arange(transformed, device=batch.images.device))
        warped = nuisance.apply(first, picked.theta(first))
        wanted = answers[rows]
        labels = F.one_hot(first.labels, answers.shape[1]).to(answers.dtype)
        wanted[:transformed] = (1 - anchor) * labels + anchor * wanted[:transformed]
        extras = {"wanted": wanted, "weight": torch.cat((picked.weight, ones))}
        return batch._replace(images=torch.cat((warped, batch.images[transformed:])), extras=extras)

    network = _in_training(classifier)
    step = Step(network, optimiser_for(recipe, network), data, weighted_cross_entropy, mixed)
    try:
        with random_state(data.device, int(fold(stream_root(seed, stream), 1))):  # of dropout
            for number in range(steps):
                picked = pool.at(slice(number * transformed, (number + 1) * transformed))
                rows = torch.cat((picked.rows, clean[number * clean_per_step : (number + 1) * clean_per_step]))
                step(rows, recipe.rate_at(number / steps))
                tick(recipe.batch)
    finally:
        network.eval()
    loss = float(step.totals) / (steps * recipe.batch)
    if not math.isfinite(loss):
        raise Failure(
            f"the loss was {loss} while hardening {classifier.name}",
            "Lower the learning rate (--lr), and use another --out.",
        )
    return loss


def weighted_cross_entropy(scores: Tensor, batch: Batch) -> Tensor:
    """The mean of weight · cross-entropy with the wanted distribution."""
    each = F.cross_entropy(scores, batch.extras["wanted"], reduction="none")
    return (batch.extras["weight"] * each).mean()


@torch.inference_mode()
def answers_of(classifier: TorchClassifier, data: TrainingImages) -> Tensor:
    """p(c | x) (n, K) for all training images."""
    size = max(1, ANSWERED_AT_ONCE // math.prod(data.set.shape))
    every = torch.arange(len(data), device=data.device)
    parts = [in_pieces(classifier.log_probs, data.batch(rows).images) for rows in torch.split(every, size)]
    return torch.cat(parts).exp()


def _order(data: TrainingImages, count: int, seed: int, stream: str) -> Tensor:
    """`count` rows: all images in a random order, then again in another, and so on."""
    passes = torch.arange(-(-count // len(data)), device=data.device)
    keys = draw_keys(seed, f"{stream} order", data.ids, passes)
    return torch.argsort(keys, dim=0, stable=True).T.flatten()[:count]
