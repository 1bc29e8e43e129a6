"""Packs what the papers' trainings need on a machine that can install and fetch nothing, and unpacks it there.

    python papers/carry.py pack [--data FOLDER --sets fashion-mnist mnist --python 3.12] --out .carry
    python3 papers/carry.py unpack .carry --out build/carried       # there, with nothing but Python
    export PYTHONPATH=$PWD/build/carried/py:$PWD/src                # and --data build/carried/data

There, torch, numpy, scipy, pyarrow, pillow, onnxruntime, safetensors and jinja2 must be installed. The rest is packed
for the Python named: small packages, captum for Grad-CAM, and as much of matplotlib as captum imports. Images are
packed as they are in idx files, since xz makes them a sixth smaller than gzip does.
"""

from __future__ import annotations

import argparse
import gzip
import io
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGES = (
    *("pydantic", "pydantic-core", "annotated-types", "typing-inspection", "tomli-w", "rich"),
    *("captum", "tqdm", "matplotlib", "contourpy", "kiwisolver", "cycler", "pyparsing", "python-dateutil", "six"),
)
LEFT_OUT = {"tests", "sample_data", "images", "stylelib", "afm", "pdfcorefonts", "__pycache__"}
LEFT_OUT_ENDS = (".pyi", ".svg", ".h", ".txt.gz")
CODE, DATA = "packages.tar.xz", "data.tar.xz"


def packed(python: str, out: Path) -> None:
    """The packages, of the versions in constraints.txt, without what only tests and pictures need."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", folder]
        command += ["--python-version", python, "--only-binary=:all:", "-c", str(HERE.parent / "constraints.txt")]
        subprocess.run([*command, *PACKAGES], check=True)
        with tarfile.open(out / CODE, "w:xz") as tar:
            tar.add(folder, "py", filter=_needed)


def _needed(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    parts = member.name.split("/")
    return None if LEFT_OUT & set(parts) or member.name.endswith(LEFT_OUT_ENDS) else member


def with_images(folder: Path, sets: list[str], out: Path) -> None:
    with tarfile.open(out / DATA, "w:xz") as tar:
        for each in sets:
            for file in sorted((folder / each).glob("*.gz")):
                content = gzip.decompress(file.read_bytes())
                member = tarfile.TarInfo(f"data/{each}/{file.name.removesuffix('.gz')}")
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))


def unpacked(folder: Path, out: Path) -> None:
    """Both, with images as the .gz files that specs name."""
    out.mkdir(parents=True, exist_ok=True)
    for archive in sorted(folder.glob("*.tar.xz")):
        with tarfile.open(archive) as tar:
            tar.extractall(out, filter="data")
    for file in sorted((out / "data").rglob("*ubyte")):
        with file.open("rb") as plain, gzip.open(f"{file}.gz", "wb", compresslevel=1) as made:
            shutil.copyfileobj(plain, made)
        file.unlink()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = parser.add_subparsers(dest="what", required=True)
    pack = kinds.add_parser("pack")
    pack.add_argument("--data", type=Path, default=Path("../shared/data"))
    pack.add_argument("--sets", nargs="*", default=["fashion-mnist", "mnist"])
    pack.add_argument("--python", default="3.12", help="the version on the other machine")
    pack.add_argument("--out", type=Path, default=Path(".carry"))
    unpack = kinds.add_parser("unpack")
    unpack.add_argument("folder", type=Path)
    unpack.add_argument("--out", type=Path, default=Path("build/carried"))
    options = parser.parse_args()
    if options.what == "unpack":
        unpacked(options.folder, options.out)
        return
    options.out.mkdir(parents=True, exist_ok=True)
    packed(options.python, options.out)
    if options.sets:
        with_images(options.data, options.sets, options.out)
    for file in sorted(options.out.glob("*.tar.xz")):
        print(f"{file}: {file.stat().st_size / 2**20:.1f} MiB")


if __name__ == "__main__":
    main()
