"""Carries out the parts one after another, as many as fit into a call; what is done is not done again.

    python papers/cns2025/generated/run.py WORK --data FOLDER [--parts pipeline,tokens,…] [--limit 560]

FOLDER holds fashion-mnist/ and mnist/ with idx files. WORK gets weights, images and, in tables/, the results. With a
limit, in seconds, a part is begun only where it is expected to end before. On a CPU, --tiny tries everything in a few
minutes; its numbers mean nothing.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import torch
from benchmark import benchmark, out_of_class, stages
from combine import combine
from drops import diffusion, selections
from encoders import encoders
from fewer import fewer
from gap import gap
from oodcv import against_real
from speed import speed
from targets import targets
from train import pipeline, sliders, tokens
from tuning import tuning
from ways import ways
from work import Work

import brittle
from classifiers import classifiers


class Part(NamedTuple):
    """What it does, about how many seconds it takes on an H200, and the folder that it leaves for others."""

    carry_out: Callable[[Work], None]
    seconds: float
    leaves: str = "tables"


PARTS = {
    "pipeline": Part(pipeline, 320, "pipeline"),
    "tokens": Part(tokens, 50, "tokens"),
    "encoders": Part(encoders, 115, "encoders"),
    "classifiers": Part(classifiers, 90, "networks"),
    "sliders": Part(sliders, 190, "sliders"),
    "benchmark": Part(benchmark, 45, "benchmark"),
    "filter": Part(out_of_class, 30, "labels"),
    "stages": Part(stages, 20),
    "drops": Part(selections, 30),
    "gap": Part(gap, 40),
    "speed": Part(speed, 40),
    "ways": Part(ways, 80),
    "diffusion": Part(diffusion, 150),
    "oodcv": Part(against_real, 70),
    "fewer": Part(fewer, 30),
    "combination": Part(combine, 15),
    "tuning": Part(tuning, 120),
    "targets": Part(targets, 100),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("work", type=Path)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--parts", default=",".join(PARTS), help="which, separated by commas; all by default")
    parser.add_argument("--limit", type=float, help="seconds after which no part may still run")
    parser.add_argument("--tiny", action="store_true", help="a few images and steps of everything")
    given = parser.parse_args()
    began = time.monotonic()
    work = Work(given.work, given.data, given.tiny, None if given.limit is None else began + given.limit)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    work.unpack()
    asked = given.parts.split(",")
    unknown = [name for name in asked if name not in PARTS]
    if unknown:
        parser.error(f"there is no part {unknown[0]!r}; known: {', '.join(PARTS)}")
    for name in asked:
        carried_out(work, name)


def carried_out(work: Work, name: str) -> None:
    """One part, unless it is done or there is no time for it."""
    marks = work.folder / "tables" / "done.json"
    done = json.loads(marks.read_text(encoding="utf-8")) if marks.is_file() else {}
    if name in done and (work.folder / PARTS[name].leaves).is_dir():
        work.say(f"{name} is done")
        return
    if not work.tiny and work.left < PARTS[name].seconds:
        work.say(f"{name} is left: it takes about {PARTS[name].seconds:.0f} s, and {work.left:.0f} s are left")
        return
    began = time.monotonic()
    work.say(f"{name} begins")
    PARTS[name].carry_out(work)
    seconds = round(time.monotonic() - began, 1)
    done[name] = {"seconds": seconds, "tiny": work.tiny, "device": _device(), "torch": torch.__version__}
    done[name]["brittle"] = brittle.__version__
    marks.write_text(json.dumps(done, indent=1), encoding="utf-8")
    work.say(f"{name} took {seconds} s")


def _device() -> str:
    return torch.cuda.get_device_name() if torch.cuda.is_available() else "a CPU"


if __name__ == "__main__":
    main()
