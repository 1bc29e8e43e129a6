"""Rankings of classifiers whose answers are written down, through the whole house."""

import itertools

import numpy as np
import pytest
from scipy import stats

import brittle
from brittle.errors import BrittleError

IMAGES = 200
OPTIONS = {"severities": (1, 2)}


def right(*shares):
    """(M, 1 + S): the first images are right, this share of them at each severity."""
    return np.stack([np.arange(IMAGES) < share * IMAGES for share in shares], 1)


@pytest.fixture
def found(scripted, numbered):
    """early is better at 1, late at 2; bad is worse than both; even is early once more."""
    classifiers, images = scripted(
        early=right(0.9, 0.8, 0.3), late=right(0.9, 0.6, 0.5), bad=right(0.7, 0.4, 0.1), even=right(0.9, 0.8, 0.3)
    )
    return brittle.ranking(classifiers, images, numbered, **OPTIONS)


def test_ranks_by_accuracy_begin_at_severity_0(found):
    assert found.ranks() == {"early": [1, 1, 2], "late": [1, 3, 1], "bad": [4, 4, 4], "even": [1, 1, 2]}
    by = next(row for row in found["results"] if row["by"] == "accuracy")
    assert by["severities"] == [0, 1, 2]
    assert [row["rank_at_most"][0] for row in by["classifiers"]] == [3, 3, 4, 3]


def test_ranks_by_drop_put_the_least_drop_first(found):
    """Drops at 1: 0.1, 0.3, 0.3, 0.1; at 2: 0.6, 0.4, 0.6, 0.6."""
    by = next(row for row in found["results"] if row["by"] == "drop")
    drops = np.array([row["values"] for row in by["classifiers"]])
    assert drops == pytest.approx(np.array([[0.1, 0.6], [0.3, 0.4], [0.3, 0.6], [0.1, 0.6]]))
    assert found.ranks(by="drop") == {"early": [1, 2], "late": [3, 1], "bad": [3, 2], "even": [1, 2]}


def test_a_swap_that_is_more_than_noise_is_told_with_where_each_is_better(found):
    swaps = found["results"][0]["swaps"]
    assert {(each["first"], each["second"]) for each in swaps} == {("early", "late"), ("late", "even")}
    first = next(each for each in swaps if each["first"] == "early")
    assert (first["first_better_at"], first["second_better_at"]) == ([1], [2])


def test_pairs_that_change_places_are_told_with_where(scripted, numbered):
    """A difference of 0 at 2 does not hide the change between 1 and 3; a and c never change."""
    classifiers, images = scripted(
        a=right(0.9, 0.8, 0.5, 0.2), b=right(0.9, 0.79, 0.5, 0.21), c=right(0.7, 0.6, 0.3, 0.1)
    )
    found = brittle.ranking(classifiers, images, numbered, severities=(1, 2, 3))
    by = next(row for row in found["results"] if row["by"] == "accuracy")
    assert [pair["change_places"] for pair in by["pairs"]] == [[[1, 3]], [], []]
    assert (by["changing_places"], by["swaps"]) == (1, [])
    assert "1 of 3 pairs changes places along the scale (a and b between 1 and 3), none of them" in str(found)


def test_p_values_are_mcnemars_with_holms_correction_over_all_pairs_and_severities(found):
    shares = {"early": (0.9, 0.8, 0.3), "late": (0.9, 0.6, 0.5), "bad": (0.7, 0.4, 0.1), "even": (0.9, 0.8, 0.3)}
    raw = []
    for first, second in itertools.combinations(shares.values(), 2):
        for a, b in zip(first, second, strict=True):
            apart = round(IMAGES * abs(a - b))  # images that only the better gets right, and none the other way round
            raw.append(stats.binomtest(apart, apart, 0.5).pvalue if apart else 1.0)
    adjusted, largest = [0.0] * len(raw), 0.0
    for place, each in enumerate(sorted(range(len(raw)), key=lambda each: raw[each])):
        largest = max(largest, min(1.0, (len(raw) - place) * raw[each]))
        adjusted[each] = largest
    row = found["results"][0]
    assert row["family"] == len(raw) == 18
    assert [p for pair in row["pairs"] for p in pair["adjusted_p"]] == pytest.approx(adjusted, rel=1e-5)
    pair = next(each for each in row["pairs"] if (each["first"], each["second"]) == ("early", "late"))
    assert pair["difference"] == pytest.approx([0, 0.2, -0.2])


def test_the_papers_rule_is_overlap_of_one_standard_error(scripted, numbered):
    """0.80 ± 0.0283 and 0.76 ± 0.0302 overlap; 0.70 ± 0.0324 lies below the first alone."""
    classifiers, images = scripted(a=right(0.8, 0.8), b=right(0.76, 0.76), c=right(0.7, 0.7))
    found = brittle.ranking(classifiers, images, numbered, severities=(1,))
    assert found.ranks(ties="overlap") == {"a": [1, 1], "b": [1, 1], "c": [2, 2]}
    row = found["results"][0]["classifiers"][0]
    assert row["high"][0] - row["values"][0] == pytest.approx(np.sqrt(0.8 * 0.2 / IMAGES), rel=1e-4)


def test_several_paths_count_in_steps(scripted, numbered):
    classifiers, images = scripted(early=right(0.9, 0.8, 0.3), late=right(0.9, 0.6, 0.5))
    once, thrice = (brittle.ranking(classifiers, images, numbered, repeats=paths, **OPTIONS) for paths in (1, 3))
    assert thrice.ranks() == once.ranks()
    pairs = [each["results"][0]["pairs"][0] for each in (once, thrice)]
    assert pairs[0]["difference"] == pytest.approx(pairs[1]["difference"])
    assert pairs[0]["adjusted_p"] == pytest.approx(pairs[1]["adjusted_p"])


def test_one_classifier_has_no_rank(scripted, numbered):
    classifiers, images = scripted(alone=right(0.9, 0.8, 0.3))
    with pytest.raises(BrittleError, match="at least two"):
        brittle.ranking(classifiers, images, numbered, **OPTIONS)


def test_the_command_ranks_at_the_severities_given(cli):
    said = cli("ranking", "bundled:plain", "sample", "--nuisance", "noise", "--against", "bundled:augmented",
               "--count", "60", "--severities", "20/80", "--json")  # fmt: skip
    assert said.status == 0, said.err
    by_accuracy = said.json["results"][0]
    assert by_accuracy["severities"] == [0, 20, 80]
    assert [row["classifier"] for row in by_accuracy["classifiers"]] == ["bundled:plain", "bundled:augmented"]
    assert {row["by"] for row in said.json["results"]} == {"accuracy", "drop"}


def test_the_study_the_function_and_the_command_say_the_same(cli):
    study = {
        "classifiers": ["bundled:plain", "bundled:augmented"],
        "images": {"sample": {"spec": "sample", "count": 60}},
        "nuisances": ["noise"],
        "failure-points": {"severities": [20, 80]},
        "ranking": {},
    }
    by_study = brittle.run(study)["measures"]["ranking"]["results"]
    classifiers = {name: name for name in study["classifiers"]}
    by_function = brittle.ranking(classifiers, "sample", "noise", severities=(20, 80), count=60)["results"]
    assert by_function == by_study


def test_paths_that_end_at_their_first_failure_can_not_be_ranked():
    study = {
        "classifiers": ["bundled:plain", "bundled:augmented"],
        "images": {"sample": {"spec": "sample", "count": 10}},
        "nuisances": ["noise"],
        "failure-points": {"only": "first"},
        "ranking": {},
    }
    with pytest.raises(BrittleError, match="reads 'failure-points' with only = None"):
        brittle.run(study)


@pytest.mark.warned("leaves out 'c' and 'few'")
def test_what_failure_points_do_not_cover_is_left_out():
    study = {
        "classifiers": {"a": "bundled:plain", "b": "bundled:augmented", "c": "bundled:plain"},
        "images": {"few": {"spec": "sample", "count": 10}, "more": {"spec": "sample", "count": 20}},
        "nuisances": ["noise"],
        "failure-points": {"severities": [50], "images": ["more"], "classifiers": ["a", "b"]},
        "ranking": {},
    }
    rows = brittle.run(study)["measures"]["ranking"]["results"]
    assert {row["image_set"] for row in rows} == {"more"}
    assert [each["classifier"] for each in rows[0]["classifiers"]] == ["a", "b"]
    study["ranking"] = {"images": ["few"]}
    with pytest.raises(BrittleError, match="reads 'failure-points', which is not asked about any of its image sets"):
        brittle.run(study)
