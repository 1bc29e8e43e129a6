"""Small runs with tiny classifiers, written once and read by every test of the report."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from engine_runs import run_study

from brittle.measures import measures
from brittle.measures.base import CLASSIFIER, IMAGES, Derived, RunView
from brittle.registry import option
from brittle.report.html import write_report
from brittle.report.page.loaded import load
from brittle.report.page.section import MeasureRun
from brittle.study import Study

SHARED = ("report", "weak", "both", "foreign", "untrusted")  # folders that no test changes
NAMES = ('<b>&"x --> $a$', "plain")
CLASSES = ["circle <i>", "square", "cross"]
TINY = """
import torch

def _scores(images, seed, scale):
    weights = torch.randn(images[0].numel(), 3, generator=torch.Generator().manual_seed(seed))
    flat = images.flatten(1)
    return scale * (flat - flat.mean(1, keepdim=True)) @ weights

def first(images):
    return _scores(images, 1, 3.0)

def second(images):
    return _scores(images, 2, 1.0)
"""


def _write_run(folder: Path, *, labelled: bool = True, **changes: Any) -> Path:
    """A run of 24 images of 10×8 pixels into `folder`/run; `changes` replace keys of the study, None removes one."""
    (folder / "tiny.py").write_text(TINY)
    random = np.random.default_rng(0)
    arrays: dict[str, Any] = {"images": random.integers(0, 256, (24, 8, 10), dtype=np.uint8)}
    if labelled:
        arrays |= {"labels": np.arange(24) % 3, "classes": np.array(CLASSES)}
    np.savez(folder / "images.npz", **arrays)
    study: dict[str, Any] = {
        "classifiers": {
            NAMES[0]: f"python:{folder}/tiny.py:first",
            NAMES[1]: f"python:{folder}/tiny.py:second",
        },
        "images": {"shapes": f"npz:{folder}/images.npz"},
        "nuisances": ["affine:alpha=50", "affine:alpha=10", "translation:sigma=0.1"],
        "robustness": {"samples": 8, "extra": ["nll", "ece"]},
    }
    study = {key: value for key, value in (study | changes).items() if value is not None}
    run_study(Study.of(study), folder / "run", device="cpu")
    return folder / "run"


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _write_run(tmp_path_factory.mktemp("report"))


WEAK = {"nuisances": ["translation:sigma=0.2", "occlusion:rectangles=1,scale=0.2"], "weak-points": {"budget": 400}}


@pytest.fixture(scope="session")
def weak_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Weak points and nothing else."""
    return _write_run(tmp_path_factory.mktemp("weak"), robustness=None, **WEAK)


@pytest.fixture(scope="session")
def both_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _write_run(tmp_path_factory.mktemp("both"), **WEAK)


@pytest.fixture(scope="session")
def write_run() -> Callable[..., Path]:
    return _write_run


class Page(HTMLParser):
    """Tags with their attributes, and the text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data.replace("\xa0", " ")

    @property
    def ids(self) -> set[str | None]:
        return {attributes.get("id") for _, attributes in self.tags}


@pytest.fixture(scope="session")
def page_of() -> Callable[[Path], Page]:
    """The report of a run folder, written and read; that of a folder which all tests share is written once."""
    written: dict[Path, Page] = {}

    def page(folder: Path) -> Page:
        if folder not in written or folder.parent.name.rstrip("0123456789") not in SHARED:
            written[folder] = Page(write_report(folder).read_text(encoding="utf-8"))
        return written[folder]

    return page


def _measure_run(folder: Path, name: str) -> MeasureRun:
    run = load(folder)
    return MeasureRun(name, run.summary["measures"][name], run)


@pytest.fixture(scope="session")
def measure_run() -> Callable[[Path, str], MeasureRun]:
    """A run as the section of one of its measures sees it."""
    return _measure_run


@dataclass(frozen=True)
class Letters(Derived):
    """Somebody else's measure: how long a classifier's labels are."""

    over: ClassVar[frozenset[str]] = frozenset({CLASSIFIER, IMAGES})

    least: int = option(1, "letters of a label that counts")

    def summarise(self, run: RunView) -> dict[str, Any]:
        rows = [
            {
                "classifier": name,
                "labels": len(facts.labels),
                "mean": sum(map(len, facts.labels)) / len(facts.labels),
                "mean_interval": [0.25, 8.5],
                "about": {"can": sorted(facts.can)},
            }
            for name, facts in run.classifiers.items()
        ]
        return {"counts": rows, "least": self.least, "warnings": ["labels are short"]}


@pytest.fixture(scope="session")
def letters() -> Iterator[str]:
    """The kind of a measure that has no section."""
    measures.names()
    measures.register("letter-counts")(Letters)
    yield "letter-counts"
    del measures._kinds["letter-counts"]


@pytest.fixture(scope="session")
def foreign_folder(tmp_path_factory: pytest.TempPathFactory, letters: str) -> Path:
    """A run of somebody else's measure, and of nothing else."""
    asked = {"measures": {"mine": {"kind": letters}}}
    return _write_run(tmp_path_factory.mktemp("foreign"), robustness=None, nuisances=None, **asked)


@pytest.fixture(scope="session")
def names() -> tuple[str, str]:
    return NAMES
