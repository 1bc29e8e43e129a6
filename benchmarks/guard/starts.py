"""How long one waits before anything happens: help, a misspelt spec, the first batch, a measurement of almost nothing.

These are seconds, of commands and processes of their own; each has a limit that it is held to.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.guard.surroundings import REPOSITORY
from benchmarks.guard.turns import Seconds

MAIN = (sys.executable, "-c", "from brittle.cli import main; main()")
MISSPELT = ("measure", "bundled:plain", "sample", "--nuisance", "affin:alpha=50")
BATCH = 64
FIRST = ("--nuisance", "affine:alpha=50", "--count", str(BATCH), "--samples", "1", "--batch", str(BATCH))
# A classifier that says when it is asked about a whole batch for the first time: trials are of fewer images.
CLOCK = f"""
import sys, time
import brittle
network, told = brittle.classifier("bundled:plain", device="cpu"), []

def classify(images):
    if len(images) == {BATCH} and not told:
        told.append(print("first batch", time.time(), time.process_time(), file=sys.stderr, flush=True))
    return network.log_probs(images)
"""
FIXED = """
import importlib.util, time, warnings
import numpy as np, torch
if importlib.util.find_spec("pandas"):
    import pandas  # pyarrow imports it with its first table, wherever it is installed
import brittle
warnings.simplefilter("ignore")
torch.manual_seed(0)
network = torch.nn.Sequential(
    torch.nn.Conv2d(1, 8, 3), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(4),
    torch.nn.Flatten(), torch.nn.Linear(128, CLASSES),
)
images = np.random.default_rng(0).integers(0, 256, (1000, 28, 28), dtype=np.uint8), np.arange(1000) % CLASSES
measure = brittle.measure
for _ in range(4):
    begun = time.perf_counter(), time.process_time()
    measure(network, images, "affine:alpha=50", samples=1, count=COUNT, progress=False)
    print(time.perf_counter() - begun[0], time.process_time() - begun[1])
"""


class Wait(NamedTuple):
    about: str
    limit: float  # seconds of an idle machine
    taken: list[Seconds]


def waits(folder: Path) -> dict[str, Wait]:
    """One round of each."""
    (folder / "clock.py").write_text(CLOCK, encoding="utf-8")
    first, later = fixed(10, 20)
    many = fixed(1000, 1000)[1]
    return {
        "`brittle --help`": Wait("the whole command", 0.3, [command("--help")[0]]),
        "a misspelt spec refused": Wait(f"`brittle {' '.join(MISSPELT)}`", 0.5, [command(*MISSPELT, status=2)[0]]),
        "first batch": Wait(
            "from the start of `brittle measure` to the first batch that the classifier is asked about, `import torch` "
            "among it",
            3.0,
            [first_batch(folder)],
        ),
        "fixed costs, first call": Wait(
            "`brittle.measure` of a live module and arrays in memory, 20 images × 1 draw, the first in a process; "
            "imports apart; pandas is one, which pyarrow imports with its first table (0.2 s) where it is installed",
            0.3,
            [first],
        ),
        "fixed costs, later calls": Wait("the same once more", 0.3, [later]),
        "fixed costs, 1,000 classes": Wait(
            "the same with 1,000 images of 1,000 classes, their intervals among it", 0.3, [many]
        ),
    }


def surroundings() -> dict[str, str]:
    """Of a process that finds this source; bytecode is kept, as it is for whoever uses Brittle."""
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    path = os.pathsep.join((str(REPOSITORY / "src"), os.environ.get("PYTHONPATH", "")))
    return kept | {"PYTHONPATH": path, "COLUMNS": "120"}


def command(*words: str, status: int = 0, cwd: Path | None = None) -> tuple[Seconds, str]:
    """A whole command, which must end as it is meant to, and what it wrote to standard error."""
    begun = time.perf_counter()
    process = subprocess.Popen(
        [*MAIN, *words], env=surroundings(), cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    said = process.stderr.read()
    _, ended, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(ended)
    if process.returncode != status:
        raise SystemExit(f"`brittle {' '.join(words)}` ended with {process.returncode}: {said}")
    return Seconds(time.perf_counter() - begun, used.ru_utime + used.ru_stime), said


def first_batch(folder: Path) -> Seconds:
    begun = time.time()
    _, said = command("measure", "python:clock.py:classify", "sample", *FIRST, cwd=folder)
    told = next(line.split() for line in said.splitlines() if line.startswith("first batch"))
    return Seconds(float(told[2]) - begun, float(told[3]))


def fixed(classes: int, count: int) -> tuple[Seconds, Seconds]:
    """Of the first call in a process and of the last of several."""
    code = FIXED.replace("CLASSES", str(classes)).replace("COUNT", str(count))
    done = subprocess.run([sys.executable, "-c", code], env=surroundings(), capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"a small measurement failed: {done.stderr}")
    taken = [Seconds(*map(float, line.split())) for line in done.stdout.splitlines() if line[:1].isdigit()]
    return taken[0], taken[-1]


def as_json(found: dict[str, Wait]) -> dict[str, Any]:
    return {name: {"about": each.about, "limit": each.limit, "taken": each.taken} for name, each in found.items()}
