"""The commands that are disturbed, each small enough for seconds, and what each of them leaves behind. Every scenario
is tried on all that stand in `COMMANDS`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from benchmarks.faults.pipelines import CLASSES, make_pipeline
from safetensors import safe_open

PACKAGE = Path(__file__).resolve().parents[2] / "src/brittle"
SAMPLE = PACKAGE / "images/data/fashion-sample.npz"
WEIGHTS = PACKAGE / "classifiers/data/plain.safetensors"
STUDY = """
seed = 3
nuisances = ["affine:alpha=100"]

[classifiers]
plain = "bundled:plain"

[images]
some = "npz:{images}"

[robustness]
samples = 8
"""
TOLD = ("seconds", "earlier")  # what differs from one undisturbed run to the next


@dataclass(frozen=True)
class Command:
    """`out` is what `--out` names, under the folder that is disturbed; `left` reads what is there in the end."""

    name: str
    arguments: Callable[[Path], list[str]]  # given the folder of inputs
    out: str
    left: Callable[[Path], dict[str, Any]]

    def line(self, inputs: Path, folder: Path) -> list[str]:
        return [*self.arguments(inputs), "--out", str(folder / self.out), "--device", "cpu"]


def make_inputs(folder: Path) -> None:
    """A few images of the bundled sample, a study of them, and a pipeline that makes others."""
    with np.load(SAMPLE) as sample:
        arrays = {name: sample[name] for name in sample.files}
    few = np.flatnonzero(arrays["labels"] < 2)  # of two classes, since a summary takes its time for each
    for name, count in (("images", 60), ("few", 12)):
        part = {key: each[few[:count]] for key, each in arrays.items()}
        np.savez(folder / f"{name}.npz", **part)
    (folder / "study.toml").write_text(STUDY.format(images=folder / "few.npz"))
    make_pipeline(folder)


def rows(folder: Path) -> dict[str, Any]:
    """Every table of every cell, in planned order, however it is cut into files."""
    found: dict[str, list[pa.Table]] = {}
    for path in sorted(folder.glob("units/**/*.parquet")):
        table = f"{path.parent.relative_to(folder)} {path.name.split('.')[1]}"
        found.setdefault(table, []).append(table_of(path).replace_schema_metadata(None))
    return {name: pa.concat_tables(tables).to_pydict() for name, tables in found.items()}


def table_of(path: Path) -> pa.Table:
    return pq.read_table(pa.BufferReader(path.read_bytes()), use_threads=False)  # a thread would be lost in children


def finished_units(folder: Path) -> set[tuple[str, int]]:
    """Cell and number of every unit whose rows are there and can be read."""
    found = set()
    for path in folder.glob("**/units/**/*.rows.parquet"):
        if table_of(path).num_rows >= 0:
            first, end = path.name.split(".")[0].split("-")
            found |= {(str(path.parent.relative_to(folder)), unit) for unit in range(int(first), int(end))}
    return found


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir())


def plain(value: Any) -> Any:
    """Without times."""
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items() if key not in TOLD}
    return [plain(each) for each in value] if isinstance(value, list) else value


def summary(path: Path) -> Any:
    return plain(json.loads(path.read_text(encoding="utf-8")))


def tensors(path: Path) -> dict[str, str]:
    """A hash of every tensor, bit for bit."""
    with safe_open(path, framework="np") as file:
        return {key: hashlib.sha256(file.get_tensor(key).tobytes()).hexdigest() for key in file.keys()}  # noqa: SIM118


def left_by_run(folder: Path) -> dict[str, Any]:
    out = folder / "run"
    return {"files": names(folder), "rows": rows(out), "summary": summary(out / "summary.json")}


def left_by_harden(folder: Path) -> dict[str, Any]:
    out = folder / "hardened"
    return {
        "files": names(folder),
        "rows": rows(out),
        "summary": summary(out / "summary.json"),
        "hardening": summary(out / "harden.json"),
        "weights": (out / "weights.safetensors").read_bytes(),
        "rounds": {path.name: tensors(path) for path in sorted((out / "rounds").iterdir())},
    }


def left_by_train(folder: Path) -> dict[str, Any]:
    return {"files": names(folder), "weights": (folder / "weights.safetensors").read_bytes()}


def left_by_generate(folder: Path) -> dict[str, Any]:
    out = folder / "benchmark"
    return {
        "files": names(folder),
        "rows": rows(out / "run"),
        "summary": summary(out / "run/summary.json"),
        "annotations": json.loads((out / "annotations_cns.json").read_text(encoding="utf-8")),
        "datasheet": (out / "datasheet.md").read_text(encoding="utf-8"),
        "images": {str(path.relative_to(out)): path.read_bytes() for path in sorted(out.glob("*/*/*.png"))},
    }


HARDEN = "--nuisance affine:alpha=100 --rounds 1 --steps 3 --batch-size 16 --calls 200 --samples 4 --ways 1"
GENERATE = f"--classes {'/'.join(CLASSES)} --seeds 2 --scales 1 --steps 2 --format png"
COMMANDS = (
    Command("run", lambda inputs: ["run", str(inputs / "study.toml")], "run", left_by_run),
    Command(
        "harden",
        lambda inputs: [
            "harden",
            f"torch:brittle.classifiers.bundled:SmallNet,weights={WEIGHTS}",
            f"npz:{inputs / 'images.npz'}",
            *HARDEN.split(),
        ],
        "hardened",
        left_by_harden,
    ),
    Command(
        "train",
        lambda inputs: ["train", "small-plain", f"npz:{inputs / 'images.npz'}", "--epochs", "3"],
        "weights.safetensors",
        left_by_train,
    ),
    Command(
        "generate",
        lambda inputs: ["generate", str(inputs / "pipeline"), "--sliders", str(inputs / "sliders"), *GENERATE.split()],
        "benchmark",
        left_by_generate,
    ),
)
