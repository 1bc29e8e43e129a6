"""Nuisances at several levels are one shift to measures that walk severities, and several nuisances to all others."""

import json

import pytest
import torch

import brittle
from brittle.engine.assemble import assemble
from brittle.engine.open import open_inputs
from brittle.nuisances import nuisance, nuisances
from brittle.nuisances.shifts import shifts_of
from brittle.nuisances.suites import IMAGENET_C, SUITES
from brittle.random import fold, stream_root
from brittle.types import Batch

WALKING = {"failure-points": {}, "breaking-points": {}, "ranking": {}, "corruption-error": {}}


def job(given, **measures):
    study = {
        "classifiers": {"plain": "bundled:plain", "augmented": "bundled:augmented"},
        "images": {"sample": {"spec": "sample", "count": 3}},
        "nuisances": given,
    }
    return assemble(open_inputs(study | (measures or WALKING)))


def under(given, measure, **measures):
    return list(job(given, **measures).assignments[measure].nuisances)


@pytest.mark.parametrize("corruption", IMAGENET_C)
def test_all_levels_of_a_corruption_lead_through_the_same_images(corruption):
    """By the transforms themselves: level·severity is all that counts."""
    images = torch.rand(2, 3, 32, 32, generator=torch.Generator().manual_seed(1))
    batch = Batch(images, torch.zeros(2).long(), torch.arange(2))

    def seen(level, severity):
        space = nuisance(IMAGENET_C[corruption].format(level))
        keys = fold(stream_root(0, nuisances.name_of(space), "cpu"), batch.ids)[:, None]
        theta = space.sample(batch, keys)[:, 0]
        return space.apply(batch, space.at(theta, severity, batch))

    for reached in (2, 5):
        torch.testing.assert_close(seen(1, reached / 1), seen(4, reached / 4), rtol=0, atol=2e-3)


@pytest.mark.parametrize("measure", WALKING)
def test_imagenet_c_is_fifteen_shifts_where_severity_rises_by_itself(measure):
    assert under(["imagenet-c"], measure) == list(IMAGENET_C)


@pytest.mark.parametrize("measure", ["robustness", "weak-points", "interference"])
def test_imagenet_c_is_every_corruption_at_every_level_where_the_level_is_fixed(measure):
    assert under(["imagenet-c"], measure, **{measure: {}}) == list(SUITES["imagenet-c"])


@pytest.mark.parametrize("suite", sorted(SUITES.keys() - {"imagenet-c"}))
def test_other_suites_have_one_nuisance_of_a_kind_and_stay_as_they_are(suite):
    assert under([suite], "failure-points") == list(SUITES[suite])


def test_both_sorts_of_measure_may_stand_in_one_study():
    both = WALKING | {"robustness": {"nuisances": ["fog", "snow-2"]}}
    assert under(["imagenet-c"], "robustness", **both) == [*(f"fog-{level}" for level in range(1, 6)), "snow-2"]
    assert under(["imagenet-c"], "ranking", **both) == list(IMAGENET_C)


@pytest.mark.parametrize(
    ("given", "named", "shift"),
    [
        (["imagenet-c"], "fog", "fog"),
        (["imagenet-c"], "fog-3", "fog"),
        (["mine=imagenet-c"], "mine/fog", "mine/fog"),
        ({"mist-1": "fog:level=1", "mist-2": "fog:level=2"}, "mist", "mist"),
    ],
)
def test_a_measure_may_be_restricted_to_a_shift_or_a_level_of_it(given, named, shift):
    limited = {"failure-points": {"nuisances": [named]}, "ranking": {"nuisances": [named]}}
    assert under(given, "failure-points", **limited) == under(given, "ranking", **limited) == [shift]


@pytest.mark.parametrize(
    ("listed", "kept"),
    [
        ([f"noise:level={level}" for level in range(1, 6)], "noise:level=1"),
        (["noise:sigma=0.1", "noise:sigma=0.3"], "noise:sigma=0.1"),
        (["strong=fog:level=4,spread=0.25", "fog"], "strong"),
    ],
)
def test_levels_listed_by_hand_are_measured_once_with_a_word(listed, kept):
    found = job([*listed, "brightness:level=2"])
    assert list(found.assignments["failure-points"].nuisances) == [kept, "brightness:level=2"]
    (word,) = found.warnings
    assert f"are one path to measures that walk severities themselves: only {kept!r} is measured" in word


@pytest.mark.parametrize(
    "listed",
    [
        ["fog:level=1,spread=0", "fog:level=2"],
        ["speckle:sigma=0.1", "speckle:sigma=0.2"],
        ["rotation:sigma=10", "rotation:sigma=20"],
        ["noise:level=1", "noise:level=2,clip=false"],
        ["noise:level=1", "noise"],
    ],
)
def test_nuisances_that_differ_in_more_than_the_level_stay_apart(listed):
    found = job(listed)
    assert list(found.assignments["failure-points"].nuisances) == listed
    assert not found.warnings


def test_a_shift_goes_by_what_its_names_share_unless_something_else_is_called_so():
    fogs = {f"fog-{level}": nuisance(f"fog:level={level}") for level in (2, 3)}
    found = shifts_of(fogs, set(fogs))
    assert found.of == dict.fromkeys(fogs, "fog")
    assert found.made == {"fog": nuisance("fog:level=1")}
    assert shifts_of(fogs, {*fogs, "fog"}).of == dict.fromkeys(fogs, "fog-2")
    mixed = {"fog-2": fogs["fog-2"], "fog-9": fogs["fog-3"]}  # the name tells another level
    assert shifts_of(mixed, set(mixed)).made == {}


def test_live_nuisances_are_gathered_as_specs_are():
    levels = [nuisance("fog", level=float(level)) for level in (1, 2)]
    with pytest.warns(brittle.BrittleWarning, match=r"'fog:level=1' and 'fog:level=2' are one path to measures"):
        found = brittle.ranking(
            {"plain": "bundled:plain", "augmented": "bundled:augmented"}, "sample", levels, count=4, severities=[1, 2]
        )
    assert {row["nuisance"] for row in found["results"]} == {"fog:level=1"}


def test_one_line_gives_the_mean_corruption_error_over_the_suite(cli):
    """A mean over fifteen numbers, each of which is counted once."""
    pair = ("plain=bundled:plain", "sample", "--against", "other=bundled:augmented")
    said = cli("corruption-error", *pair, "--nuisance", "imagenet-c", "--count", 25, "--resamples", 100, "--json")
    first, other = said.json["results"]
    assert [each["nuisance"] for each in other["shifts"]] == list(IMAGENET_C)
    assert [each["severities"] for each in first["shifts"]] == [[1, 2, 3, 4, 5]] * 15
    ratios = [
        sum(mine["errors"]) / sum(reference["errors"])
        for mine, reference in zip(other["shifts"], first["shifts"], strict=True)
    ]
    assert other["mce"] == pytest.approx(sum(ratios) / 15)


def test_rankings_over_the_suite_are_corrected_for_each_comparison_once(tmp_path):
    """One pair of classifiers × fifteen shifts × six severities, 0 among them."""
    study = {
        "classifiers": {"plain": "bundled:plain", "augmented": "bundled:augmented"},
        "images": {"sample": {"spec": "sample", "count": 4}},
        "nuisances": ["imagenet-c"],
        "ranking": {},
    }
    found = brittle.run(study, out=tmp_path / "run", progress=False)["measures"]["ranking"]["results"]
    assert {row["by"]: row["family"] for row in found} == {"accuracy": 15 * 6, "drop": 15 * 5}
    kept = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert not any("one path" in text for text in kept["warnings"]), "a suite is asked for as such"
