"""Run by a test: several processes commit 4,000 units to one store while another merges files, as workers and driver
do; prints how many files there were, by number of writers.
"""

import itertools
import json
import os
import random
import struct
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

from brittle.engine.store.unit_store import FileMerger, FolderStore
from brittle.measures.base import Cell
from brittle.measures.plan import Span

CELL = Cell("measure", "classifier", "images", "nuisance")
UNITS, SPAN, ROWS = 4000, 20, 5


def table(span: Span) -> pa.Table:
    units = np.arange(span.first, span.end).repeat(ROWS)
    return pa.table({"unit": units, "row": np.tile(np.arange(ROWS), span.end - span.first)})


def write(folder: Path, wanted: int, done: int, seed: int) -> None:
    """Takes spans from one pipe, commits them after a while, and says so in the other."""
    store, pause = FolderStore(folder, lambda _: ""), random.Random(seed)
    while number := os.read(wanted, 4):
        (first,) = struct.unpack("i", number)
        span = Span(first, first + SPAN)
        time.sleep(pause.uniform(0, 0.002))
        store.write(CELL, span, {"images": table(span)[::SPAN], "rows": table(span)})
        os.write(done, number)
    os._exit(0)


def files_with(writers: int, folder: Path) -> dict[str, int]:
    (wanted, to_do), (done, committed) = os.pipe(), os.pipe()
    for seed in range(writers):
        if os.fork() == 0:
            os.close(to_do)
            write(folder, wanted, committed, seed)
    spans = iter(range(0, UNITS, SPAN))
    for first in itertools.islice(spans, 2 * writers):
        os.write(to_do, struct.pack("i", first))
    store = FolderStore(folder, lambda _: "")
    merging, most = FileMerger(store), 0
    for _ in range(UNITS // SPAN):
        os.read(done, 4)
        if (first := next(spans, None)) is not None:
            os.write(to_do, struct.pack("i", first))
        merging.after_write(CELL)
        most = max(most, len(store.done(CELL)))
    os.close(to_do)
    for _ in range(writers):
        assert os.wait()[1] == 0
    before = len(store.done(CELL))
    store.compact(CELL, finished=True)
    for name, each in (("rows", table(Span(0, UNITS))), ("images", table(Span(0, UNITS))[::SPAN])):
        assert pa.concat_tables([part for _, part in store.read(CELL, table=name)]).equals(each), name
    return {"most": most, "before": before, "after": len(list(folder.rglob("*")))}


if __name__ == "__main__":
    os.fsync = lambda _: None  # what a power cut would lose is tested elsewhere
    print(json.dumps({writers: files_with(writers, Path(sys.argv[1]) / str(writers)) for writers in (1, 2, 8)}))
