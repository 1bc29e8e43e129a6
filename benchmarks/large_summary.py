"""A summary of a million images under a hundred draws each: its time and its memory, with one thread and with several.

    python benchmarks/large_summary.py [--images 100000,1000000] [--draws 100] [--threads 1,2]

Rows of `robustness` and `clean` are made up and go to a run folder as merged files; then `summary` is taken of them in
a process of its own, whose peak resident memory is read from the system. "before" is what that process holds once the
study is opened and nothing is read; "table" is how large its rows are as tables, which nobody holds.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

CLASSES = 100
ROWS_PER_FILE = 1 << 22


def peak() -> float:
    """MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def job_of(images: int, draws: int) -> Any:
    """A job of one classifier that is never asked anything after it was tried."""
    import torch

    from brittle.classifiers import classifier
    from brittle.engine.assemble import assemble
    from brittle.engine.check.before_work import check_job
    from brittle.engine.open import open_inputs
    from brittle.images.base import ImageSet, IndexNames

    ids = torch.arange(images)

    def read(places: Any) -> Any:
        return torch.zeros(len(places), 1, 28, 28) + (ids[places, None, None, None] % 251) / 251

    made = ImageSet("made up", ids, ids % CLASSES, (), IndexNames(ids.numpy()), {}, read)
    weights = torch.randn(28 * 28, CLASSES, generator=torch.Generator().manual_seed(0))
    net = classifier(lambda batch: batch.flatten(1) @ weights)
    study = {"classifiers": {"net": net}, "images": {"many": made}, "nuisances": ["affine"],
             "robustness": {"samples": draws}}  # fmt: skip
    return check_job(assemble(open_inputs(study), "cpu", None)).job


def write_rows(job: Any, folder: Path) -> tuple[int, int]:
    """Answers of a classifier that is right about three times of four, and takes an image for three others at most; how
    many rows, and bytes as one table."""
    import numpy as np
    import pyarrow as pa

    from brittle.engine.store.unit_store import FolderStore
    from brittle.measures.plan import Span

    store, random, rows, size = FolderStore(folder, job.depends, job.extent), np.random.default_rng(0), 0, 0
    for assignment in job.assignments.values():
        for cell in assignment.cells():
            plan, place = job.plan(cell), 0
            ids = job.subject(cell.images).ids
            while place < len(plan):
                end = min(len(plan), place + max(1, ROWS_PER_FILE // plan[place].size))
                units = [plan[each] for each in range(place, end)]
                numbers = np.concatenate([np.full(each.size, place + at, np.int32) for at, each in enumerate(units)])
                image = np.concatenate(
                    [ids[each.images.start : each.images.stop].repeat(len(each.axis)) for each in units]
                )
                draw = np.concatenate([np.tile(np.asarray(each.axis), len(each.images)) for each in units])
                count = len(image)
                wrong = random.random(count) < 0.25
                other = (image * 7 + random.integers(1, 4, count)) % CLASSES  # an image is taken for a few classes
                said = np.where(wrong, other, image % CLASSES).astype(np.int32)
                p = random.uniform(0.01, 0.99, (2, count)).astype(np.float32)
                columns: dict[str, Any] = {"unit": numbers, "image": image}
                columns |= {"draw": draw.astype(np.int32)} if assignment.kind == "robustness" else {}
                columns |= {"log_p_label": np.log(p[0]), "log_p_other": np.log1p(-p[0]), "predicted": said}
                columns |= {"log_p_predicted": np.log(p[1]), "rank": (said != image % CLASSES).astype(np.int32)}
                table = pa.table(columns)
                store.write(cell, Span(place, end), {"rows": table})
                rows, size, place = rows + count, size + table.nbytes, end
    return rows, size


def summarised(images: int, draws: int, folder: str, threads: int) -> dict[str, float]:
    import torch

    from brittle.engine.store.unit_store import FolderStore
    from brittle.engine.view import summary

    torch.set_num_threads(threads)
    job = job_of(images, draws)
    before, clock, used = peak(), time.perf_counter(), time.process_time()
    found = summary(job, FolderStore(Path(folder), job.depends, job.extent))["measures"]["robustness"]
    assert found["results"][0]["images"] == images
    return {"seconds": time.perf_counter() - clock, "processor": time.process_time() - used, "before": before,
            "peak": peak(), "rho": found["results"][0]["rho"]}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--images", default="100000,1000000")
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        images, draws, folder, threads = given.one
        print(json.dumps(summarised(int(images), int(draws), folder, int(threads))))
        return
    print("| images | rows | table, MB | threads | seconds | of the processor | before, MB | peak, MB |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for images in map(int, given.images.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            rows, size = write_rows(job_of(images, given.draws), Path(folder))
            said = set()
            for threads in given.threads.split(","):
                line = [sys.executable, __file__, "--one", str(images), str(given.draws), folder, threads]
                environment = os.environ | {"OMP_NUM_THREADS": threads}
                ended = subprocess.run(line, stdout=subprocess.PIPE, check=True, text=True, env=environment)
                found = json.loads(ended.stdout)
                said.add(round(found["rho"], 9))
                numbers = [f"{found[key]:,.0f}" for key in ("seconds", "processor", "before", "peak")]
                print(
                    f"| {images:,} | {rows:,} | {size / 2**20:,.0f} | {threads} | {' | '.join(numbers)} |", flush=True
                )
            assert len(said) == 1, said


if __name__ == "__main__":
    main()
