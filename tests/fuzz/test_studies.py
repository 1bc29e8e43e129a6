"""Whatever is in a study: it is read and means the same when it is read again, or refused in one line."""

import math
import tomllib

import numpy as np
import pytest
import tomli_w
from hypothesis import example, given
from hypothesis import strategies as some
from made_up import PLAIN, altered, costly, mutated, taken_or_refused

import brittle
from brittle.engine.open import open_inputs, open_study
from brittle.study import Study

SOUND = {
    "title": "a study",
    "seed": 3,
    "classifiers": {"one": "bundled:plain", "two": {"spec": "bundled:augmented", "group": "g", "width": 8}},
    "images": {
        "toy": {"spec": "sample", "count": 4, "where": ["class=Bag"]},
        "more": {"spec": "sample", "train": "toy"},
    },
    "nuisances": {"turn": "rotation:sigma=3", "both": "affine+brightness"},
    "robustness": {"samples": 3, "confidence": 0.9},
    "measures": {"weak": {"kind": "weak-points", "classifiers": ["one"], "budget": 100, "count": 2}},
}
LISTED = {"classifiers": ["bundled:plain"], "images": "sample", "nuisances": ["affine:alpha=50"], "clean": {}}
TEXTS = [tomli_w.dumps(SOUND).encode(), tomli_w.dumps(LISTED).encode()]
KEYS = some.sampled_from(
    [
        "title", "seed", "classifiers", "images", "nuisances", "measures", "robustness", "weak-points", "clean", "spec",
        "count", "where", "ids", "train", "group", "kind", "reads", "samples", "tolerance", "budget", "confidence",
        "columns",
    ]
)  # fmt: skip
ANY = some.recursive(
    PLAIN, lambda inner: some.lists(inner, max_size=3) | some.dictionaries(KEYS, inner, max_size=4), max_leaves=8
)


def means_the_same(study):
    resolved = study.resolved()
    again = Study.of(tomllib.loads(tomli_w.dumps(resolved)))
    assert same(again.resolved(), resolved)


def same(one, other):
    """Equal, where NaN is equal to itself."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other or (isinstance(one, float) and isinstance(other, float) and math.isnan(one + other))


@given(mutated(TEXTS))
@example(b"a = " + b"[" * 5000)
@example(b"[a" + b".a" * 5000 + b"]")
def test_the_text_of_a_study_is_read_or_refused(file, text):
    with taken_or_refused():
        means_the_same(open_inputs(file("study.toml", text)).study)


@costly(0.6)
@given(some.sampled_from([SOUND, LISTED]).flatmap(lambda sound: altered(sound, ANY)))
def test_a_study_of_any_structure_is_read_or_refused(data):
    with taken_or_refused():
        means_the_same(open_study(data))


@pytest.fixture(scope="module")
def things(tmp_path_factory):
    folder = tmp_path_factory.mktemp("things")
    pixels = np.random.default_rng(0).integers(0, 256, (6, 4, 4), dtype=np.uint8)
    np.savez(folder / "toy.npz", images=pixels, labels=[0, 1, 2] * 2, where=list("aabbcc"))
    (folder / "mine.py").write_text(
        "import torch\ndef one(images):\n    return images.flatten(1)[:, :3] * 5\n"
        "def two(images):\n    return torch.cat([1 - images[:, 0, 0, :1], images[:, 0, 0, 1:3]], 1)\n"
    )
    return folder


NUMBERS = some.sampled_from([-1, 0, 1, 2, 0.5, 1.0, 1e-9, 1e300, "2", "x", True, None, [1, 2], 10**30])
ODD = ["one", "..", "/", "a/b", "\x1b[2J", "[/x]", "CON", "é", "\ud800", "a" * 300]
NAMES = some.text(max_size=6) | some.sampled_from(ODD)
OPTIONS = {
    "samples": some.sampled_from([1, 2, 5]),
    "confidence": some.sampled_from([0.5, 0.95, 0.999]),
    "estimand": some.sampled_from(["population", "set"]),
    "worst-of": some.sampled_from([1, 2, 10]),
    "extra": some.sampled_from([["nll"], ["nll", "ece"]]),
}
SELECTIONS = {
    "count": some.sampled_from([1, 3, 6, 7]),
    "ids": some.sampled_from([[0], [1, 2], [0, 5]]),
    "where": some.sampled_from([["where=a"], ["where=a/b"], ["label>0"], ["where<=b"], ["label=>"], ["label<1e999"]]),
}
SPECS = some.sampled_from(
    ["rotation:sigma=9", "gamma", "noise", "affine+brightness", "rectangles", "gamma:sigma=1000", "translation:sigma=0"]
)


@some.composite
def small_studies(draw):
    """Things that are sound, with names, selections, nuisances and options of any sort."""
    asked = {"samples": 2} | draw(some.fixed_dictionaries({}, optional=OPTIONS))
    which = draw(some.fixed_dictionaries({}, optional=SELECTIONS))
    if draw(some.integers(0, 4)) == 0:
        asked[draw(some.sampled_from([*OPTIONS, "tolerance"]))] = draw(NUMBERS)
    if draw(some.integers(0, 4)) == 0:
        which[draw(some.sampled_from(list(SELECTIONS)))] = draw(NUMBERS | PLAIN)
    return {
        "seed": draw(some.sampled_from([0, 1, 2**63 - 1, -1])),
        "title": draw(some.text(max_size=5)),
        "classifiers": {draw(NAMES): "one", draw(NAMES): {"spec": "two", draw(some.text(max_size=4)): draw(PLAIN)}},
        "images": {draw(NAMES): which},
        "nuisances": draw(some.dictionaries(NAMES, SPECS, min_size=1, max_size=2)),
        "robustness": asked,
    }


@costly(0.1)
@given(small_studies())
def test_a_small_study_is_carried_out_or_refused(things, data):
    for name, entry in data["classifiers"].items():
        made = f"python:{things}/mine.py:"
        data["classifiers"][name] = made + entry if isinstance(entry, str) else entry | {"spec": f"{made}two"}
    for entry in data["images"].values():
        entry["spec"] = f"npz:{things}/toy.npz"
    with taken_or_refused():
        found = brittle.run(data)
        results = found["measures"]["robustness"]["results"]
        cells = {(row["classifier"], row["image_set"], row["nuisance"]) for row in results}
        assert len(cells) == len(results) == len(data["classifiers"]) * len(data["nuisances"])
        for row in results:
            assert 0 <= row["interval"][0] <= row["rho"] <= row["interval"][1] <= 1
            assert 0 <= row["accuracy_nuisance"] <= 1
        assert str(found).isprintable() or "\x1b" not in str(found)
