"""Brittle's own protocol: GET says what the classifier is, POST takes a batch and answers with its scores.

Both go to the one address. Batches are .npy files or JSON, as the service wishes.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from pydantic import BaseModel, Field, StringConstraints, ValidationError

from brittle.classifiers.service.client import Reply, Request, ServiceClient
from brittle.classifiers.service.protocol import ServiceFacts
from brittle.classifiers.service.tensors import (
    JSON,
    NPY,
    Array,
    NotScores,
    most_bytes,
    npy_bytes,
    numbers,
    read_json,
    read_npy,
)
from brittle.errors import BrittleError

Name = Annotated[str, StringConstraints(min_length=1, max_length=1000)]
Side = Annotated[int, Field(ge=1)]


class Metadata(BaseModel):
    """What a service answers GET with; other keys are for others."""

    classes: Annotated[int, Field(ge=2)] | Annotated[list[Name], Field(min_length=2)]
    output: Literal["logits", "probabilities", "log-probabilities"]
    shape: tuple[Side | None, Side | None, Side | None] | None = None  # channels, height, width
    range: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0
    batch: Annotated[int, Field(ge=1)] | None = None
    format: Literal["npy", "json"] = "npy"


@dataclass(frozen=True)
class NativeProtocol:
    """A service that has said what it is."""

    facts: ServiceFacts
    format: Literal["npy", "json"]

    @classmethod
    def of(cls, client: ServiceClient, retries: int) -> NativeProtocol:
        reply = client.about("", retries)
        try:
            told = Metadata.model_validate(read_json(reply.body))
        except NotScores as wrong:
            raise _no_metadata(client, str(wrong)) from None
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(map(str, first["loc"][:1])) or "all of it"
            raise _no_metadata(client, f"{where}: {first['msg']}") from None
        labels = tuple(told.classes) if isinstance(told.classes, list) else None
        count = len(told.classes) if isinstance(told.classes, list) else told.classes
        facts = ServiceFacts(count, labels, told.shape, told.range, told.output, told.batch)
        return cls(facts, told.format)

    def request(self, images: Array) -> Request:
        most = most_bytes(len(images), self.facts.classes)
        if self.format == "npy":
            return Request("POST", "", {"Content-Type": NPY, "Accept": f"{NPY}, {JSON}"}, npy_bytes(images), most)
        body = json.dumps({"images": images.astype(np.float64).tolist()}, separators=(",", ":"), allow_nan=True)
        return Request("POST", "", {"Content-Type": JSON, "Accept": JSON}, body.encode(), most)

    def scores(self, reply: Reply) -> Array:
        if reply.headers.get("content-type", "").partition(";")[0].strip() != JSON:
            return read_npy(reply.body)
        found = read_json(reply.body)
        if "scores" not in found:
            raise NotScores("its answer has no scores")
        return numbers(found["scores"])


def _no_metadata(client: ServiceClient, why: str) -> BrittleError:
    return BrittleError(
        f"the service {client.address} does not say what its classifier is ({why})",
        "Have it answer GET as docs/http.md says, or give protocol=v2,model=NAME where it speaks KServe's.",
    )
