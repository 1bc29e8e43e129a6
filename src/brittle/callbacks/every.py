"""Measuring while a network is trained: every n epochs, on the same images and the same θ each time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from brittle.api import measure
from brittle.errors import BrittleError
from brittle.results import Result
from brittle.tracking.log import log, log_live


class EveryEpochs:
    """Measures robustness every `every` epochs, and logs it:

        watch = EveryEpochs(validation, "rotation:sigma=15", every=5, to=writer, count=200, samples=10)
        for epoch in range(epochs):
            …
            watch(network, epoch)

    Images and θ are the same each time, so that numbers of two epochs differ by the network alone. `to` is what
    `brittle.log` takes, or nothing. The first epoch that is measured is the `every`-th; `options` are those of
    `brittle.measure`. What was found is in `found`, by epoch."""

    def __init__(
        self, images: Any, nuisances: Any, *, every: int = 1, to: Any = None, prefix: str = "brittle/", **options: Any
    ) -> None:
        if every < 1:
            raise BrittleError(f"every is {every}", "Give a number of epochs of at least 1.")
        self.images, self.nuisances, self.every, self.to, self.prefix = images, nuisances, every, to, prefix
        self.options = {"progress": False, **options}
        self.found: dict[int, Result] = {}

    def due(self, epoch: int) -> bool:
        """Whether an epoch, counted from 0, is one that is measured."""
        return (epoch + 1) % self.every == 0

    def __call__(self, classifier: Any, epoch: int) -> Result | None:
        """Measures the network as it is after an epoch, where that is due."""
        return self.measured(classifier, epoch) if self.due(epoch) else None

    def measured(self, classifier: Any, epoch: int, loggers: Sequence[Any] = ()) -> Result:
        """Measures now, and logs to `to` and to these loggers as well."""
        found: Result = measure({"network": classifier}, self.images, self.nuisances, **self.options)
        self.found[epoch] = found
        if self.to is not None:
            log(found, self.to, step=epoch, prefix=self.prefix)
        for each in loggers:
            log_live(each, self.named(found), epoch)
        return found

    def named(self, found: Result) -> dict[str, float]:
        """The numbers by the names that they are logged under."""
        return {f"{self.prefix}{name}": value for name, value in found.scalars().items()}
