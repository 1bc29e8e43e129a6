"""Training: the bundled classifiers, and networks that are trained to be measured."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from brittle.errors import BrittleError
from brittle.registry import Registry, did_you_mean

if TYPE_CHECKING:
    from torch import nn

    from brittle.training.step import Transform
    from brittle.training.trainer import Recipe


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


def train(network: str | Network, images: Any, out: str | Path, **options: Any) -> dict[str, Any]:
    """Trains a network into the file `out`, or resumes its training; returns what `brittle train --json` prints.

    `network` is a spec such as "cnn-2-da:shift=4" or an object, `images` an image set; `options` are test, epochs,
    seed, device, batch_size, rate, precision and progress.
    """
    from brittle.training.train_network import train_network  # imports torch, which listing networks does not need

    known = [name for name in inspect.signature(train_network).parameters if name not in ("network", "images", "out")]
    for key in options:
        if key not in known:
            raise BrittleError(f"train has no option {key!r}", did_you_mean(key, known))
    return train_network(network, images, Path(out), **options)
