"""KServe's v2 inference protocol over HTTP, also called the Open Inference Protocol, which Triton and MLServer speak.

https://github.com/kserve/open-inference-protocol, specification/protocol/inference_rest.md; numbers go as binary data
where the server has Triton's extension binary_tensor_data, and as JSON otherwise.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import numpy as np

from brittle.classifiers.service.client import Reply, Request, ServiceClient
from brittle.classifiers.service.protocol import ServiceFacts
from brittle.classifiers.service.tensors import (
    BYTES,
    JSON,
    Array,
    NotScores,
    most_bytes,
    numbers,
    read_json,
    shaped,
)
from brittle.errors import BrittleError
from brittle.registry import did_you_mean

TYPES: Mapping[str, np.dtype[Any]] = {"FP16": np.dtype("<f2"), "FP32": np.dtype("<f4"), "FP64": np.dtype("<f8")}
BINARY = "binary_tensor_data"
LENGTH = "Inference-Header-Content-Length"  # of the JSON that stands before binary data
UNNAMED = "input-0"  # of a server that declares no inputs


@dataclass(frozen=True)
class Declared:
    """A tensor as a model declares it."""

    name: str
    kind: str
    shape: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.name} {self.kind} [{', '.join(map(str, self.shape))}]"


@dataclass(frozen=True)
class V2Protocol:
    """A model of a server, with its one input and the output that is read."""

    facts: ServiceFacts
    path: str
    input: Declared
    output: str | None  # the first of an answer where the model declares none
    binary: bool

    @classmethod
    def of(
        cls, client: ServiceClient, retries: int, model: str, version: str | None, output_name: str | None
    ) -> V2Protocol:
        who = f"the model {model!r} at {client.address}"
        path = f"/v2/models/{quote(model, safe='')}" + (f"/versions/{quote(version, safe='')}" if version else "")
        about = _json(client, path, retries, who)
        inputs, outputs = _tensors(about.get("inputs"), who), _tensors(about.get("outputs"), who)
        server = _json(client, "/v2", retries, f"the server at {client.address}")
        extensions = server.get("extensions")
        binary = isinstance(extensions, list) and BINARY in extensions
        taken = _only_input(inputs, who, binary)
        output = _chosen_output(outputs, output_name, who)
        said = output.shape[-1] if output is not None and len(output.shape) == 2 else -1
        facts = ServiceFacts(
            classes=said if said > 1 else None,
            shape=tuple(side if side > 0 else None for side in taken.shape[1:]) or None,
            batch=taken.shape[0] if taken.shape and taken.shape[0] > 0 else None,
            whole=bool(taken.shape and taken.shape[0] > 0),
        )
        return cls(facts, path + "/infer", taken, output.name if output is not None else output_name, binary)

    def request(self, images: Array) -> Request:
        images = np.ascontiguousarray(images, dtype=TYPES[self.input.kind])
        tensor: dict[str, Any] = {
            "name": self.input.name,
            "shape": list(images.shape),
            "datatype": self.input.kind,
        }
        body: dict[str, Any] = {"inputs": [tensor]}
        most = most_bytes(len(images), self.facts.classes)
        if self.output is not None:
            body["outputs"] = [{"name": self.output}]
        if not self.binary:
            tensor["data"] = images.ravel().tolist()
            return Request("POST", self.path, {"Content-Type": JSON}, _written(body), most)
        data = images.tobytes()
        tensor["parameters"] = {"binary_data_size": len(data)}
        if self.output is not None:
            body["outputs"][0]["parameters"] = {"binary_data": True}
        head = _written(body)
        headers = {"Content-Type": BYTES, LENGTH: str(len(head))}
        return Request("POST", self.path, headers, head + data, most)

    def scores(self, reply: Reply) -> Array:
        length = reply.headers.get(LENGTH.lower())
        if length is not None and not (length.isdecimal() and int(length) <= len(reply.body)):
            raise NotScores("the length of the JSON in its answer is not a number of bytes that are there")
        head = reply.body if length is None else reply.body[: int(length)]
        rest = b"" if length is None else reply.body[int(length) :]
        outputs = read_json(head).get("outputs")
        if not isinstance(outputs, list) or not all(isinstance(each, dict) for each in outputs):
            raise NotScores("its answer has no list of outputs")
        for found in outputs:
            size = _parameter(found, "binary_data_size")
            data, rest = (rest[:size], rest[size:]) if size is not None else (None, rest)
            if self.output in (None, found.get("name")):
                return _read(found, data)
        raise NotScores(f"its answer has no output {self.output!r}")


def _read(found: Mapping[str, Any], data: bytes | None) -> Array:
    """One tensor of an answer."""
    shape, kind = found.get("shape"), TYPES.get(str(found.get("datatype")))
    if not isinstance(shape, list) or not all(type(side) is int and side >= 0 for side in shape):
        raise NotScores("its answer has an output without a shape")
    if kind is None:
        raise NotScores(f"its answer is of type {str(found.get('datatype'))[:20]!r}, not FP16, FP32 or FP64")
    if data is not None:
        return shaped(data, kind, tuple(shape))
    values = numbers(found.get("data"))
    if values.size != math.prod(shape):
        raise NotScores(f"its answer has {values.size:,} numbers, and says that their shape is {shape}")
    return values.reshape(shape)


def _parameter(found: Mapping[str, Any], name: str) -> int | None:
    parameters = found.get("parameters")
    value = parameters.get(name) if isinstance(parameters, dict) else None
    return value if type(value) is int and value >= 0 else None


def _json(client: ServiceClient, path: str, retries: int, who: str) -> dict[str, Any]:
    try:
        return read_json(client.about(path, retries).body)
    except NotScores as wrong:
        raise BrittleError(
            f"{who} does not speak the v2 protocol: {wrong}", "See whether its address is right."
        ) from None


def _tensors(declared: object, who: str) -> list[Declared]:
    found = []
    for each in declared if isinstance(declared, list) else []:
        name, kind, shape = (
            (each.get(key) for key in ("name", "datatype", "shape")) if isinstance(each, dict) else [None] * 3
        )
        if not (isinstance(name, str) and isinstance(kind, str) and isinstance(shape, list)) or not all(
            type(side) is int for side in shape
        ):
            raise BrittleError(
                f"{who} declares a tensor without a name, a datatype or a shape", "Complete its configuration."
            )
        found.append(Declared(name, kind, tuple(shape)))
    return found


def _only_input(inputs: Sequence[Declared], who: str, binary: bool) -> Declared:
    if not inputs:
        return Declared(UNNAMED, "FP32", ())
    first = inputs[0]
    if len(inputs) > 1 or first.kind not in TYPES or len(first.shape) not in (2, 4):
        raise BrittleError(
            f"{who} takes {', '.join(map(str, inputs))}",
            "Brittle gives one input of floats: (batch, channels, height, width), channels last, or flat.",
        )
    if first.kind == "FP16" and not binary:
        raise BrittleError(
            f"{who} takes FP16, which JSON has no numbers of, and its server has no {BINARY}", "Have it take FP32."
        )
    return first


def _chosen_output(outputs: Sequence[Declared], wanted: str | None, who: str) -> Declared | None:
    """The output of that name, or the first of floats in two dimensions."""
    if wanted is not None and outputs:
        for each in outputs:
            if each.name == wanted:
                return each
        raise BrittleError(f"{who} has no output {wanted!r}", did_you_mean(wanted, [each.name for each in outputs]))
    floats = [each for each in outputs if each.kind in TYPES]
    if outputs and not floats:
        raise BrittleError(
            f"{who} does not output scores, only {', '.join(map(str, outputs))}",
            "Have it output logits or probabilities.",
        )
    return next((each for each in floats if len(each.shape) == 2), floats[0] if floats else None)


def _written(body: Mapping[str, Any]) -> bytes:
    return json.dumps(body, separators=(",", ":")).encode()
