"""Trains a network, given by name, into a file of weights; resumes an unfinished training."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any, NamedTuple

import torch
from torch import nn

from brittle.classifiers.checkpoint import load_weights
from brittle.device import pick_device
from brittle.errors import BrittleError
from brittle.files import BROKEN, remove_half_written, unusable
from brittle.images import image_set
from brittle.images.base import ImageSet, of_one_shape
from brittle.progress import Progress
from brittle.registry import written
from brittle.training import Network, trainable
from brittle.training.data import TrainingImages, check_labels
from brittle.training.options import Recipe, TrainingOptions
from brittle.training.plan import RECORDED, TrainingPlan, random_labels, refuse_single_image_batches, training_plan
from brittle.training.trainer import refuse_changes, score, seeded, train
from brittle.training.weights import read_facts, save_weights, state_of

SUFFIX = ".safetensors"


class TrainingOutcome(NamedTuple):
    """How a training went, now or earlier."""

    losses: list[float]  # mean loss of each epoch
    resumed: int  # epochs that had been done before
    diversities: dict[str, float | None]


def train_network(
    network: str | Network,
    images: Any,
    out: Path,
    *,
    test: Any = None,
    seed: int = 0,
    device: str | None = None,
    progress: Progress | None = None,
    options: TrainingOptions,
) -> dict[str, Any]:
    """Trains `network` on `images` and writes its weights to `out`, with a record of the training in its metadata.

    During training there is a checkpoint next to `out`; once training is done, the same call only scores the network
    on `test`.
    """
    begun = time.monotonic()
    kind = trainable.build(network) if isinstance(network, str) else network
    if out.suffix != SUFFIX:
        raise BrittleError(f"{out} is not a name for a file of weights", f"Call it {out.stem or 'weights'}{SUFFIX}.")
    if out.is_dir():
        raise BrittleError(f"{out} is a folder", "Choose another --out.")
    name, place = trainable.spec_of(kind), pick_device(device)
    recipe = options.changed(kind.recipe)
    data = _loaded(images, kind, name, place)
    testing = None if test is None else _loaded(test, kind, name, place)
    plan = training_plan(kind, options, seed, place)
    refuse_single_image_batches(plan, len(data), recipe.batch)
    module = seeded(kind.module, seed)
    about = {"network": name, "seed": seed, "images": data.fingerprint(), "recipe": asdict(recipe), **plan.about}
    with _held(out):
        went = _trained(module, kind, data, recipe, out, about, plan, options, progress)
    found = None if testing is None else score(module, testing)
    return {
        "network": name,
        "classifier": f"torch:{kind.factory},weights={written(str(out))}",
        "weights": str(out),
        "seed": seed,
        "images": len(data),
        "epochs": recipe.epochs,
        "epochs_before": went.resumed,
        "batch_size": recipe.batch,
        "rate": recipe.rate,
        "precision": recipe.precision,
        "mix": plan.about.get("mix"),
        "objective": plan.about.get("objective"),
        "mix_with": plan.mixed_with,
        "random_labels": options.random_labels,
        "loss": went.losses[-1],
        **went.diversities,
        "test_images": None if testing is None else len(testing),
        "test_error": None if found is None else found.error,
        "test_loss": None if found is None else found.loss,
        "device": str(place),
        "seconds": round(time.monotonic() - begun, 3),
    }


def _trained(
    module: nn.Module,
    kind: Network,
    data: TrainingImages,
    recipe: Recipe,
    out: Path,
    about: Mapping[str, Any],
    plan: TrainingPlan,
    options: TrainingOptions,
    progress: Progress | None,
) -> TrainingOutcome:
    """Loads the module from `out` if it is already trained, and otherwise trains it into `out`."""
    if out.exists():
        known = read_facts(out, "training")
        refuse_changes(out, known["about"], about, "training")
        load_weights(module, out)
        last = known["losses"][-1]  # for weights from before the others were recorded, and no images were mixed
        found = TrainingOutcome(known["losses"], recipe.epochs, {name: known.get(name, last) for name in RECORDED})
    else:
        went = train(
            module,
            random_labels(data, kind.classes, about["seed"]) if options.random_labels else data,
            recipe,
            seed=about["seed"],
            transform=plan.augmentation,
            loss=plan.loss,
            record=plan.record,
            capture=kind.capture and plan.capture,
            compiled=options.compile,
            checkpoint=_checkpoint(out) if options.checkpoints else None,
            every=max(1, options.checkpoints),
            about=about,
            name=about["network"],
            progress=progress,
        )
        found = TrainingOutcome(went.losses, went.resumed, plan.diversities(went))
        facts = {"about": about, "losses": went.losses, "torch": torch.__version__, **found.diversities}
        save_weights(out, state_of(module), "training", facts)
    _checkpoint(out).unlink(missing_ok=True)
    return found


def _loaded(images: Any, kind: Network, name: str, place: torch.device) -> TrainingImages:
    """The image set on the device, refused if the network can't take it."""
    if isinstance(images, TrainingImages) and images.device == place:
        _fitting(images.set, kind, name)
        return images
    chosen = images.set if isinstance(images, TrainingImages) else image_set(images)
    return TrainingImages(_fitting(chosen, kind, name), place)


def _fitting(images: ImageSet, kind: Network, name: str) -> ImageSet:
    """The image set, refused if the network can't take it."""
    shape, high = of_one_shape(images).shape, int(images.labels.max())
    if shape != kind.shape:
        wanted, there = ("×".join(map(str, each)) for each in (kind.shape, shape))
        raise BrittleError(
            f"{name} takes images of {wanted}, but those of {images.name!r} are {there}",
            "For a folder, give size=…, crop=… and channels=grey.",
        )
    if high >= kind.classes:
        raise BrittleError(
            f"{images.name!r} has the label {high}, but {name} has {kind.classes} classes (0 to {kind.classes - 1})",
            "Give images with that many classes.",
        )
    check_labels(images)
    return images


def _checkpoint(out: Path) -> Path:
    return out.with_suffix(".training.pt")


@contextmanager
def _held(out: Path) -> Iterator[None]:
    """Locks the file's name for this process; the lock is released when the process ends, however it ends."""
    path = out.with_name(f".{out.name}.lock")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        lock = _opened(path)
    except BlockingIOError:
        raise BrittleError(
            f"another process is training into {out}", "Wait for it to finish, or choose another --out."
        ) from None
    except OSError as error:
        if error.errno in BROKEN:
            raise unusable(out, "written", error) from error
        raise BrittleError(f"{out} can't be written: {error.strerror}", "Choose another --out.") from error
    with lock:
        try:
            remove_half_written(out.parent, (out.name, _checkpoint(out).name))
            yield
        finally:
            path.unlink(missing_ok=True)


def _opened(path: Path) -> IO[str]:
    """The lock, held. The process that held it before may have removed it since it was opened here: a lock on a file
    that nobody else can find keeps nobody out."""
    while True:
        lock = path.open("a")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(lock.fileno()), path.stat()):
                return lock
        except FileNotFoundError:
            pass
        except BaseException:
            lock.close()
            raise
        lock.close()
