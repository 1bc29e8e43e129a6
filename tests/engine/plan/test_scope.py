"""Derived measures under restrictions: what they can't read is said before work begins, and the rest is summed up."""

import random
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import brittle
from brittle.errors import BrittleError

MODULE = """
import torch


def scores(images, seed):
    weights = torch.randn(64, 4, generator=torch.Generator().manual_seed(seed))
    return images.flatten(1) @ weights


""" + "\n\n".join(f"def c{seed}(images):\n    return scores(images, {seed})" for seed in range(6))
CLASSIFIERS, IMAGES, NUISANCES = [f"c{seed}" for seed in range(6)], ["a", "b", "c"], ["noise:level=1", "fog", "gamma"]
OPTIONS: dict[str, dict[str, Any]] = {
    "interference": {"simulations": 100},
    "before-after": {"before": "c0", "after": "c1"},
    "corruption-error": {"resamples": 100},
    "ranking": {},
    "line": {},
}
READ = {"interference": "robustness", "before-after": "robustness"}
SMALL = {"robustness": {"samples": 2}, "failure-points": {"severities": [1, 2]}, "clean": {}}
SORTS = {"classifiers": CLASSIFIERS, "images": IMAGES, "nuisances": NUISANCES}


@pytest.fixture
def study(tmp_path):
    """A study of six classifiers on three image sets under three nuisances, given its measures."""
    (tmp_path / "many.py").write_text(MODULE)
    for seed, name in enumerate(IMAGES):
        draw = np.random.default_rng(seed)
        pixels = draw.integers(0, 256, (6, 8, 8), dtype=np.uint8)
        np.savez(tmp_path / f"{name}.npz", images=pixels, labels=draw.integers(0, 4, 6))
    return lambda **measures: {
        "classifiers": {name: f"python:{tmp_path}/many.py:{name}" for name in CLASSIFIERS},
        "images": {name: f"npz:{tmp_path}/{name}.npz" for name in IMAGES},
        "nuisances": NUISANCES,
        **measures,
    }


def carried_out(study: dict[str, Any], out: Path) -> tuple[dict[str, Any], list[str]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = brittle.run(study, out=out, progress=False)
    return found["measures"], found["warnings"]


def left_out(told: list[str]) -> list[str]:
    return [text for text in told if "leaves out" in text]


def about(rows: list[dict[str, Any]]) -> set[tuple[str, str]]:
    return {(row["image_set"], row["nuisance"]) for row in rows}


def test_interference_leaves_out_with_a_word_what_robustness_is_not_asked_about(study, tmp_path):
    asked = study(robustness={"samples": 2, "images": ["a"]}, interference=OPTIONS["interference"])
    found, told = carried_out(asked, tmp_path / "run")
    assert about(found["interference"]["results"]) == {("a", name) for name in NUISANCES}
    assert left_out(told) == [
        "the measure 'interference' leaves out 'b' and 'c': 'robustness', which it reads, is not asked about them"
    ]


def test_before_after_says_before_work_begins_that_a_classifier_is_not_read(study, tmp_path):
    asked = study(robustness={"samples": 2, "classifiers": ["c0", "c2"]}, **{"before-after": OPTIONS["before-after"]})
    with pytest.raises(BrittleError, match=r"no classifier 'c1' to hold against another"):
        carried_out(asked, tmp_path / "run")
    assert not list(tmp_path.rglob("*.parquet"))


def test_too_few_classifiers_to_read_are_refused_before_work_begins(study, tmp_path):
    for kind, few, words in (("ranking", ["c0"], "at least two"), ("line", CLASSIFIERS[:3], "through 3 models")):
        asked = study(**{"failure-points": SMALL["failure-points"] | {"classifiers": few}, kind: {}})
        with pytest.raises(BrittleError, match=words):
            carried_out(asked, tmp_path / kind)
    assert not list(tmp_path.rglob("*.parquet"))


def test_a_reference_that_is_not_read_is_refused_before_work_begins(study, tmp_path):
    asked = study(
        **{
            "failure-points": SMALL["failure-points"] | {"classifiers": ["c0", "c2"]},
            "corruption-error": {"reference": "c1"},
        }
    )
    with pytest.raises(BrittleError, match="'c1' is not among the classifiers"):
        carried_out(asked, tmp_path / "run")
    assert not list(tmp_path.rglob("*.parquet"))


@pytest.mark.parametrize("kind", OPTIONS)
def test_a_measure_whose_reads_are_about_nothing_that_it_is_about_is_refused_before_work_begins(study, tmp_path, kind):
    read = READ.get(kind, "failure-points")
    for sort, names in (("images", IMAGES), ("nuisances", NUISANCES)):
        asked = study(**{read: SMALL[read] | {sort: names[:1]}, kind: OPTIONS[kind] | {sort: names[1:]}})
        with pytest.raises(BrittleError, match=rf"'{kind}' reads '{read}', which is not asked about any of its"):
            carried_out(asked, tmp_path / "run")
    assert not list(tmp_path.rglob("*.parquet"))


def test_a_line_whose_other_image_set_has_no_clean_predictions_is_refused_before_work_begins(study, tmp_path):
    asked = study(
        **{
            "failure-points": SMALL["failure-points"] | {"images": ["a"]},
            "clean": {"images": ["a"]},
            "line": {"id": "b"},
        }
    )
    with pytest.raises(BrittleError, match=r"'line' reads 'clean', which is not asked about the image set 'b'"):
        carried_out(asked, tmp_path / "run")
    assert not list(tmp_path.rglob("*.parquet"))


def test_a_line_that_takes_accuracy_from_another_image_set_leaves_nothing_out(study, tmp_path):
    asked = study(**{"failure-points": SMALL["failure-points"] | {"images": ["a", "c"]}, "line": {"id": "b"}})
    found, told = carried_out(asked, tmp_path / "run")
    assert [row["image_set"] for row in found["line"]["results"]] == ["a", "c"]
    assert not left_out(told)


def mixture(kind: str, number: int) -> dict[str, dict[str, Any]]:
    """A derived measure, what it reads and clean predictions, each restricted or not, in every sort."""
    draw = random.Random(f"{kind} {number}")
    entries = {READ.get(kind, "failure-points"): {}, kind: OPTIONS[kind]} | (
        {"clean": {}} if draw.random() < 0.3 else {}
    )
    found = {}
    for name, options in entries.items():
        found[name] = SMALL.get(name, {}) | options
        for sort, there in SORTS.items():
            if draw.random() < 0.4 and not (name == "clean" and sort == "nuisances"):
                found[name][sort] = draw.sample(there, draw.randint(1, len(there)))
    return found


def outcome(asked: dict[str, Any], kind: str, out: Path) -> str:
    try:
        found, _ = carried_out(asked, out)
    except BrittleError as error:
        early = error.exit_status == 2 and not list(out.rglob("*.parquet"))
        return "refused at once" if early else f"refused after work was done: {error}"
    return "summed up" if kind in found else "left out"


@pytest.mark.parametrize("kind", OPTIONS)
def test_any_mixture_of_restrictions_is_summed_up_or_refused_at_once(study, tmp_path, kind):
    assert outcome(study(**mixture(kind, 0)), kind, tmp_path / "run") in ("summed up", "refused at once")


@pytest.mark.slow
@pytest.mark.parametrize("kind", OPTIONS)
def test_many_mixtures_of_restrictions_are_summed_up_or_refused_at_once(study, tmp_path, kind):
    found = {outcome(study(**mixture(kind, number)), kind, tmp_path / f"run {number}") for number in range(1, 8)}
    assert found <= {"summed up", "refused at once"}
