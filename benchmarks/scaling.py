"""Workers on Ray against one process: images per second on the clock, and what a second of the processor does.

    python benchmarks/scaling.py [--images 500] [--samples 1000] [--turns 3] [--workers 1,2]

Every engine does the same work turn by turn, in processes of one thread each. Rates are taken between the first and the
last time that progress is told, so that starting Ray and loading classifiers don't count; the processor's seconds are
those of this process and all that descend from it. "Efficiency" is the rate per worker over that of one process: by the
clock, which shows what others do on the machine too, and by the processor, which shows what the engine costs.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch

import brittle
from brittle.progress import Progress

LOOK = 0.5  # seconds between two looks at the processor
TICK = os.sysconf("SC_CLK_TCK")


def processor() -> float:
    """Seconds of this process and its descendants."""
    times, parents = {}, {}
    for each in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError):
            fields = (each / "stat").read_text().rpartition(")")[2].split()
            parents[int(each.name)], times[int(each.name)] = int(fields[1]), sum(map(int, fields[11:15]))
    family = {os.getpid()}
    while more := {child for child, parent in parents.items() if parent in family} - family:
        family |= more
    return sum(times[each] for each in family if each in times) / TICK


class Watched(Progress):
    """Images told of since the first time, and what the clock and the processor said at the first and the last."""

    def __init__(self) -> None:
        super().__init__()
        self.first = self.last = (0.0, 0.0)
        self.done = self._unread = 0

    def advance(self, rows: int) -> None:
        now = time.perf_counter()
        if not rows:
            return
        if self.first == (0.0, 0.0):
            self.first = self.last = now, processor()
            return
        self._unread += rows
        if now - self.last[0] > LOOK:
            self.last, self.done, self._unread = (now, processor()), self.done + self._unread, 0

    @property
    def rates(self) -> tuple[float, float]:
        """Images per second of the clock, and of the processor."""
        return self.done / (self.last[0] - self.first[0]), self.done / (self.last[1] - self.first[1])


def rates(images: int, samples: int, workers: int) -> tuple[float, float]:
    """Of one run; no worker: one process."""
    watched = Watched()
    how = {"engine": "ray", "workers": workers} if workers else {}
    with tempfile.TemporaryDirectory() as folder:
        given = {"count": images, "device": "cpu", "batch": 512, "out": f"{folder}/run", "progress": watched}
        brittle.measure("bundled:plain", "sample", "affine:alpha=50", samples=samples, **given, **how)
    return watched.rates


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--images", type=int, default=500)
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--workers", default="1,2")
    given = parser.parse_args()
    torch.set_num_threads(1)
    asked = [0, *map(int, given.workers.split(","))]
    found = {workers: [] for workers in asked}
    for _ in range(given.turns):
        for workers in asked:
            found[workers].append(rates(given.images, given.samples, workers))
    alone = [statistics.median(each) for each in zip(*found[0], strict=True)]
    print("| engine | images per second | efficiency | images per second of the processor | efficiency |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for workers, each in found.items():
        clock, used = (statistics.median(some) for some in zip(*each, strict=True))
        name = f"ray, {workers} worker{'s' if workers > 1 else ''}" if workers else "local"
        shares = clock / alone[0] / max(1, workers), used / alone[1]
        print(f"| {name} | {clock:,.0f} | {shares[0]:.2f} | {used:,.0f} | {shares[1]:.2f} |", flush=True)


if __name__ == "__main__":
    main()
