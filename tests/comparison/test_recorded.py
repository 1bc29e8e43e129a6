"""A run read back from its folder alone: rows in planned order, as far as its summary rests on them."""

from dataclasses import replace

import numpy as np
import pytest

import brittle
from brittle.comparison.comparable import paired_classifiers, same_classifier
from brittle.comparison.new_failures import flips
from brittle.comparison.paired import ChangedNumber, ComparedCell
from brittle.comparison.recorded import Evaluations, RecordedRun, evaluations
from brittle.errors import BrittleError
from brittle.measures.base import Cell
from brittle.statistics.estimate import Estimate
from brittle.statistics.paired_change import ChangeDesign

pytestmark = pytest.mark.warned("matched by number", "near chance", "mean confidence")
BOTH = {"plain": "bundled:plain", "augmented": "bundled:augmented"}


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recorded") / "run"
    return brittle.measure(
        BOTH, "sample", "rotation:sigma=15", samples=5, count=300, tolerance=0.05, out=folder, progress=False
    )


def test_per_image_means_are_those_of_the_summary(found):
    run = RecordedRun.read(found.run.folder)
    for row in found["results"]:
        cell = Cell("robustness", row["classifier"], "sample", row["nuisance"])
        rows = evaluations(run, cell, row["images"], row["samples"])
        assert rows.p.shape == (row["images"], row["samples"])
        assert rows.p.mean(dtype=np.float64) == pytest.approx(row["rho"], abs=1e-6)
        assert rows.right.mean() == pytest.approx(row["accuracy_nuisance"], abs=1e-12)


def test_images_come_in_planned_order(found):
    run = RecordedRun.read(found.run.folder)
    (row, *_) = found["results"]
    rows = evaluations(run, Cell("robustness", row["classifier"], "sample", row["nuisance"]), row["images"], 5)
    planned = found.run.job.subject("sample").ids
    assert np.array_equal(rows.ids, planned[: row["images"]])


def test_a_run_in_memory_is_read_as_one_in_a_folder(found):
    again = brittle.measure(BOTH, "sample", "rotation:sigma=15", samples=5, count=300, tolerance=0.05, progress=False)
    kept, live = RecordedRun.read(found.run.folder), RecordedRun.of(again.run)
    for key in ("images", "sources", "files", "nuisances", "compiled"):
        assert kept.facts[key] == live.facts[key]
    cell = Cell("robustness", "plain", "sample", "rotation:sigma=15")
    images = found["results"][0]["images"]
    assert np.array_equal(evaluations(kept, cell, images, 5).p, evaluations(live, cell, images, 5).p)


def test_classifiers_are_paired_by_name_or_as_asked(found):
    run = RecordedRun.read(found.run.folder)
    assert paired_classifiers(run, run) == {"plain": "plain", "augmented": "augmented"}
    assert paired_classifiers(run, run, ["augmented=plain"])["augmented"] == "plain"
    with pytest.raises(BrittleError, match=r"no classifier 'plian'. Did you mean 'plain'"):
        paired_classifiers(run, run, ["plian=plain"])
    assert same_classifier(run, run, "plain", "plain")
    assert not same_classifier(run, run, "augmented", "plain")


@pytest.mark.parametrize(
    ("low", "high", "state"),
    [
        (-0.03, -0.011, "failed"),
        (-0.03, -0.01, "unsure"),
        (-0.03, 0.05, "unsure"),
        (-0.01, 0.05, "passed"),
        (-0.005, -0.001, "passed"),
        (0.02, 0.03, "passed"),
    ],
)
def test_a_change_fails_only_where_its_whole_interval_lies_below_what_is_allowed(low, high, state):
    changes, design = np.zeros((1, 2)), ChangeDesign()
    for same in (False, True):
        cell = ComparedCell("robustness", "new", "old", "images", "fog", same)
        found = Estimate((low + high) / 2, low, high)
        change = ChangedNumber(cell, "rho", 0.5, 0.5, found, found, 2, 1, design, changes)
        assert change.state(0.01) == ("passed" if same else state)


def test_a_spec_without_files_is_not_known_to_be_the_same_classifier(found):
    run = RecordedRun.read(found.run.folder)
    hub = {**run.study, "classifiers": {"plain": {"spec": "timm:resnet18"}}}
    assert same_classifier(run, run, "plain", "plain")
    assert not same_classifier(replace(run, study=hub), replace(run, study=hub), "plain", "plain")
    kept = replace(run, study=hub, facts={**run.facts, "files": {"plain": "a hash"}})
    assert same_classifier(kept, kept, "plain", "plain")
    other = replace(kept, environment={"packages": {"torch": "another"}})
    assert not same_classifier(kept, other, "plain", "plain")


def test_flips_are_right_before_and_wrong_now():
    ids = np.array([7, 3])
    p = (
        np.array([[0.9, 0.8, 0.1], [0.2, 0.6, 0.3]], np.float32),
        np.array([[0.1, 0.9, 0.0], [0.7, 0.5, 0.2]], np.float32),
    )
    right = np.array([[1, 1, 0], [0, 1, 0]], bool), np.array([[0, 1, 0], [1, 0, 0]], bool)
    before, after = (Evaluations(ids, *both, np.full((2, 3), 5)) for both in zip(p, right, strict=True))
    found = flips(after, before)
    assert (found.pictures, found.now_wrong, found.now_right) == (6, 2, 1)
    assert [(each.image, each.draw, each.predicted) for each in found.worst] == [(7, 0, 5), (3, 1, 5)]
    assert found.worst[0].fall == pytest.approx(0.8)
