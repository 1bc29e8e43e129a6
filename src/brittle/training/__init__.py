"""Training: the bundled classifiers, and networks that are trained to be measured."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from brittle.errors import BrittleError
from brittle.registry import Registry, checked

if TYPE_CHECKING:
    from torch import nn

    from brittle.progress import Progress
    from brittle.training.augmentation import Transform
    from brittle.training.options import Recipe


class Network(Protocol):
    """What a spec builds: options that say what is trained and how."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """(C, H, W) of the images it takes."""
        ...

    @property
    def classes(self) -> int: ...

    @property
    def recipe(self) -> Recipe:
        """How it is trained unless the user says otherwise."""
        ...

    @property
    def factory(self) -> str:
        """package.module:function that creates the module, for a classifier's spec."""
        ...

    @property
    def capture(self) -> bool:
        """Whether its steps may be captured as a CUDA graph: all the same, and never waiting for the device."""
        ...

    def module(self) -> nn.Module: ...

    def transform(self) -> Transform | None:
        """How training images are augmented."""
        ...


trainable: Registry[Network] = Registry("network", __name__)
register = trainable.register


def train(
    network: str | Network,
    images: Any,
    out: str | Path,
    *,
    test: Any = None,
    seed: int = 0,
    device: str | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Trains a network into the file `out`, or resumes its training; returns what `brittle train --json` prints.

    `network` is a spec such as "cnn-2-da:shift=4" or an object, `images` an image set, and so is `test`, on which the
    network is scored in the end; `TrainingImages` are taken too, which several trainings may share. `options` are those
    of `TrainingOptions`: epochs, batch_size, rate, schedule, decay and precision, where the network's own recipe is not
    to be followed; mix, objective, mix_with, crop, flip and random_labels; compile and checkpoints.
    """
    from brittle.training.options import TrainingOptions
    from brittle.training.train_network import train_network  # imports torch, which listing networks does not need

    if not os.fspath(out).strip():
        raise BrittleError("the name of the file of weights is empty", "Name one: --out weights.safetensors.")
    said = TrainingOptions(**checked(TrainingOptions, options, "train"))
    return train_network(
        network, images, Path(out), test=test, seed=seed, device=device, progress=progress, options=said
    )
