"""Folds of every measure, fed by several threads and merged, say what one that was fed with everything says."""

import sys

import numpy as np
import pyarrow as pa
import pytest
from everything import study_of_everything

import brittle.engine.folds
from brittle.engine.assemble import assemble
from brittle.engine.check.before_work import check_job
from brittle.engine.execute import local
from brittle.engine.folds import Folds
from brittle.engine.open import open_inputs
from brittle.engine.store.memory_store import MemoryStore
from brittle.engine.view import MeasureView, summary
from brittle.measures.base import ImageSetFacts
from brittle.measures.folds import ImageSums, ImageValues
from brittle.measures.plan import Unit
from brittle.measures.robustness.tally import Tally
from brittle.progress import Progress

SMALL = {"rows_per_unit": lambda _: 4, "MOST_PER_UNIT": 1, "FEWEST_PER_UNIT": 1, "FEWEST_PATHS": 1, "FEWEST_PAIRS": 1,
         "PAIRS_PER_UNIT": 1}  # fmt: skip
MERGED = {"clean", "robustness", "weak-points", "breaking-points", "failure-points", "perturbation", "occlusion",
          "shuffling", "augmentation", "layer-noise", "layer-changes", "connectedness"}  # fmt: skip


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    """A job of every measure, in many units, and its rows."""
    with pytest.MonkeyPatch.context() as patch:
        study = study_of_everything(tmp_path_factory.mktemp("everything"))
        study["measures"]["perturbation"]["count"] = 3
        assemble(open_inputs(study), "cpu", None)  # every measure is imported
        for module in [each for name, each in sys.modules.items() if name.startswith("brittle.measures.")]:
            for name, value in SMALL.items():
                if hasattr(module, name):
                    patch.setattr(module, name, value)
        job, store = check_job(assemble(open_inputs(study), "cpu", None)).job, MemoryStore()
        local.carry_out(job, store, Progress())
        yield job, store


@pytest.mark.warned("")
def test_summaries_of_folds_that_were_merged_are_those_of_whole_ones(everything, monkeypatch):
    job, store = everything
    monkeypatch.setattr(brittle.engine.folds, "FEWEST_UNITS", 1)
    merged = set()

    def counted(self, cell, fold=Folds._folded):
        merged.update({cell.measure} if len(self._parts(cell)) > 1 else ())
        return fold(self, cell)

    monkeypatch.setattr(Folds, "_folded", counted)
    monkeypatch.setattr(brittle.engine.folds.torch, "get_num_threads", lambda: 3)
    parted = summary(job, store)
    assert merged == MERGED
    monkeypatch.setattr(brittle.engine.folds.torch, "get_num_threads", lambda: 1)
    assert close(summary(job, store), parted)


def close(one, other) -> bool:
    """Equal, and numbers to 1e-9."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(close(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(close, one, other))
    if isinstance(one, float):
        return isinstance(other, (int, float)) and abs(one - other) <= 1e-9 * max(1, abs(one))
    return one == other


@pytest.mark.warned("")
def test_no_summary_reads_a_cell_as_one_table(everything, monkeypatch):
    job, store = everything

    def table(self, cell, name="rows"):
        raise AssertionError(f"{cell} is read as one table")

    monkeypatch.setattr(MeasureView, "table", table)
    assert summary(job, store)["measures"]


def subject(images: int) -> ImageSetFacts:
    ids = np.arange(images)[::-1] * 7
    return ImageSetFacts("s", ids, ids * 0, ("a",), list(map(str, ids)), (1, 2, 2), images, ids * 0)


def test_memory_of_sums_does_not_depend_on_draws():
    """And a tally's is 36 bytes per image, as the documentation says."""
    images, unit = 1000, Unit(range(1000), range(1))
    fold = ImageSums(subject(images), 2, lambda rows: (rows["place"].to_numpy(), {"right": rows["right"].to_numpy()}))
    for _ in range(3):
        rows = pa.table({"image": np.arange(images) * 7, "place": np.arange(images) % 2, "right": np.ones(images)})
        fold.update(unit, {"rows": rows}, {})
    assert fold.counts.nbytes + fold.sums["right"].nbytes == 12 * 2 * images
    assert fold.counts.sum() == fold.sums["right"].sum() == 3 * images
    tally = Tally(images, 10)
    held = sum(value.nbytes for value in vars(tally).values() if isinstance(value, np.ndarray))
    assert held - tally.calibration.nbytes == 36 * images


def test_a_row_that_is_there_twice_is_noticed_within_a_fold_and_between_two():
    def fold(*images):
        made = ImageValues(subject(4), 1, lambda rows: (np.zeros(rows.num_rows, int), {"x": rows["x"].to_numpy()}))
        made.update(Unit((), range(1)), {"rows": pa.table({"image": images, "x": np.ones(len(images))})}, {})
        return made

    assert fold(0, 7, 7).twice == [(2, 0)]
    assert fold(0, 7).twice == []
    one, other = fold(0, 7), fold(7, 14)
    one.merge(other)
    assert one.twice == [(2, 0)]
