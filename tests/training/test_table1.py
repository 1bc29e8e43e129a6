"""The command behind papers/fawzi2016, on the bundled images and at a size for a CPU."""

import json
import runpy
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

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
