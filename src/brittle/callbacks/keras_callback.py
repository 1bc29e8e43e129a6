"""A callback for Keras 3: robustness at the end of every n-th epoch, with any backend."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import Tensor

from brittle.callbacks.every import EveryEpochs
from brittle.errors import MissingPackage

if TYPE_CHECKING:
    Callback = Any
else:
    try:
        from keras.callbacks import Callback
    except ImportError as error:
        raise MissingPackage("keras", "keras", "a callback for Keras") from error


class KerasCallback(Callback):  # type: ignore[misc]
    """`model.fit(…, callbacks=[KerasCallback(images, "rotation:sigma=15", every=5, count=200)])`.

    The model takes images in [0, 1] in the order of channels that Keras is set to, and gives scores or probabilities.
    Numbers are added to the epoch's `logs`, which the history and later callbacks get, and go to `to`, where that is
    given. Options are those of `EveryEpochs`."""

    def __init__(self, images: Any, nuisances: Any, **options: Any) -> None:
        super().__init__()
        self.watch = EveryEpochs(images, nuisances, **options)

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Keras' hook."""
        if self.watch.due(epoch):
            found = self.watch.measured(as_function(self.model), epoch)
            if logs is not None:
                logs.update(self.watch.named(found))


def as_function(model: Any) -> Callable[[Tensor], Any]:
    """A Keras model as a function of images (B, C, H, W)."""
    import keras

    last = keras.config.image_data_format() == "channels_last"

    def network(images: Tensor) -> Any:
        batch = images.permute(0, 2, 3, 1) if last else images
        scores = model(np.ascontiguousarray(batch.cpu().numpy()), training=False)
        return np.asarray(keras.ops.convert_to_numpy(scores))

    return network
