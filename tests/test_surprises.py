"""What a user might stumble over, and is told."""

import re

import numpy as np
import pytest
import tomli_w
import torch

import brittle
from brittle.engine.open import open_inputs
from brittle.errors import BrittleError
from brittle.nuisances import nuisances
from brittle.report.html import write_report

STUDY = {"classifiers": {"plain": "bundled:plain"}, "images": ["sample"], "nuisances": ["rotation"]}
SMALL = {"images": {"sample": {"spec": "sample", "count": 20}}, "robustness": {"samples": 2}}


def constant(images: torch.Tensor) -> torch.Tensor:
    return torch.zeros(len(images), 10)


def test_worst_of_k_is_left_unsaid_where_a_tolerance_stops_before_k_draws():
    found = brittle.measure(
        "bundled:augmented", "sample", "rotation:sigma=5", estimand="set", tolerance=0.04, where=["class=Bag/Coat"]
    )
    assert found["samples"] < found["worst_of"] == 10
    assert found["accuracy_worst"] is None
    assert found["accuracy_worst_interval"] is None


@pytest.mark.warned("is near chance on the untouched images")
def test_a_classifier_that_guesses_on_untouched_images_is_not_the_priors_fault():
    found = brittle.measure(constant, "sample", "rotation", count=50, samples=2)
    assert any("untouched images" in warning for warning in found["warnings"])
    assert not any("destroy" in warning for warning in found["warnings"])


@pytest.mark.warned("by number")
def test_classes_matched_by_number_to_another_number_of_classes_are_pointed_out():
    images = (np.zeros((4, 28, 28), np.uint8), np.array([0, 1, 0, 1]))
    found = brittle.measure(
        "bundled:plain", brittle.image_set(images, name="pets", classes=("cat", "dog")), "rotation", samples=2
    )
    assert any("by number" in warning and "0 = cat, 1 = dog" in warning for warning in found["warnings"])


@pytest.mark.warned("all are taken")
def test_fewer_images_than_asked_for_are_pointed_out():
    found = brittle.measure("bundled:plain", "sample", "rotation", ids=[8, 9], count=7, samples=1)
    assert any("2 images, fewer than 7" in warning for warning in found["warnings"])


def test_a_name_with_brackets_is_printed_as_it_is():
    assert "m[v2]" in str(brittle.compare({"m[v2]": "bundled:plain"}, "sample", "rotation", count=20, samples=2))


@pytest.mark.warned("have no label")
def test_without_labels_no_classifier_is_called_better():
    images = brittle.image_set("sample").batch(range(40)).images.numpy()
    said = str(brittle.compare({"plain": "bundled:plain", "same": constant}, images, "affine", samples=5))
    assert "keeps to its own prediction more" in said
    assert "better" not in said


def test_the_report_of_a_half_extended_run_asks_for_the_rest(tmp_path):
    brittle.run(STUDY | SMALL, out=tmp_path / "run")
    kept = tmp_path / "run" / "study.toml"
    extended = open_inputs(kept).study.resolved()
    extended["classifiers"]["augmented"] = {"spec": "bundled:augmented"}
    kept.write_text(tomli_w.dumps(extended))
    with pytest.raises(BrittleError, match=r"not finished.*augmented\. Give the command that began it again"):
        write_report(tmp_path / "run")


def test_everything_the_how_to_promises_of_its_example_nuisance_is_true(monkeypatch):
    """The code block of docs/how-to.md is run as it stands."""
    from pathlib import Path

    page = (Path(__file__).parents[1] / "docs" / "how-to.md").read_text(encoding="utf-8")
    source = re.search(r"```python\n(\"\"\"How long the shutter was open.*?)```", page, re.DOTALL)[1]
    monkeypatch.setattr(nuisances, "_kinds", dict(nuisances.loaded()))  # what is registered here is nobody else's
    names: dict = {}
    exec(source, names)
    found = brittle.measure("bundled:plain", "sample", names["Exposure"](sigma=0.5), count=20, samples=3)
    assert 0 < found["rho"] < 1
    assert found["nuisance"] == "exposure:sigma=0.5"
