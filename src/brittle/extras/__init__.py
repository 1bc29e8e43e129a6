"""Extras: what is known of images only through a classifier, such as saliency, put into `Batch.extras` for nuisances.

A nuisance names the extras it reads by their specs, in `needs`; each stands in `Batch.extras` under that spec. They are
computed per classifier, so that T_θ x of such a nuisance is not shared between classifiers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from brittle.registry import Registry

if TYPE_CHECKING:
    from torch import Tensor

    from brittle.types import Batch, Classifier


class Extra(Protocol):
    """What is registered: a frozen dataclass of options."""

    def check(self, name: str, classifier: Classifier, batch: Batch) -> None:
        """Raises, before work begins, where this classifier, of that name, can't give it. `batch` is one image."""
        ...

    def compute(self, classifier: Classifier, batch: Batch) -> Tensor:
        """(B, …), an entry per image, which depends on that image and on nothing else. `batch.labels` are as the
        classifier counts its classes, −1 where an image has none."""
        ...


extras: Registry[Extra] = Registry("extra", __name__)
register = extras.register
