"""Several things given from Python: each by a name of its own, and none lost silently."""

import inspect

import pytest

import brittle
from brittle.errors import BrittleError

PLAIN, AUGMENTED = "bundled:plain", "bundled:augmented"


def study(**changed):
    return {
        "classifiers": {"plain": PLAIN},
        "images": {"sample": {"spec": "sample", "count": 5}},
        "nuisances": ["rotation"],
        "robustness": {"samples": 2},
    } | changed


@pytest.mark.parametrize("sort", ["classifiers", "images"])
def test_two_live_objects_of_one_name_in_a_list_are_refused(sort):
    opened = {"classifiers": brittle.classifier, "images": brittle.image_set}[sort]
    twice = [opened({"classifiers": PLAIN, "images": "sample"}[sort]) for _ in range(2)]
    with pytest.raises(BrittleError, match=r"two things in a list of the study are called .*Give them names"):
        brittle.run(study(**{sort: twice}))


@pytest.mark.parametrize(
    "nuisances",
    [
        ["turned=rotation:sigma=5", "turned=rotation:sigma=30"],
        ["turned=rotation:sigma=5", "turned=noise"],
        ["rotation", "geometry", "rotation=noise"],
    ],
)
def test_two_nuisances_of_one_name_are_refused(nuisances):
    with pytest.raises(BrittleError, match="two nuisances are called"):
        brittle.compare({"plain": PLAIN}, "sample", nuisances, samples=2, count=5)


def test_a_nuisance_that_is_given_twice_is_measured_once():
    found = brittle.compare({"plain": PLAIN}, "sample", ["rotation", "rotation"], samples=2, count=5)
    assert [row["nuisance"] for row in found["results"]] == ["rotation"]


@pytest.mark.parametrize("call", [brittle.compare, brittle.ranking, brittle.failure_points])
def test_a_list_of_classifiers_is_refused_for_want_of_names(call):
    with pytest.raises(BrittleError, match=r"the classifiers have no names\. Give a dictionary"):
        call([PLAIN, AUGMENTED], "sample", "rotation")


def test_no_classifier_at_all_is_refused():
    with pytest.raises(BrittleError, match="no classifier is given"):
        brittle.compare({}, "sample", "rotation", samples=2)


@pytest.mark.warned("has a mean confidence of")
def test_what_is_misspelt_is_answered_with_what_was_meant():
    found = brittle.compare({"plain": PLAIN, "augmented": AUGMENTED}, "sample", "rotation", samples=2, count=5)
    with pytest.raises(BrittleError, match=r"results have no 'nuisnace'\. Did you mean 'nuisance'"):
        found.of(nuisnace="rotation")
    with pytest.raises(KeyError) as unknown:
        found["flip_rates"]
    assert unknown.value.__notes__ == ["Did you mean 'flip_rate'?"]
    with pytest.raises(AttributeError) as missing:
        _ = brittle.robustnes
    assert (missing.value.name, missing.value.obj) == ("robustnes", brittle)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((PLAIN,), "no images are given. Give them after the classifiers, or a study alone"),
        (({"plain": PLAIN},), "no images are given"),
        (("study.toml", "sample"), "a study holds its own images, nuisances and measures. Name its folder: out='run'"),
        ((study(), None, "rotation"), "nuisances is given, and no images"),
        ((study(), None, None, "clean"), "measures is given, and no images"),
        (
            (PLAIN, "sample", None, [brittle.clean]),
            r"is not a measure. Give 'clean', Robustness\(samples=50\) or another",
        ),
    ],
)
def test_what_is_neither_a_study_nor_things_and_measures_is_refused(arguments, words):
    with pytest.raises(BrittleError, match=words):
        brittle.run(*arguments)


def test_a_study_alone_may_be_given_with_every_option_at_its_default():
    options = {name: each.default for name, each in inspect.signature(brittle.run).parameters.items()}
    found = brittle.run(**options | {"classifiers": study()})
    assert found["measures"]["robustness"]["results"][0]["images"] == 5
    with pytest.raises(BrittleError, match="seed is given, and no images"):
        brittle.run(study(), seed=3)


def test_what_a_measure_is_derived_from_may_have_any_name():
    measures = {"path": "failure-points:severities=1/2", "order": "ranking"}
    found = brittle.run({"plain": PLAIN, "augmented": AUGMENTED}, "sample", "rotation", measures, count=5)
    assert found.of("order").rows.equals(found.of("path").rows)
    assert found.of("path").rows.num_rows == 2 * 5 * 2


@pytest.mark.warned("weak points")
def test_weak_points_of_several_are_had_one_by_one():
    several = {"plain": PLAIN, "augmented": AUGMENTED}
    found = brittle.sample(several, "sample", ["rotation", "scaling"], count=2, budget=60, keep=4)
    assert len(found["results"]) == 4
    with pytest.raises(BrittleError, match=r"there are 4 results, each with its own 'per_image'"):
        _ = found.ids
    one = found.of("augmented", nuisance="scaling")
    assert (one["classifier"], one["nuisance"]) == ("augmented", "scaling")
    assert one.theta(one.ids[0]).shape[1] == len(one.parameters)
    with pytest.raises(BrittleError, match=r"2 results have classifier='plain'.*nuisance: rotation, scaling"):
        found.of("plain")
    with pytest.raises(BrittleError, match=r"there is no classifier 'plian'. Did you mean 'plain'"):
        found.of("plian")
