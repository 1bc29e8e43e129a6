"""The base class of classifiers that compute elsewhere: several batches are asked about before an answer is there.

As with `AdaptedClassifier`, everything but the raw outputs is done here: a subclass implements only `begin`.
"""

from __future__ import annotations

import abc
from collections.abc import Callable
from functools import partial
from typing import final

import torch
from torch import Tensor

from brittle.classifiers.base import AdaptedClassifier

PendingScores = Callable[[], Tensor]  # raw outputs (B, K), to be waited for


class DeferredClassifier(AdaptedClassifier):
    """p(c | x) from raw scores that arrive later. Subclasses implement `begin`."""

    @abc.abstractmethod
    def begin(self, prepared: Tensor) -> PendingScores:
        """Prepared images on `self.device` are on their way once this returns, and may then be changed by others. What
        it returns waits for raw outputs (B, K), and may be called by another thread, and again. Blocks while too many
        are on their way."""

    @final
    def scores(self, prepared: Tensor) -> Tensor:
        return self.begin(prepared)()

    @final
    def submit(self, images: Tensor) -> Callable[[], Tensor]:
        """See `brittle.types.AnswersLater`."""
        prepared = self.preprocess(images.to(self.device))
        return partial(self._waited, self.begin(prepared), images.shape[0], images.device)

    def _waited(self, pending: PendingScores, count: int, device: torch.device) -> Tensor:
        return self._log_probs_of(pending(), count, device)
