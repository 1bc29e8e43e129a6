"""A plain trainer: any module, batches by index, a checkpoint after every epoch.

Everything random in an epoch (order, augmentation, dropout) depends only on (seed, epoch), so a training that was
killed resumes from its last epoch and ends with the weights it would have had: bit for bit on a CPU, with the same
number of threads. The learning rate depends only on the share of training done. There is no other state.
"""

from __future__ import annotations

import io
import itertools
import json
import math
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from brittle.differences import differences
from brittle.errors import BrittleError, Failure
from brittle.files import read_whole, write_durably
from brittle.memory import in_pieces
from brittle.progress import Progress
from brittle.random import draw_keys, fold, stream_root
from brittle.training.augmentation import BatchAugmentation, DrawnNumbers, KeyedTransform, Transform
from brittle.training.data import TrainingImages
from brittle.training.options import Recipe
from brittle.training.step import Loss, Step
from brittle.types import Batch

NOTHING: Mapping[str, Loss] = MappingProxyType({})
STEPS_PER_TICK = 20  # between updates of the progress bar
DRAWN_AT_ONCE = 1 << 23  # pixels, as if each image had a mask of its own
SCORED_AT_ONCE = 1 << 20  # numbers
BLOCK = 16  # channels that oneDNN computes at once


class TrainingHistory(NamedTuple):
    """How a training went."""

    losses: list[float]  # mean loss of each epoch
    resumed: int  # epochs that had been done before
    recorded: Mapping[str, list[float]] = MappingProxyType({})  # by name, those that were not minimised


class TestScore(NamedTuple):
    """How a classifier does on labelled images."""

    error: float  # share of images classified wrongly
    loss: float  # mean negative log-likelihood, in nats


def cross_entropy(logits: Tensor, batch: Batch) -> Tensor:
    return F.cross_entropy(logits, batch.labels)


def seeded(make: Callable[[], nn.Module], seed: int) -> nn.Module:
    """The module that `make` returns, with initial weights set by the seed; made on the CPU, the same anywhere."""
    with random_state(torch.device("cpu"), int(stream_root(seed, "first weights"))):
        return make()


def optimiser_for(recipe: Recipe, module: nn.Module) -> torch.optim.Optimizer:
    fused = next(module.parameters()).device.type == "cuda"
    if recipe.optimiser == "adamw":
        return torch.optim.AdamW(
            module.parameters(), recipe.rate, weight_decay=recipe.decay, fused=fused, capturable=fused
        )
    return torch.optim.SGD(module.parameters(), recipe.rate, recipe.momentum, weight_decay=recipe.decay, fused=fused)


def train(
    module: nn.Module,
    data: TrainingImages,
    recipe: Recipe,
    *,
    seed: int = 0,
    transform: Transform | BatchAugmentation | None = None,
    loss: Loss = cross_entropy,
    record: Mapping[str, Loss] = NOTHING,
    capture: bool = False,
    compiled: bool = False,
    checkpoint: Path | None = None,
    every: int = 1,
    about: Mapping[str, Any] | None = None,
    name: str = "training",
    progress: Progress | None = None,
) -> TrainingHistory:
    """Trains `module` in place, on the device that `data` is on.

    After each epoch, or `every` few, all that is needed to resume is written to `checkpoint`. A checkpoint found there
    is resumed if `about` (plain values that describe the training) has not changed since. The caller removes it.
    `record` names losses that are only recorded. `capture` and `compiled` are explained in `Step`.
    """
    progress = progress or Progress()
    module.to(data.device).train()
    # The faster layout for convolutions on a CPU and in bfloat16; values do not change.
    if (data.device.type == "cpu" or recipe.precision == "bfloat16") and _convolutions(module):
        module.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    optimiser = optimiser_for(recipe, module)
    known = [] if checkpoint is None else _resume(checkpoint, module, optimiser, about or {}, data.device)
    resumed = len(known)
    augmentation = KeyedTransform(transform) if callable(transform) else transform
    apply = None if augmentation is None else augmentation.apply
    half, others = recipe.precision == "bfloat16", tuple(record.values())
    step = Step(module, optimiser, data, loss, apply, half, capture, compiled, others)
    progress.start(len(data) * (recipe.epochs - resumed))
    for epoch in range(resumed, recipe.epochs):
        said = f" · loss {known[-1][0]:.4f}" if known else ""
        progress.at(f"{name} · epoch {epoch + 1}/{recipe.epochs}{said}")
        with _safely(module, data.device):
            means = _epoch(step, recipe, augmentation, epoch, seed, progress)
        if not math.isfinite(means[0]):
            raise Failure(
                f"{name}: the loss was {means[0]} in epoch {epoch + 1}",
                "Lower the learning rate (--lr), and use another --out." if checkpoint else "Lower the learning rate.",
            )
        known.append(means)
        if checkpoint is not None and len(known) % every == 0:
            _keep(checkpoint, module, optimiser, about or {}, known)
    losses, *recorded = (list(each) for each in zip(*known, strict=True))
    return TrainingHistory(losses, resumed, dict(zip(record, recorded, strict=True)))


def _epoch(
    step: Step, recipe: Recipe, augmentation: BatchAugmentation | None, epoch: int, seed: int, progress: Progress
) -> list[float]:
    """One pass over the images; returns the mean losses."""
    data, number = step.data, torch.tensor([epoch], device=step.data.device)
    order = torch.argsort(draw_keys(seed, "training order", data.ids, number)[:, 0], stable=True)
    keys = draw_keys(seed, "training transform", data.ids, number)[:, 0]
    step.totals.zero_()
    batches, ticked = _batches(order, recipe.batch), 0
    drawn = _drawn(augmentation, keys, batches, data.set.shape)
    with random_state(data.device, int(fold(stream_root(seed, "training dropout"), epoch))):
        for place, rows in enumerate(batches):
            step(rows, recipe.rate_at((epoch + place / len(batches)) / recipe.epochs), next(drawn))
            ticked += len(rows)
            if place % STEPS_PER_TICK == STEPS_PER_TICK - 1:
                progress.advance(ticked)
                ticked = 0
    progress.advance(ticked)
    return [total / len(data) for total in step.totals.tolist()]


def _drawn(
    augmentation: BatchAugmentation | None, keys: Tensor, batches: list[Tensor], shape: tuple[int, int, int]
) -> Iterator[DrawnNumbers]:
    """What is drawn for each batch; for several batches of one size at once."""
    for size, alike in itertools.groupby(batches, len):
        many = max(1, DRAWN_AT_ONCE // (size * math.prod(shape[1:])))
        for rows in torch.split(torch.stack(list(alike)), many):
            every = {} if augmentation is None else augmentation.draw(keys[rows], shape)
            yield from ({name: values[place] for name, values in every.items()} for place in range(len(rows)))


def _convolutions(module: nn.Module) -> list[nn.Conv2d]:
    return [part for part in module.modules() if isinstance(part, nn.Conv2d)]


@contextmanager
def _safely(module: nn.Module, device: torch.device) -> Iterator[None]:
    """Without oneDNN where strided 1×1 convolutions have few channels: there the backward pass of torch 2.13 writes
    beyond its memory when images are large and channels come last, and the process dies."""
    deadly = device.type == "cpu" and any(
        max(each.kernel_size) == 1 and max(each.stride) > 1 and each.in_channels < BLOCK
        for each in _convolutions(module)
    )
    set_flags = torch.backends.mkldnn.set_flags  # `flags` also sets what only Intel's GPUs have, with a warning
    before, *_ = set_flags(False if deadly else None, _fp32_precision=None)  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        set_flags(before, _fp32_precision=None)  # type: ignore[no-untyped-call]


def _batches(order: Tensor, size: int) -> list[Tensor]:
    """The order in batches; a single last image joins the previous batch, since one image has no batch statistics."""
    batches = list(torch.split(order, size))
    if len(batches) > 1 and len(batches[-1]) == 1:
        batches[-2:] = [torch.cat(batches[-2:])]
    return batches


@torch.inference_mode()
def score(module: nn.Module, data: TrainingImages) -> TestScore:
    """Error and loss of a module that maps images to logits."""
    module.to(data.device).eval()
    wrong, total = (torch.zeros((), dtype=torch.float64, device=data.device) for _ in range(2))
    size = max(1, SCORED_AT_ONCE // math.prod(data.set.shape))
    for rows in torch.split(torch.arange(len(data), device=data.device), size):
        batch = data.batch(rows)
        logits = in_pieces(module, batch.images).float()
        wrong += (logits.argmax(1) != batch.labels).sum()
        total += F.cross_entropy(logits, batch.labels, reduction="sum")
    return TestScore(float(wrong) / len(data), float(total) / len(data))


@contextmanager
def random_state(device: torch.device, seed: int) -> Iterator[None]:
    """Seeds torch's global random state, from which layers draw initial weights and dropout, and restores it after."""
    place = torch.empty(0, device=device).get_device()  # -1 for a CPU
    with torch.random.fork_rng(devices=[] if place < 0 else [place]):
        torch.default_generator.manual_seed(seed)
        if place >= 0:
            torch.cuda.default_generators[place].manual_seed(seed)
        yield


def _keep(
    path: Path, module: nn.Module, optimiser: torch.optim.Optimizer, about: Mapping[str, Any], losses: list[list[float]]
) -> None:
    state = {
        "about": json.dumps(about),
        "losses": losses,
        "module": module.state_dict(),
        "optimiser": optimiser.state_dict(),
    }
    content = io.BytesIO()  # what torch writes by itself fails on a full disk in ways that don't say so
    torch.save(state, content)
    write_durably(path, lambda to: to.write_bytes(content.getbuffer()))


def _resume(
    path: Path,
    module: nn.Module,
    optimiser: torch.optim.Optimizer,
    about: Mapping[str, Any],
    device: torch.device,
) -> list[list[float]]:
    """Loads module and optimiser from a checkpoint, if there is one; returns the losses of the epochs done."""
    if not path.is_file():
        return []
    content = read_whole(path)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if archive.testzip() is not None:  # torch itself does not look at checksums
                raise ValueError("a checksum is wrong")
        state = torch.load(io.BytesIO(content), map_location=device, weights_only=True)
        kept, losses = json.loads(state["about"]), [[float(each) for each in epoch] for epoch in state["losses"]]
        refuse_changes(path, kept, about, "training")
        module.load_state_dict(state["module"])
        optimiser.load_state_dict(state["optimiser"])
    except BrittleError:
        raise
    except Exception as error:  # damaged archives and pickles raise many kinds
        raise BrittleError(
            f"the checkpoint {path} is damaged, or belongs to another network", "Delete it to start over."
        ) from error
    return losses


def refuse_changes(path: Path, kept: Mapping[str, Any], now: Mapping[str, Any], noun: str) -> None:
    """Refuses to resume work whose settings have changed since it began."""
    changed = differences(dict(kept), json.loads(json.dumps(now)))
    if changed:
        raise BrittleError(
            f"{path} belongs to another {noun}: {'; '.join(changed)}", "Undo the change, or choose another --out."
        )
