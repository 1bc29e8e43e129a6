"""What is known of a classifier behind a service, and what a protocol has to do. docs/http.md describes both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from brittle.classifiers.service.client import Reply, Request
from brittle.classifiers.service.tensors import Array

ServiceOutput = Literal["auto", "logits", "probabilities", "log-probabilities"]


@dataclass(frozen=True)
class ServiceFacts:
    """What a service says of its classifier; None where it says nothing."""

    classes: int | None = None
    labels: tuple[str, ...] | None = None
    shape: Sequence[int | None] | None = None  # of an image as it takes them, any where None stands
    range: float = 1.0  # what white is
    output: ServiceOutput = "auto"
    batch: int | None = None  # images per request at most
    whole: bool = False  # whether it is exactly so many


class ServiceProtocol(Protocol):
    """How a service is spoken to."""

    @property
    def facts(self) -> ServiceFacts: ...

    def request(self, images: Array) -> Request:
        """What asks about images (n, …), as they are prepared."""
        ...

    def scores(self, reply: Reply) -> Array:
        """The scores (n, K) in an answer. Raises NotScores."""
        ...
