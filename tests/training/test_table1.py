"""The command behind papers/fawzi2016, on the bundled images and at a size for a CPU."""

import json
import runpy
import sys
import tomllib
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from sklearn.datasets import load_digits
from torch.nn import functional

import brittle

pytestmark = pytest.mark.warned("has a mean confidence of")

TABLE = Path(__file__).parents[2] / "papers" / "fawzi2016" / "table1.py"


@pytest.fixture
def command(tmp_path, monkeypatch, capsys):
    def call(*more: object) -> str:
        small = ("--train", "sample", "--test", "sample", "--device", "cpu", "--epochs", 2, "--seeds", 0)
        sizes = ("--images", 100, "--samples", 10, "--networks", "cnn-1", "cnn-1-da")
        folders = ("--weights", tmp_path / "weights", "--out", tmp_path / "out")
        monkeypatch.setattr(sys, "argv", ["table1.py", *map(str, (*small, *sizes, *folders, *more))])
        runpy.run_path(str(TABLE), run_name="__main__")
        return capsys.readouterr().out

    return call


def test_the_table_is_trained_measured_and_written(command, tmp_path):
    page = command()
    rows = pq.read_table(tmp_path / "out" / "table1.parquet").to_pylist()
    assert [(row["network"], row["alpha"]) for row in rows] == [
        (network, alpha) for network in ("cnn-1", "cnn-1-da") for alpha in (100, 50, 10)
    ]
    for row in rows:
        assert row["low"] < row["rho"] < row["high"]
        assert row["difference"] == row["rho"] - row["paper_rho"]
        assert (row["images"], row["samples"]) == (100, 10)
    for mild, medium, severe in (rows[:3], rows[3:]):
        assert mild["rho"] > medium["rho"] > severe["rho"]  # the same images and z: only how far they go differs
        assert mild["low"] > severe["high"]
        assert 0.1 < mild["test_error"] < 0.6
    assert page.strip() == (tmp_path / "out" / "table1.md").read_text(encoding="utf-8").strip()
    assert f"| cnn-1 | 0 | 100 | {rows[0]['test_error']:.2%} | {rows[0]['rho']:.3f} [" in page
    near = sum(abs(row["difference"]) <= 0.03 for row in rows)
    assert f"{near} of 6 cells" in page
    known = json.loads((tmp_path / "out" / "environment.json").read_text(encoding="utf-8"))
    assert known["packages"]["torch"]

    weights = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "weights").iterdir()}
    assert sorted(weights) == ["cnn-1-da-seed0.safetensors", "cnn-1-seed0.safetensors"]
    assert command() == page
    assert {path.name: path.stat().st_mtime_ns for path in (tmp_path / "weights").iterdir()} == weights


@pytest.fixture
def digits(tmp_path):
    """Handwritten digits (scikit-learn's, 8×8) at MNIST's size, split as they come: by writer."""
    found = load_digits()
    small = torch.from_numpy(found.images).float()[:, None] / 16
    images = functional.pad(functional.interpolate(small, size=20, mode="bicubic").clamp(0, 1), (4,) * 4)
    pixels = images.mul(255).round().byte().numpy()[:, 0]
    specs = {}
    for name, part in (("train", slice(None, 1297)), ("test", slice(1297, None))):
        np.savez(tmp_path / f"{name}.npz", images=pixels[part], labels=found.target[part])
        specs[name] = f"npz:{tmp_path}/{name}.npz"
    return specs


@pytest.mark.slow
def test_the_deeper_network_is_more_robust_as_in_the_paper(command, digits, tmp_path):
    """Of the paper's conclusions the one that a training of seconds can tell: the others need more images."""
    command(
        *("--train", digits["train"], "--test", digits["test"], "--networks", "cnn-1", "cnn-2"),
        *("--epochs", 10, "--images", 500, "--samples", 20),
    )
    rows = pq.read_table(tmp_path / "out" / "table1.parquet").to_pylist()
    shallow, deep = ([row["rho"] for row in rows if row["network"] == name] for name in ("cnn-1", "cnn-2"))
    assert all(less < more for less, more in zip(shallow, deep, strict=True))

    study = tomllib.loads((tmp_path / "out" / "table1.toml").read_text(encoding="utf-8"))
    again = brittle.run(study, out=None, device="cpu")["measures"]["robustness"]
    assert sorted(row["rho"] for row in again["results"]) == pytest.approx(sorted(row["rho"] for row in rows))
    paired = {pair["nuisance"]: pair["rho_interval"] for pair in again["comparisons"]}
    assert max(paired["alpha=100"]) < 0  # cnn-1 − cnn-2
    assert max(paired["alpha=50"]) < 0
