"""The hot loop: classify T_θ x for many (image, draw) pairs, each transformed once for all classifiers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from brittle.random import fold, stream_root
from brittle.types import Batch, Classifier, Nuisance

COLUMNS = ("log_p_label", "log_p_other", "predicted", "log_p_predicted", "rank")


class Pairs(NamedTuple):
    """Which image of a batch with which draw, one row each."""

    rows: Tensor  # (R,) place of the image in the batch
    draws: Tensor  # (R,) draw number


def all_pairs(count: int, first_draw: int, end_draw: int) -> Pairs:
    """Every image with every draw, image by image."""
    draws = torch.arange(first_draw, end_draw)
    return Pairs(torch.arange(count).repeat_interleave(len(draws)), draws.repeat(count))


def outcomes(log_probs: Tensor, labels: Tensor) -> Tensor:
    """log p(c | x) (B, K) and labels (B,) → (B, 5) float32 in the order of COLUMNS.

    log p(not ℓ) is the log-sum-exp of the other classes: log(1 − p) would be −∞ for every confident classifier.
    """
    column = labels[:, None]
    label = log_probs.gather(1, column)
    other = log_probs.scatter(1, column, -torch.inf).logsumexp(1)
    top, predicted = log_probs.max(1)
    # A class as probable as the label and listed before it is what `max` predicts, so it counts as ahead.
    before = torch.arange(log_probs.shape[1], device=labels.device) < column
    rank = ((log_probs > label) | ((log_probs == label) & before)).sum(1)
    return torch.stack((label[:, 0], other, predicted.to(top.dtype), top, rank.to(top.dtype)), dim=1)


def draw_theta(nuisance: Nuisance, batch: Batch, draws: Tensor, root: Tensor) -> Tensor:
    """θ (B, d) for one draw number per image; `root` is the key of (seed, nuisance)."""
    keys = fold(fold(root, batch.ids), draws)
    return nuisance.sample(batch, keys[:, None])[:, 0]


def slices(total: int, size: int) -> Iterator[slice]:
    return (slice(start, min(start + size, total)) for start in range(0, total, size))


@torch.inference_mode()
def evaluate_draws(
    batch: Batch,
    pairs: Pairs,
    nuisance: Nuisance,
    stream: str,
    seed: int,
    classifiers: Mapping[str, Classifier],
    references: Mapping[str, Tensor],
    batch_size: int,
) -> dict[str, Tensor]:
    """Outcomes (R, 5) per classifier, left on the device; `references` holds each classifier's labels (B,)."""
    device = batch.images.device
    rows, draws = pairs.rows.to(device), pairs.draws.to(device)
    root = stream_root(seed, stream, device)
    found: dict[str, list[Tensor]] = {name: [] for name in classifiers}
    for part in slices(len(rows), batch_size):
        chosen = batch.take(rows[part])
        transformed = nuisance.apply(chosen, draw_theta(nuisance, chosen, draws[part], root))
        for name, classifier in classifiers.items():
            found[name].append(outcomes(classifier.log_probs(transformed), references[name][rows[part]]))
    return {name: torch.cat(parts) for name, parts in found.items()}


@torch.inference_mode()
def evaluate_clean(
    batch: Batch, classifiers: Mapping[str, Classifier], references: Mapping[str, Tensor], batch_size: int
) -> dict[str, Tensor]:
    """Outcomes (B, 5) per classifier on the untouched images; UNLABELLED ones refer to the prediction itself."""
    found: dict[str, list[Tensor]] = {name: [] for name in classifiers}
    for part in slices(len(batch.images), batch_size):
        for name, classifier in classifiers.items():
            log_probs = classifier.log_probs(batch.images[part])
            labels = references[name][part]
            found[name].append(outcomes(log_probs, torch.where(labels < 0, log_probs.argmax(1), labels)))
    return {name: torch.cat(parts) for name, parts in found.items()}
