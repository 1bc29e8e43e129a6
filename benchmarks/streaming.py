"""Memory of a measurement over webdataset shards, by the number of images: `python benchmarks/streaming.py`.

Images are generated into shards, and each size is measured in a process of its own, whose peak resident memory is read
from the system. `--images 50000,100000,200000` are the sizes.
"""

from __future__ import annotations

import argparse
import io
import json
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

import numpy as np
from PIL import Image

PER_SHARD = 10_000
SIDE = 64
MEASURE = """
import json, resource, sys, time
import torch
import brittle
from brittle.images import image_set

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

torch.manual_seed(0)
network = torch.nn.Sequential(torch.nn.AvgPool2d(8), torch.nn.Flatten(), torch.nn.Linear(192, 10))
few = torch.rand(64, 3, 64, 64), torch.arange(64) % 10
brittle.measure(network, few, nuisances="brightness", samples=1, progress=False)
before, begun = peak(), time.perf_counter()
images = image_set("shards:" + sys.argv[1])
indexed, index = time.perf_counter() - begun, peak()
found = brittle.measure(network, images, nuisances="brightness", samples=1, progress=False)
print(json.dumps({"images": len(images), "before": before, "index": index, "peak": peak(), "indexed": indexed,
                  "seconds": time.perf_counter() - begun}))
"""


def write_shards(folder: Path, count: int) -> None:
    """Photograph-like images, waves of random colours, with a label each, in shards as webdataset writes them."""
    generator = np.random.default_rng(0)
    wave = np.sin(np.arange(SIDE) / 7)[:, None, None] * np.cos(np.arange(SIDE) / 11)[None, :, None]
    for first in range(0, count, PER_SHARD):
        with tarfile.open(folder / f"images-{first // PER_SHARD:04d}.tar", "w") as archive:
            for place in range(first, min(first + PER_SHARD, count)):
                stream = io.BytesIO()
                pixels = np.uint8(127.5 + wave * generator.uniform(-127, 127, 3))
                Image.fromarray(pixels).save(stream, "JPEG")
                for kind, content in (("jpg", stream.getvalue()), ("cls", str(place % 10).encode())):
                    info = tarfile.TarInfo(f"{place:08d}.{kind}")
                    info.size = len(content)
                    archive.addfile(info, io.BytesIO(content))


def measured(count: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter()
        write_shards(Path(folder), count)
        size = sum(file.stat().st_size for file in Path(folder).iterdir())
        print(
            f"{count} images in shards of {size / 1e6:.0f} MB, written in {time.perf_counter() - begun:.0f} s",
            file=sys.stderr,
        )
        said = subprocess.run([sys.executable, "-c", MEASURE, folder], capture_output=True, text=True, check=True)
        return {**json.loads(said.stdout), "size": size}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--images", default="50000,100000,200000")
    sizes = [int(each) for each in parser.parse_args().images.split(",")]
    print("| images | shards, MB | as pixels, MB | indexed in, s | index, MB | measured in, s | peak memory, MB |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for count in sizes:
        found = measured(count)
        index, pixels = (found["index"] - found["before"]) / 1024, count * 3 * SIDE * SIDE * 4
        print(
            f"| {count:,} | {found['size'] / 1e6:,.0f} | {pixels / 1e6:,.0f} | {found['indexed']:.1f} "
            f"| {index:.0f} | {found['seconds']:.1f} | {found['peak'] / 1024:,.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
