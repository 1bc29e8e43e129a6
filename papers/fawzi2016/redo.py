"""Every table and figure of Fawzi & Frossard 2016 that is redone here, one after the other.

    python papers/fawzi2016/redo.py [--device cuda --workers 8]
    python papers/fawzi2016/redo.py --small --out build/small

--small is for two CPU cores: fewer networks, seeds, epochs, images and draws, to see that everything works; its numbers
are not the paper's. --data holds mnist, fashion-mnist, imagenet-sample and orl-faces. What needs networks that are not
installed is left out; efficientnet.py and faces.py say how to get them.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import torch

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[1]
EFFICIENTNET, FACES = Path("build/efficientnet"), Path("build/faces")


class Piece(NamedTuple):
    """One script, its options in full and those that make it small."""

    script: Path
    options: tuple[object, ...]
    small: tuple[object, ...] = ()
    needs: Path | None = None  # what its networks are installed into


def pieces(options: argparse.Namespace) -> list[Piece]:
    data, out, weights = options.data, options.out, options.weights
    device = ("--device", options.device)
    workers = ("--workers", options.workers)
    mnist = ("--data", data / "mnist")
    photographs = ("--data", data / "imagenet-sample")
    faces = ("--faces", data / "orl-faces", "--models", FACES, "--draws", weights / "figure4")
    both = ("--mnist", data / "mnist", "--fashion", data / "fashion-mnist")
    few = ("--images", 1000, "--test-images", 200, "--samples", 2, "--nuisance", "affine:alpha=100")
    return [
        Piece(
            HERE / "table1.py",
            (*mnist, *device, *workers, "--weights", weights, "--out", out),
            ("--networks", "cnn-1", "cnn-2-stn", "--seeds", 0, "--epochs", 1, "--images", 200, "--samples", 20),
        ),
        Piece(
            HERE / "figure1.py",
            (*mnist, "--weights", weights / "cnn-1-seed0.safetensors", "--out", out / "figure1.png"),
        ),
        Piece(
            HERE / "figure2.py",
            (*mnist, "--weights", weights / "cnn-2-stn-seed0.safetensors", "--out", out / "figure2.png"),
            ("--budget", 1000),
        ),
        Piece(
            HERE / "table2.py",
            (*photographs, *device, "--images", 1000, "--out", out),
            ("--images", 10, "--samples", 2, "--weak", 5, "--budget", 50, "--amplitudes", 8, "--weak-amplitudes", 8),
            EFFICIENTNET,
        ),
        Piece(
            HERE / "figure3.py",
            (*photographs, "--draws", out / "figure3.parquet", "--to", out / "figure3.png"),
            ("--labels", "goldfinch", "gyromitra", "kite"),
            EFFICIENTNET,
        ),
        Piece(
            HERE / "figure4.py",
            (*faces, *device, "--out", out),
            ("--images", 6, "--steps", 20, "--chains", 2, "--budget", 50, "--samples", 2),
            FACES,
        ),
        Piece(
            REPOSITORY / "benchmarks" / "harden.py",
            (*both, *device, *workers, "--weights", weights, "--out", out),
            ("--epochs", 1, "--seeds", 0, "--rounds", 1, "--steps", 20, "--calls", 1000, *few),
        ),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--weights", type=Path, help="folder for what is trained and drawn; build/fawzi2016 if in full")
    parser.add_argument("--out", type=Path, help="folder for the results; this one if in full, build/small if small")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--workers", type=int, default=1, help="trainings at a time")
    parser.add_argument("--small", action="store_true")
    options = parser.parse_args()
    options.out = options.out or (Path("build/small") if options.small else HERE)
    options.weights = options.weights or (options.out / "weights" if options.small else Path("build/fawzi2016"))
    failed = []
    for piece in pieces(options):
        name = piece.script.name
        if piece.needs is not None and not piece.needs.is_dir():
            said = "efficientnet.py" if piece.needs == EFFICIENTNET else "faces.py"
            print(f"{name}: left out, as {piece.needs} is not there; see the top of {said}", flush=True)
            continue
        command = [piece.script, *piece.options, *(piece.small if options.small else ())]
        print(f"$ python {' '.join(map(str, command))}", flush=True)
        path = os.pathsep.join(filter(None, (str(piece.needs or ""), os.environ.get("PYTHONPATH", ""))))
        done = subprocess.run([sys.executable, *map(str, command)], env=os.environ | {"PYTHONPATH": path}, check=False)
        if done.returncode:
            failed.append(name)
    if failed:
        raise SystemExit(f"these failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
