"""A callback for Lightning: robustness after every n-th validation, to the trainer's own loggers."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from brittle.callbacks.every import EveryEpochs
from brittle.errors import MissingPackage

if TYPE_CHECKING:
    Callback = Any
elif "pytorch_lightning" in sys.modules and "lightning" not in sys.modules:
    from pytorch_lightning.callbacks import Callback
else:
    try:
        from lightning.pytorch.callbacks import Callback
    except ImportError as error:
        raise MissingPackage("lightning", "lightning", "a callback for Lightning") from error


class LightningCallback(Callback):  # type: ignore[misc]
    """`Trainer(callbacks=[LightningCallback(images, "rotation:sigma=15", every=5, count=200)])`.

    The module's `forward` takes images and gives scores. Numbers go to the trainer's loggers, and to `to` where that is
    given; those of the last time are in `trainer.callback_metrics`, so that a checkpoint can be chosen by them. Options
    are those of `EveryEpochs`."""

    def __init__(self, images: Any, nuisances: Any, **options: Any) -> None:
        super().__init__()
        self.watch = EveryEpochs(images, nuisances, **options)

    def on_validation_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Lightning's hook. One process measures; the others have the same network."""
        epoch = int(trainer.current_epoch)
        if trainer.sanity_checking or not trainer.is_global_zero or not self.watch.due(epoch):
            return
        found = self.watch.measured(pl_module, epoch, [each for each in trainer.loggers if each is not None])
        trainer.callback_metrics.update({name: _tensor(value) for name, value in self.watch.named(found).items()})


def _tensor(value: float) -> Any:
    import torch

    return torch.tensor(value)
