"""Puts together what a bare GPU machine lacks, as the folder build/carry, which goes there with the repository.

    python papers/cns2025/generated/carry.py --data FOLDER [--results FOLDER] [--later]

FOLDER of the data holds fashion-mnist/ and mnist/ with gzipped idx files; they are packed with xz, which saves a
fifth. The packages of PACKAGES are fetched by pip for the machine's Python. Results are the .tgz files that an earlier
call gave back; they are needed where the machine has been given back since. MNIST, and FashionMNIST's training images
past the first 32,000, are needed by the first call alone.
"""

from __future__ import annotations

import argparse
import gzip
import lzma
import math
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parents[3]
OUT = HERE / "build" / "carry"
PYTHON = "3.12"
# What is imported and is not there; torch, torchvision, transformers, peft and pyarrow are.
PACKAGES = (
    "diffusers",
    "pydantic",
    "pydantic_core",
    "annotated_types",
    "typing_inspection",
    "tomli_w",
    "rich",
    "markdown_it_py",
    "mdurl",
    "pygments",
)
LATER = 32_000  # training images that later calls need
MOST = 64 << 20  # bytes that may go there, the repository included


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--results", type=Path, help="folder with .tgz files of earlier calls")
    parser.add_argument("--only", help="of these, some: pipeline,tokens,encoders,networks,tables")
    parser.add_argument("--later", action="store_true", help="for all calls but the first: less data")
    given = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    if not (OUT / "site.tar.xz").exists():
        packages(OUT / "site.tar.xz")
    for kind in ("fashion-mnist", "mnist"):
        shutil.rmtree(OUT / kind, ignore_errors=True)
        if kind == "mnist" and given.later:
            continue
        for file in sorted((given.data / kind).glob("*-ubyte.gz")):
            if kind == "fashion-mnist" or file.name.startswith("train"):
                squeezed(file, OUT / kind / f"{file.stem}.xz", LATER if given.later else None)
    for file in OUT.glob("*.tgz"):
        file.unlink()
    wanted = None if given.only is None else given.only.split(",")
    for file in sorted(given.results.glob("*.tgz")) if given.results is not None else []:
        if wanted is None or file.stem in wanted:
            shutil.copy(file, OUT / file.name)
    told()


def packages(to: Path) -> None:
    """Unpacked, as one file."""
    with tempfile.TemporaryDirectory() as place:
        platforms = ("any", "manylinux2014_x86_64", "manylinux_2_17_x86_64")
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
        command += ["--python-version", PYTHON, *(part for each in platforms for part in ("--platform", each))]
        command += ["-c", str(HERE / "constraints.txt"), "-d", place, *PACKAGES]
        subprocess.run(command, check=True)
        site = Path(place) / "site"
        for wheel in sorted(Path(place).glob("*.whl")):
            with zipfile.ZipFile(wheel) as packed:
                packed.extractall(site)
        with tarfile.open(to, "w:xz", preset=6) as packed:
            packed.add(site, "site")


def squeezed(file: Path, to: Path, rows: int | None) -> None:
    """An idx file as xz; of its rows only so many."""
    content = gzip.decompress(file.read_bytes())
    axes = content[3]
    count, *shape = struct.unpack(f">{axes}I", content[4 : 4 + 4 * axes])
    if rows is not None and rows < count:
        numbers = content[4 + 4 * axes :][: rows * math.prod(shape)]
        content = content[:4] + struct.pack(f">{axes}I", rows, *shape) + numbers
    to.parent.mkdir(parents=True, exist_ok=True)
    to.write_bytes(lzma.compress(content, preset=6))


def told() -> None:
    """How much goes there."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=HERE, check=True, capture_output=True, text=True).stdout.split("\0")
    repository = sum((HERE / name).stat().st_size for name in names if name and (HERE / name).is_file())
    carried = sum(file.stat().st_size for file in OUT.rglob("*") if file.is_file())
    for file in sorted(OUT.rglob("*")):
        if file.is_file():
            print(f"{file.stat().st_size / 1e6:8.2f} MB  {file.relative_to(OUT)}")
    said = "fits" if repository + carried < MOST else "is too much"
    print(f"{carried / 1e6:.1f} MB and the repository's {repository / 1e6:.1f} MB: {said} ({MOST / 1e6:.1f} MB)")


if __name__ == "__main__":
    main()
