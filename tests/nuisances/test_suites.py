"""Suites: many nuisances under one word, and what they come to in one number."""

import re

import numpy as np
import pyarrow.parquet as pq
import pytest

import brittle
from brittle.engine.open import open_study
from brittle.errors import BrittleError
from brittle.nuisances import nuisance
from brittle.nuisances.suites import IMAGENET_C, SUITES, by_name, expanded
from brittle.statistics.corruption_error import ALEXNET
from brittle.statistics.intervals import betting_bounds


def test_every_member_of_a_suite_can_be_made():
    for suite in SUITES.values():
        for spec in suite.values():
            assert nuisance(spec) is not None


def test_imagenet_c_is_its_corruptions_at_five_levels():
    """By the names of the published table of AlexNet's errors."""
    assert set(IMAGENET_C) == set(ALEXNET)
    assert len(SUITES["imagenet-c"]) == 5 * len(IMAGENET_C)
    assert nuisance(SUITES["imagenet-c"]["fog-4"]) == nuisance("fog", level=4.0, spread=0.0)


def test_a_suite_is_replaced_by_its_members():
    assert expanded({"digital": "digital", "mild": "affine"}) == {
        "jpeg": "jpeg",
        "pixelate": "pixelate",
        "mild": "affine",
    }
    assert expanded({"mine": "digital"}) == {"mine/jpeg": "jpeg", "mine/pixelate": "pixelate"}
    with pytest.raises(BrittleError, match="two nuisances are called 'jpeg': jpeg:level=5 and jpeg"):
        expanded({"jpeg": "jpeg:level=5", "digital": "digital"})
    mine = nuisance("affine", alpha=50)
    assert by_name(["digital", "mild=rotation", mine]) == {
        "jpeg": "jpeg",
        "pixelate": "pixelate",
        "mild": "rotation",
        "affine:alpha=50": mine,
    }


def test_studies_name_suites_and_keep_their_members(tmp_path):
    (tmp_path / "mine.toml").write_text('nuisances = ["strong=affine:alpha=10", "rotation", "digital"]')
    study = open_study(
        {"classifiers": "bundled:plain", "images": "sample", "nuisances": ["digital", f"own={tmp_path}/mine.toml"]}
    )
    members = {"strong": "affine:alpha=10", "rotation": "rotation", "jpeg": "jpeg", "pixelate": "pixelate"}
    own = {f"own/{name}": spec for name, spec in members.items()}
    assert study.resolved()["nuisances"] == {"jpeg": "jpeg", "pixelate": "pixelate"} | own


def test_a_measure_may_be_restricted_to_a_suite(tmp_path):
    (tmp_path / "mine.toml").write_text('nuisances = ["strong=affine:alpha=10", "gamma"]')
    study = {
        "classifiers": "bundled:plain",
        "images": "sample",
        "nuisances": ["digital", "own=weather", f"{tmp_path}/mine.toml", "rotation"],
        "robustness": {"nuisances": ["rotation", "digital", "jpeg"]},
        "weak-points": {"nuisances": [f"{tmp_path}/mine.toml"]},
        "breaking-points": {"nuisances": ["own"]},
    }
    measures = open_study(study).resolved()["measures"]
    assert measures["robustness"]["nuisances"] == ["rotation", "jpeg", "pixelate"]
    assert measures["weak-points"]["nuisances"] == ["strong", "gamma"]
    assert measures["breaking-points"]["nuisances"] == [f"own/{name}" for name in SUITES["weather"]]
    with pytest.raises(BrittleError, match=r"measures\.robustness\.nuisances names 'noise', which the study does not"):
        open_study(study | {"robustness": {"nuisances": ["noises"]}})
    with pytest.raises(BrittleError, match="names 'wether', which the study does not have"):
        open_study(study | {"robustness": {"nuisances": ["wether"]}})
    with pytest.raises(BrittleError, match="there is no file"):
        open_study(study | {"robustness": {"nuisances": ["gone.toml"]}})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("nuisances = [", "is not TOML"),
        ("nuisance = ['affine']", "has a key 'nuisance'"),
        ("nuisances = []", "names no nuisances"),
        ("nuisances = [3]", "names no nuisances"),
        ("nuisances = ['other.toml']", "names another file"),
    ],
)
def test_what_is_wrong_with_a_suite_is_told_in_one_line(text, words, tmp_path, cli):
    (tmp_path / "mine.toml").write_text(text)
    line = cli("measure", "bundled:plain", "sample", "--nuisance", tmp_path / "mine.toml").complaint(2)
    assert words in line
    assert "mine.toml" in line


def test_the_mean_over_a_suite_is_that_of_the_images_own_means(cli, tmp_path):
    """ρ, accuracy and their intervals from the stored rows, nuisance by nuisance."""
    run = tmp_path / "run"
    said = cli(
        "measure", "bundled:plain", "sample", "--nuisance", "geometry", "--count", 30, "--samples", 4, "--out", run
    )
    assert "7 nuisances on sample of bundled:plain, 30 images × 4 draws" in said.out
    assert "mean: over the 7 nuisances, each counting the same" in said.out
    page = re.sub("<[^>]+>", "", (run / "report.html").read_text()).replace("\N{NO-BREAK SPACE}", " ")
    assert "Means over the 7 nuisances, each counting the same: bundled:plain ρ 0." in page
    found = brittle.run(run / "study.toml", out=run)["measures"]["robustness"]
    (row,) = found["means"]
    tables = [pq.read_table(path) for path in sorted((run / "units" / "robustness").rglob("*.rows.parquet"))]
    assert len(tables) == len(row["nuisances"]) == 7
    confidence = np.mean([np.exp(t["log_p_label"].to_numpy().astype(float)).reshape(30, 4).mean(1) for t in tables], 0)
    right = np.mean([(table["rank"].to_numpy() == 0).reshape(30, 4).mean(1) for table in tables], 0)
    for values, key, interval in (
        (confidence, "rho", "interval"),
        (right, "accuracy_nuisance", "accuracy_nuisance_interval"),
    ):
        assert row[key] == pytest.approx(values.mean(), abs=1e-6)
        assert row[key] == pytest.approx(np.mean([each[key] for each in found["results"]]), abs=1e-9)
        assert row[interval] == pytest.approx(betting_bounds(values, 0.95, planned=30).pair(), abs=1e-6)


def test_the_mean_over_what_differs_in_images_is_of_those_that_all_have_seen():
    """With a tolerance every nuisance stops by itself."""
    found = brittle.compare(
        {"plain": "bundled:plain"}, "sample", ["gamma", "affine:alpha=10"], tolerance=0.1, samples=3
    )
    (row,) = found["means"]
    assert row["images"] == min(each["images"] for each in found["results"])
    assert row["interval"][0] <= row["rho"] <= row["interval"][1]


def test_one_result_of_a_suite_must_be_named():
    found = brittle.measure("bundled:plain", "sample", "digital", count=5, samples=2)
    with pytest.raises(BrittleError, match=r"there are 2 results, each with its own 'rho'"):
        _ = found["rho"]
    assert found.of(nuisance="jpeg")["rho"] == found["results"][0]["rho"]
