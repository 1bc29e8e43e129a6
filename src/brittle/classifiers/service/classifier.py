"""Classifiers that people reach through a service alone: `http:URL`. Several batches are on their way at a time."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from brittle.classifiers import register
from brittle.classifiers.base import SUM_TOLERANCE, AdapterOptions
from brittle.classifiers.configured import Configuration, settings_with
from brittle.classifiers.deferred import DeferredClassifier
from brittle.classifiers.input_shape import is_channels_last, refuse_misfit
from brittle.classifiers.preprocess import Preprocess
from brittle.classifiers.service.address import Address, Secret
from brittle.classifiers.service.client import Reply, ServiceClient
from brittle.classifiers.service.native import NativeProtocol
from brittle.classifiers.service.protocol import ServiceProtocol
from brittle.classifiers.service.tensors import Array, NotScores, refused
from brittle.classifiers.service.v2 import V2Protocol
from brittle.errors import BrittleError, Failure
from brittle.memory import slices
from brittle.registry import option

RETRIES_WHEN_LOADED = 2  # nobody wants to wait half a minute for a service that is not there


class HttpClassifier(DeferredClassifier):
    """A classifier behind a service images → logits, probabilities or log-probabilities."""

    def __init__(self, client: ServiceClient, protocol: ServiceProtocol, batch: int | None, **settings: Any) -> None:
        self.client, self.protocol = client, protocol
        self.service = str(client.address)  # what a live object is known by
        facts = protocol.facts
        most = [size for size in (batch, facts.batch) if size is not None]
        self.batch = facts.batch if facts.whole else min(most, default=None)
        super().__init__(device="cpu", **settings)

    def begin(self, prepared: Tensor) -> Callable[[], Tensor]:
        facts = self.protocol.facts
        if facts.shape is not None:
            flat = len(facts.shape) == 1
            given = prepared.flatten(1) if flat else prepared
            refuse_misfit(self.name, facts.shape, given.shape[1:], self.preprocess.layout)
            prepared = given
        images = np.ascontiguousarray(prepared.detach().numpy(), dtype=np.float32)
        pending = []
        for part in slices(len(images), self.batch or max(1, len(images))):
            asked = images[part]
            lacking = self.batch - len(asked) if facts.whole and self.batch else 0
            if lacking:
                asked = np.pad(asked, [(0, lacking)] + [(0, 0)] * (asked.ndim - 1), mode="edge")
            reply = self.client.submit(self.protocol.request(asked))
            pending.append(partial(self._scores, reply, part.stop - part.start, lacking))
        return partial(self._joined, pending)

    def _joined(self, pending: Sequence[Callable[[], Array]]) -> Tensor:
        found = [each() for each in pending] or [np.zeros((0, self._classes or 0), np.float32)]
        return torch.from_numpy(found[0] if len(found) == 1 else np.concatenate(found))

    def _scores(self, reply: Callable[[], Reply], count: int, lacking: int) -> Array:
        try:
            scores = self.protocol.scores(reply())
        except NotScores as wrong:
            raise refused(self.name, wrong) from None
        classes = self.protocol.facts.classes
        if scores.ndim != 2 or len(scores) != count + lacking or classes not in (None, scores.shape[1]):
            wanted = f"{count + lacking}×{classes or 'classes'}"
            raise Failure(
                f"classifier {self.name} gave outputs of {'×'.join(map(str, scores.shape)) or 'no dimensions'} for "
                f"{count + lacking} images, not {wanted}",
                "Its outputs must be (images, classes).",
            )
        wide = scores.dtype.itemsize > np.float32().itemsize
        scores = np.array(scores[:count], dtype=np.float64 if wide else np.float32)
        if self.protocol.facts.output == "log-probabilities":
            self._check_sums(scores)
        return scores

    def _check_sums(self, scores: Array) -> None:
        """Log-probabilities are used as logits, which need not sum to 1: these must. NaN is found later."""
        with np.errstate(over="ignore", invalid="ignore"):
            sums = np.exp(scores.astype(np.float64)).sum(1)
        wrong = np.abs(sums - 1) > SUM_TOLERANCE
        if wrong.any():
            raise Failure(
                f"classifier {self.name} gave log-probabilities of an image whose probabilities sum to "
                f"{sums[wrong][0]:.4g}",
                "Have its service say that they are logits, if they are.",
            )


@register("http")
@dataclasses.dataclass(frozen=True, kw_only=True)
class HttpLoader(AdapterOptions):
    """A classifier behind a service, by a small protocol or KServe's v2."""

    url: str = option(
        dataclasses.MISSING, "where the service is: https://host/path, or http://127.0.0.1:8000", positional=True
    )
    protocol: Literal["brittle", "v2"] = option(
        "brittle", "how it is spoken to: brittle, or KServe's v2 (Triton, MLServer)"
    )
    model: str | None = option(None, "the name of the model, of protocol v2")
    version: str | None = option(None, "the version of the model, of protocol v2; by default the server's choice")
    output_name: str | None = option(
        None, "which output to read, of protocol v2; by default the first of floats in two dimensions"
    )
    token_env: str | None = option(
        None, "the environment variable that holds the service's secret; its name begins with BRITTLE_"
    )
    token_header: str = option(
        "Authorization", "the header that the secret is sent in; after 'Bearer ' where it is Authorization"
    )
    timeout: float = option(60.0, "seconds that a request may take", above=0)
    retries: int = option(
        6, "how often a request is tried again, after no answer, a status of 5xx or 429", least=0, most=100
    )
    concurrency: int = option(8, "how many requests are on their way at a time", least=1, most=256)
    batch: int | None = option(
        None, "images per request at most; by default what the service says, or the run's", least=1
    )

    def load(self, device: str = "cpu") -> HttpClassifier:
        if self.protocol == "v2" and self.model is None:
            raise BrittleError("protocol=v2 serves models by name, and none is given", "Give model=NAME.")
        if self.protocol == "brittle" and (self.model or self.version or self.output_name):
            raise BrittleError("model, version and output-name are of protocol v2", "Give protocol=v2 as well.")
        address = Address.of(self.url)
        secret = None if self.token_env is None else Secret(self.token_env, self.token_header, address)
        client = ServiceClient(
            address, secret, timeout=self.timeout, retries=self.retries, concurrency=self.concurrency
        )
        retries = min(self.retries, RETRIES_WHEN_LOADED)
        spoken: ServiceProtocol
        if self.model is None:
            spoken = NativeProtocol.of(client, retries)
        else:
            spoken = V2Protocol.of(client, retries, self.model, self.version, self.output_name)
        facts = spoken.facts
        layout: Literal["nhwc"] | None = "nhwc" if is_channels_last(facts.shape) else None
        own = Configuration(Preprocess(range=facts.range, layout=layout), facts.labels)
        settings = settings_with(self, own)
        if settings["output"] == "auto" and facts.output != "auto":
            settings["output"] = "logits" if facts.output == "log-probabilities" else facts.output
        name = f"http:{address}" + (f",model={self.model}" if self.model else "")
        return HttpClassifier(client, spoken, self.batch, name=name, **settings)
