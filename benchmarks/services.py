"""What several batches on their way are worth: robustness of a classifier behind a service that takes a while for each
request, as over a network, with one request at a time and with more.

    python -m benchmarks.services
"""

from __future__ import annotations

import io
import json
import statistics
import subprocess
import sys
import threading
import time
import warnings
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

import brittle

TURNS, CONCURRENCY, LASTS = 5, (1, 2, 4, 8), 600
WAITS = (0.02, 0.1)  # seconds per request
COUNT, SAMPLES, BATCH = 200, 50, 256


class Waiting(BaseHTTPRequestHandler):
    """A linear classifier that takes its time; requests do not wait for one another."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wait = 0.0
    weights = np.random.default_rng(0).normal(size=(784, 10)).astype(np.float32)

    def do_GET(self) -> None:
        self.answer(json.dumps({"classes": 10, "output": "logits", "shape": [1, 28, 28]}).encode())

    def do_POST(self) -> None:
        images = np.load(io.BytesIO(self.rfile.read(int(self.headers["Content-Length"]))))
        time.sleep(self.wait)
        written = io.BytesIO()
        np.save(written, images.reshape(len(images), -1) @ self.weights)
        self.answer(written.getvalue())

    def answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/x-npy" if self.command == "POST" else "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


def serve(wait: str) -> None:
    threading.Timer(LASTS, sys.exit).start()
    Waiting.wait = float(wait)
    with ThreadingHTTPServer(("127.0.0.1", 0), Waiting) as server:
        print(server.server_address[1], flush=True)
        server.serve_forever()


def seconds(port: int, concurrency: int) -> float:
    begun = time.perf_counter()
    spec = f"http://127.0.0.1:{port},concurrency={concurrency}"
    brittle.measure(spec, "sample", "affine:alpha=50", count=COUNT, samples=SAMPLES, batch=BATCH)
    return time.perf_counter() - begun


def main() -> None:
    warnings.simplefilter("ignore", brittle.BrittleWarning)  # it has learnt nothing
    print(f"Robustness of {COUNT} images × {SAMPLES} draws in batches of {BATCH}, median of {TURNS} turns:\n")
    print("| a request takes | " + " | ".join(f"{each} at a time" for each in CONCURRENCY) + " |")
    print("| --- |" + " --- |" * len(CONCURRENCY))
    for wait in WAITS:
        command = [sys.executable, "-m", "benchmarks.services", str(wait)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            port = int(process.stdout.readline())
            took: dict[int, list[float]] = {each: [] for each in CONCURRENCY}
            for turn in range(TURNS + 1):  # the first one imports
                for each in CONCURRENCY:
                    found = seconds(port, each)
                    took[each] += [found] if turn else []
            process.kill()
        middle = {each: statistics.median(values) for each, values in took.items()}
        cells = [f"{value:.2f} s ({middle[1] / value:.1f}×)" for value in middle.values()]
        print(f"| {wait * 1000:.0f} ms | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    serve(sys.argv[1]) if len(sys.argv) > 1 else main()
