"""A measure that is none of ours runs in the engine like those that are."""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import pyarrow as pa
import pytest
import torch

import brittle
from brittle.errors import BrittleError
from brittle.measures import measures
from brittle.measures.base import Measure
from brittle.measures.plan import by_image
from brittle.registry import option


@dataclass(frozen=True)
class Change(Measure):
    """The mean absolute change of a pixel under the nuisance."""

    name: ClassVar[str] = "change"
    draws: int = option(3, "draws of θ per image")

    def plan(self, images, numbers_per_image, numbers_of_theta):
        return by_image(images, self.draws, 4, self.draws)

    def evaluate(self, task):
        batch = task.batch.take(task.pairs.rows)
        keys = task.pairs.draws + 1000 * batch.ids
        moved = task.nuisance.apply(batch, task.nuisance.sample(batch, keys[:, None])[:, 0])
        change = (moved - batch.images).abs().mean((1, 2, 3))
        return {name: partial(self.table, batch.ids, change) for name in task.classifiers}

    @staticmethod
    def table(ids, change):
        return pa.table({"image": ids.numpy(), "change": change.numpy()})

    def summarise(self, run):
        rows = [rows["change"].to_numpy() for _, rows in run.rows("bundled:plain", "sample", "rotation")]
        return {"change": float(torch.tensor([value for part in rows for value in part]).mean())}


@pytest.fixture
def registered():
    measures.names()
    measures.register("change")(Change)
    yield
    del measures._kinds["change"]


def study(**more):
    return {
        "classifiers": ["bundled:plain"],
        "images": {"sample": {"spec": "sample", "count": 10}},
        "nuisances": ["rotation"],
    } | more


def test_a_measure_of_another_package_is_carried_out_and_resumed(registered, tmp_path):
    found = brittle.run(study(change={"draws": 2}, robustness={"samples": 2}), tmp_path)
    assert 0 < found["change"] < 0.5
    assert found["results"][0]["images"] == 10
    assert len(list((tmp_path / "units" / "change").rglob("*.parquet"))) >= 1
    assert brittle.run(study(change={"draws": 2}, robustness={"samples": 2}), tmp_path)["change"] == found["change"]


def test_a_table_that_is_no_measure_is_refused_with_what_would_be_right():
    with pytest.raises(BrittleError, match="weak-points"):
        brittle.run(study(**{"weak-point": {}}), None)
