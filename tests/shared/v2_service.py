"""A server in a process of its own that speaks KServe's v2 inference protocol, strictly by its published description
(kserve/open-inference-protocol, specification/protocol/inference_rest.md) and, asked for, Triton's extension for binary
tensors: `python v2_service.py PORT [binary] [fp64] [last] [flat] [fixed]`. What breaks the protocol is answered 400.

Its classifier is that of toy_service. It ends by itself after two minutes.
"""

import json
import os
import re
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
from toy_service import scores

TYPES = {"FP32": "<f4", "FP64": "<f8", "FP16": "<f2"}
KEYS = {"id", "parameters", "inputs", "outputs"}
INPUT_KEYS = {"name", "shape", "datatype", "parameters", "data"}
MODEL = re.compile(r"/base/v2/models/toy(/versions/3)?(/infer)?")
SHAPES = {"last": [-1, 8, 8, 1], "flat": [-1, 64], "fixed": [4, 1, 8, 8]}


class BadRequest(Exception):
    pass


def demand(condition: bool, why: str) -> None:
    if not condition:
        raise BadRequest(why)


class V2(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    how: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        return "FP64" if "fp64" in self.how else "FP32"

    @property
    def shape(self) -> list[int]:
        return next((SHAPES[each] for each in self.how if each in SHAPES), [-1, 1, 8, 8])

    def do_GET(self):
        found = MODEL.fullmatch(self.path)
        if self.path == "/base/v2":
            extensions = ["binary_tensor_data"] if "binary" in self.how else []
            self.answer(200, {"name": "a server", "version": "1", "extensions": extensions})
        elif found and not found[2]:
            about = {"name": "toy", "versions": ["3"], "platform": "numpy"}
            tensor = {"name": "pixels", "datatype": self.kind, "shape": self.shape}
            outputs = [
                {"name": "classes", "datatype": "INT64", "shape": [-1]},
                {"name": "scores", "datatype": self.kind, "shape": [-1, 4]},
            ]
            self.answer(200, about | {"inputs": [tensor], "outputs": outputs})
        else:
            self.answer(404, {"error": f"no {self.path} here"})

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        found = MODEL.fullmatch(self.path)
        if not (found and found[2]):
            self.answer(404, {"error": "no such model"})
            return
        try:
            self.infer(body)
        except (BadRequest, ValueError, KeyError, TypeError) as error:
            self.answer(400, {"error": f"{type(error).__name__}: {error}"})

    def infer(self, body: bytes) -> None:
        length = self.headers["Inference-Header-Content-Length"]
        demand(length is None or "binary" in self.how, "no binary data is spoken here")
        demand(
            self.headers["Content-Type"] == ("application/json" if length is None else "application/octet-stream"),
            "another content type",
        )
        head, rest = (body, b"") if length is None else (body[: int(length)], body[int(length) :])
        asked = json.loads(head)
        demand(set(asked) <= KEYS and "inputs" in asked, f"keys are {sorted(asked)}")
        (tensor,) = asked["inputs"]
        demand(set(tensor) <= INPUT_KEYS, f"keys of the input are {sorted(tensor)}")
        demand(tensor["name"] == "pixels" and tensor["datatype"] == self.kind, "another tensor was declared")
        shape = tensor["shape"]
        fits = len(shape) == len(self.shape) and all(
            type(side) is int and side in (want, max(side, 0) if want < 0 else want)
            for side, want in zip(shape, self.shape, strict=True)
        )
        demand(fits, f"the shape is {shape}")
        if length is None:
            values = np.asarray(tensor["data"], dtype=TYPES[self.kind])
        else:
            demand("data" not in tensor, "data twice")
            size = tensor["parameters"]["binary_data_size"]
            demand(type(size) is int and size == len(rest), "another size of data")
            values = np.frombuffer(rest, TYPES[self.kind])
        images = values.reshape(shape)
        images = np.moveaxis(images, 3, 1) if "last" in self.how else images
        found = scores(images).astype(TYPES[self.kind])
        self.outputs(asked, found)

    def outputs(self, asked: dict, found: np.ndarray) -> None:
        everything = [
            ("classes", "INT64", found.argmax(1).astype("<i8")),
            ("scores", self.kind, found),
        ]
        wanted = {each["name"]: each.get("parameters", {}) for each in asked.get("outputs", [])}
        outputs, data = [], b""
        for name, kind, values in everything:
            if wanted and name not in wanted:
                continue
            told = {"name": name, "shape": list(values.shape), "datatype": kind}
            if wanted.get(name, {}).get("binary_data"):
                raw = values.tobytes()
                data += raw
                outputs.append(told | {"parameters": {"binary_data_size": len(raw)}})
            else:
                outputs.append(told | {"data": values.ravel().tolist()})
        self.answer(200, {"model_name": "toy", "model_version": "3", "outputs": outputs}, data)

    def answer(self, status: int, told: dict, data: bytes = b"") -> None:
        head = json.dumps(told).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/octet-stream" if data else "application/json")
        if data:
            self.send_header("Inference-Header-Content-Length", str(len(head)))
        self.send_header("Content-Length", str(len(head + data)))
        self.end_headers()
        self.wfile.write(head + data)

    def log_message(self, *_):
        pass


def serve(port: str, *how: str) -> None:
    stop = threading.Timer(120, os._exit, (0,))
    stop.daemon = True
    stop.start()
    V2.how = how
    with ThreadingHTTPServer(("127.0.0.1", int(port)), V2) as server:
        print(server.server_address[1], flush=True)
        server.serve_forever()


if __name__ == "__main__":
    serve(*sys.argv[1:])
