"""A small study of a user's own things: classifiers in a file that write down their calls, images in an .npz."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

MODULE = """
import pathlib
import time

import torch

HERE = pathlib.Path(__file__).parent


def scores(name, images, seed):
    with open(HERE / f"{name}.calls", "a") as file:
        file.write(f"{len(images)}\\n")
    if (HERE / "delay").exists():
        time.sleep(float((HERE / "delay").read_text()))
    weights = torch.randn(64, 4, generator=torch.Generator().manual_seed(seed))
    if (HERE / "scale").exists():  # in a file that no spec names
        weights = weights * float((HERE / "scale").read_text())
    return images.flatten(1) @ weights


def first(images):
    return scores("first", images, 1)


def second(images):
    return scores("second", images, 2) / 10
"""


class Things:
    """The folder of the user's things, and studies of them."""

    IMAGES = 60
    CHECKED = 32  # rows classified before work begins: 8 to settle the classifier, 8 three times for its answers

    def __init__(self, folder: Path) -> None:
        self.folder, self.out = folder, folder / "run"
        (folder / "things.py").write_text(MODULE)
        self.write_images()

    def write_images(self, seed: int = 0, count: int = IMAGES, **changed: Any) -> None:
        random = np.random.default_rng(seed)
        arrays = {
            "images": random.integers(0, 256, (count, 8, 8), dtype=np.uint8),
            "labels": random.integers(0, 4, count),
        }
        np.savez(self.folder / "images.npz", **(arrays | changed))

    def study(self, *names: str, **changed: Any) -> dict[str, Any]:
        """A study of the classifiers `names`, by default the first one."""
        return {
            "classifiers": {name: f"python:{self.folder}/things.py:{name}" for name in names or ("first",)},
            "images": {"toy": f"npz:{self.folder}/images.npz"},
            "nuisances": ["affine:alpha=20", "rotation:sigma=20", "translation:sigma=0.2"],
            "robustness": {"samples": 20},
        } | changed

    def rows(self, name: str = "first") -> int:
        """How many images the classifier was given since this was last asked."""
        log = self.folder / f"{name}.calls"
        found = sum(map(int, log.read_text().split())) if log.exists() else 0
        log.unlink(missing_ok=True)
        return found

    def unit_files(self, nuisance: str = "", name: str = "first") -> list[Path]:
        """A classifier's files: those of its robustness under a nuisance, or of its clean predictions, or all."""
        folders = {"": f"*/{name}/toy/**", "clean": f"clean/{name}/toy"}
        place = folders.get(nuisance, f"robustness/{name}/toy/{nuisance}*")
        return sorted((self.out / "units").glob(f"{place}/*.parquet"))


@pytest.fixture
def things(tmp_path: Path) -> Things:
    return Things(tmp_path)


@pytest.fixture
def own() -> Callable[[dict[str, Any]], dict[str, Any]]:
    """A result without what depends on how many results stand beside it, and without their warnings."""
    company = {"interval_simultaneous", "warnings"}
    return lambda row: {key: value for key, value in row.items() if key not in company}


@pytest.fixture
def small_units(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Units of this many rows, one unit per file until files are merged, so that a small run has many."""

    def cut(rows: int) -> None:
        monkeypatch.setattr("brittle.measures.robustness.measure.rows_per_unit", lambda _: rows)
        monkeypatch.setattr("brittle.measures.clean.measure.rows_per_unit", lambda _: rows)
        monkeypatch.setattr("brittle.engine.plan.missing.BATCHES_PER_SPAN", 1e-9)

    return cut


@pytest.fixture
def unmerged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files stay as they were written."""
    monkeypatch.setattr("brittle.engine.store.unit_store.FolderStore.compact", lambda *_, **__: None)
