"""What is done to runs in an object store: moto's on 127.0.0.1, behind a proxy that refuses requests and loses them at
random, while drivers are killed; and to runs of a classifier behind a service that fails at random.
"""

from __future__ import annotations

import contextlib
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.faults.commands import table_of
from benchmarks.faults.scenarios import Scenario, Trial, Tried
from benchmarks.faults.workers import CLOSE, MOST, STUDY, ended, other_rows, undisturbed

TROUBLES = ("refused", "lost before", "lost halfway", "lost after")
SHARE = 0.05  # of requests that meet trouble
LONGEST_SESSION = 12  # seconds before a driver is killed


def killed_in_store(trial: Trial) -> Iterator[Tried]:
    """Two drivers are killed and a third ends, with a store that refuses or loses one request of twenty."""
    from benchmarks.faults.loopback_store import BUCKET, Proxy, environment, reset, served_store

    study, usual = undisturbed(trial.bench.work / "store")
    with served_store() as address:
        for _ in range(min(MOST, trial.times)):
            reset(address)
            draw, told = random.Random(trial.draw.random()), []
            proxy = Proxy(address, lambda *_, draw=draw: draw.choice(TROUBLES) if draw.random() < SHARE else "")
            with proxy.serving() as served:
                known = environment(served)
                for last in (False, False, True):
                    command, delay = started(study, f"s3://{BUCKET}/run", known), trial.draw.uniform(2, LONGEST_SESSION)
                    if not last:
                        with contextlib.suppress(subprocess.TimeoutExpired):
                            command.wait(delay)
                        command.kill()
                        command.communicate()
                        told.append(f"{delay:.1f} s")
                wrong = ended(command)
            found = {} if wrong else rows_in_store(address, f"{BUCKET}/run", trial.bench.work / "fetched")
            yield Tried(f"killed after {' and '.join(told)}", wrong or other_rows(usual, found))


def started(study: Path, out: str, environment: dict[str, str]) -> subprocess.Popen[str]:
    known = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"} | environment
    line = [sys.executable, "-m", "brittle", "run", str(study), "--out", out, "--device", "cpu"]
    return subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=known)


def rows_in_store(address: str, root: str, folder: Path) -> dict[str, Any]:
    """Every table of every cell, in planned order."""
    import pyarrow as pa
    from benchmarks.faults.loopback_store import SECRET
    from pyarrow import fs

    folder.mkdir(parents=True, exist_ok=True)
    system = fs.S3FileSystem(access_key="testing", secret_key=SECRET, endpoint_override=address, region="us-east-1")
    found: dict[str, list[pa.Table]] = {}
    for info in sorted(
        system.get_file_info(fs.FileSelector(f"{root}/units", recursive=True)), key=lambda each: each.path
    ):
        if info.is_file and info.path.endswith(".parquet"):
            copied = folder / "one.parquet"
            with system.open_input_file(info.path) as file:
                copied.write_bytes(file.read())
            place, _, name = info.path.removeprefix(f"{root}/").rpartition("/")
            found.setdefault(f"{place} {name.split('.')[1]}", []).append(table_of(copied).replace_schema_metadata(None))
    return {name: pa.concat_tables(parts).to_pydict() for name, parts in found.items()}


def failing_service(trial: Trial) -> Iterator[Tried]:
    """A classifier over HTTP that answers one request of ten with 500, late, or not at all."""
    folder = trial.bench.work / "service"
    _, usual = undisturbed(trial.bench.work / "store")
    for _ in range(min(MOST, trial.times)):
        folder.mkdir(exist_ok=True)
        (folder / "serve.py").write_text(SERVICE)
        seed = str(trial.draw.randrange(1 << 30))
        service = subprocess.Popen(
            [sys.executable, folder / "serve.py", seed], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert service.stdout is not None
        port = service.stdout.readline().strip()
        asked = folder / "study.toml"
        spec = f"http:http://127.0.0.1:{port},timeout=2,labels={'/'.join(map(str, range(10)))}"
        asked.write_text(STUDY.replace("bundled:plain", spec))
        out = folder / f"out-{time.time_ns()}"
        wrong = ended(started(asked, str(out), {}))
        service.kill()
        service.communicate()
        yield Tried(f"seed {seed}", wrong or other_numbers(usual, out))


def other_numbers(usual: dict[str, Any], out: Path) -> str:
    """The same with answers that went through a service as float32."""
    from benchmarks.faults.commands import rows

    found = rows(out)
    near = all(
        np.allclose(usual[table][name], found.get(table, {}).get(name, []), rtol=0, atol=CLOSE)
        if name.startswith("log_p")
        else usual[table][name] == found.get(table, {}).get(name)
        for table in usual
        for name in usual[table]
    )
    return "" if near and usual.keys() == found.keys() else "other rows than without a service"


SERVICE = """
import io, json, random, sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
import numpy as np, torch
import brittle

torch.set_num_threads(1)
model, draw = brittle.classifier("bundled:plain"), random.Random(int(sys.argv[1]))


class Service(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self):
        self.answer(200, "application/json", json.dumps({"classes": 10, "output": "log-probabilities"}).encode())

    @torch.inference_mode()
    def do_POST(self):
        images = np.load(io.BytesIO(self.rfile.read(int(self.headers["Content-Length"]))))
        trouble = draw.random()
        if trouble < 0.04:
            return self.answer(500, "text/plain", b"out of order")
        if trouble < 0.07:
            self.close_connection = True
            return self.connection.close()
        if trouble < 0.08:
            time.sleep(3)  # longer than is waited for
        if trouble < 0.3:
            time.sleep(draw.uniform(0, 0.2))  # out of order
        written = io.BytesIO()
        np.save(written, model.log_probs(torch.from_numpy(images)).numpy())
        self.answer(200, "application/x-npy", written.getvalue())

    def answer(self, status, kind, body):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


with ThreadingHTTPServer(("127.0.0.1", 0), Service) as server:
    print(server.server_address[1], flush=True)
    server.serve_forever()
"""
STORES_TRIED: dict[str, Scenario] = {
    "SIGKILL of drivers of a run in an object store that refuses and loses requests": killed_in_store,
    "a classifier over HTTP that fails, is late and answers out of order": failing_service,
}
