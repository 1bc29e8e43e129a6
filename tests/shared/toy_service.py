"""A service in a process of its own, and the trouble it can make: `python toy_service.py FOLDER PORT TROUBLE…`.

Its classifier is `scores`, which a study may also name as python:toy_service.py:scores. What it has seen stands in
FOLDER/seen.json. It ends by itself after two minutes.
"""

import io
import json
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np

CLASSES = ["ant", "bee", "cat", "dog"]
LASTS = 120.0  # seconds
TRIED = 10  # requests that come before work begins: trouble starts after them
WEIGHTS = np.random.default_rng(1).normal(size=(64, 4))


def scores(images):
    """images (n, 1, 8, 8) → logits (n, 4); those of an image do not depend on how many there are."""
    return (np.asarray(images, np.float64).reshape(len(images), -1) @ WEIGHTS).astype(np.float32)


class State:
    """What has happened so far."""

    def __init__(self, folder: Path, troubles: list[str]) -> None:
        self.folder = folder
        self.troubles = dict([*each.split("=", 1), "1"][:2] for each in troubles)
        self.lock = threading.Lock()
        self.seen = {"posts": 0, "at once": 0, "refused": 0, "most": 0, "authorization": [], "sizes": []}
        self.told = 0.0  # when to come again

    def note(self, **more) -> int:
        with self.lock:
            for key, value in more.items():
                if isinstance(value, list):
                    self.seen[key] = [*self.seen[key], *value] if key == "sizes" else [*{*self.seen[key], *value}]
                else:
                    self.seen[key] += value
            self.seen["most"] = max(self.seen["most"], self.seen["at once"])
            partial = self.folder / "seen.tmp"
            partial.write_text(json.dumps(self.seen))
            partial.replace(self.folder / "seen.json")
            return self.seen["posts"]


class Toy(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    state: State

    def has(self, trouble: str) -> bool:
        return trouble in self.state.troubles

    def do_GET(self):
        about = {"classes": CLASSES, "output": "logits", "shape": [1, 8, 8]}
        if self.has("batch"):
            about["batch"] = int(self.state.troubles["batch"])
        if self.has("json"):
            about["format"] = "json"
        if self.has("range"):
            about["range"] = 255
        if self.has("tells-token"):
            about["classes"] = [self.headers["Authorization"], "b", "c", "d"]
        self.state.note(authorization=[self.headers["Authorization"]])
        self.answer(200, json.dumps(about).encode(), "application/json")

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        number = self.state.note(posts=1, **{"at once": 1}, authorization=[self.headers["Authorization"]])
        try:
            if not self.troubled(number):
                self.classified(body, number)
        finally:
            self.state.note(**{"at once": -1})

    def troubled(self, number: int) -> bool:
        """Whether this request came to nothing."""
        late, trouble = number - TRIED, self.state.troubles
        if self.has("echo"):
            self.answer(401, json.dumps({"error": f"no access for {self.headers['Authorization']}"}).encode())
        elif self.has("redirect"):
            self.answer(307, b"", Location=f"http://127.0.0.1:9/{self.headers['Authorization']}")
        elif late <= 0:
            return False
        elif self.state.told and "left alone" not in self.state.seen:
            self.state.seen["left alone"] = time.time() - self.state.told
            return False
        elif self.has("500") and late <= int(trouble["500"]):
            self.state.note(refused=1)
            self.answer(500, b'{"error": "out of order"}')
        elif self.has("429") and late <= int(trouble["429"]):
            self.state.note(refused=1)
            self.state.told = time.time()
            self.answer(429, b"", **{"Retry-After": "1"})
        elif self.has("silent") and late <= int(trouble["silent"]):
            time.sleep(30)
        elif self.has("drip"):
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            for _ in range(300):
                self.wfile.write(b"x")
                time.sleep(0.1)
        elif self.has("half"):
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b"half of it")
            self.close_connection = True
        elif self.has("huge"):
            self.answer(200, b"0" * (1 << 22))
        elif self.has("die") and late == int(trouble["die"]):
            os._exit(1)
        else:
            return False
        return True

    def classified(self, body: bytes, number: int) -> None:
        as_json = self.headers["Content-Type"] == "application/json"
        images = np.asarray(json.loads(body)["images"]) if as_json else np.load(io.BytesIO(body))
        self.state.note(sizes=[len(images)])
        found = scores(images / 255 if self.has("range") else images)
        late = number > TRIED
        if self.has("wait"):
            time.sleep(float(self.state.troubles["wait"]))
        if self.has("slow") and late:  # the sooner asked, the later answered
            time.sleep(0.1 / (1 + number % 5))
        if self.has("moody"):
            found = found + np.random.default_rng(time.time_ns()).normal(size=found.shape).astype(np.float32)
        if self.has("nan") and late:
            found[len(found) // 2] = np.nan
        if self.has("shape") and late:
            found = found[:, :3]
        if self.has("objects") and late:
            found = found.astype(object)
        if as_json:
            self.answer(200, json.dumps({"scores": found.tolist()}).encode(), "application/json")
            return
        written = io.BytesIO()
        np.save(written, found)
        self.answer(200, written.getvalue())

    def answer(self, status: int, body: bytes, kind: str = "application/x-npy", **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def serve(folder: str, port: str, *troubles: str) -> None:
    stop = threading.Timer(LASTS, os._exit, (0,))
    stop.daemon = True
    stop.start()
    Toy.state = State(Path(folder), list(troubles))
    with ThreadingHTTPServer(("127.0.0.1", int(port)), Toy) as server:
        print(server.server_address[1], flush=True)
        server.serve_forever()


if __name__ == "__main__":
    serve(*sys.argv[1:])
