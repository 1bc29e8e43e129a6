"""Accuracy on the line over classifiers whose answers are written down, through the whole house."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

import brittle
from brittle.errors import BrittleError
from brittle.measures.line.measure import Line
from brittle.statistics.line import gains

IMAGES = 200
CLEAN = np.array([0.6, 0.65, 0.7, 0.8, 0.85, 0.9])
SHIFTED = np.array([[0.4, 0.2], [0.5, 0.25], [0.52, 0.3], [0.7, 0.42], [0.7, 0.5], [0.8, 0.52]])
SIZES = [1, 3, 2, 9, 20, 5]
NAMES = ["a", "b", "c", "d", "e", "f"]
OPTIONS = {"severities": (1, 2)}


def right(*shares):
    return np.stack([np.arange(IMAGES) < round(share * IMAGES) for share in shares], 1)


@pytest.fixture
def six(scripted):
    return scripted(**{name: right(clean, *under) for name, clean, under in zip(NAMES, CLEAN, SHIFTED, strict=True)})


def test_lines_by_severity_and_overall_are_scipys(six, numbered):
    found = brittle.line(*six, numbered, **OPTIONS)
    overall = stats.linregress(CLEAN, SHIFTED.mean(1))
    line = found["lines"]["plain"]
    assert (line["slope"], line["correlation"], line["p_value"]) == pytest.approx(
        (overall.slope, overall.rvalue, overall.pvalue)
    )
    (shift,) = found["shifts"]
    for place in range(2):
        expected = stats.linregress(CLEAN, SHIFTED[:, place])
        own = [shift["plain"][key][place] for key in ("slope", "correlation", "p_value")]
        assert own == pytest.approx([expected.slope, expected.rvalue, expected.pvalue])
    probit = stats.linregress(stats.norm.ppf(CLEAN), stats.norm.ppf(SHIFTED.mean(1)))
    assert found["lines"]["probit"]["slope"] == pytest.approx(probit.slope)
    assert found["identical"].startswith("clean accuracy on ")


def test_gains_are_left_over_from_the_line_of_the_other_baseline_models(six, numbered):
    found = brittle.line(*six, numbered, baseline=NAMES[:5], **OPTIONS)
    y = SHIFTED.mean(1)
    for place, others in ((5, [0, 1, 2, 3, 4]), (1, [0, 2, 3, 4])):
        fitted = stats.linregress(CLEAN[others], y[others])
        expected = y[place] - fitted.intercept - fitted.slope * CLEAN[place]
        assert found["points"][place]["gain"] == pytest.approx(expected)
    assert found["baseline"] == NAMES[:5]


def test_gains_of_all_models_have_intervals_that_hold_at_once(six, numbered):
    """Of six models one would be named off the line by chance in every fourth study."""
    found = brittle.line(*six, numbered, **OPTIONS)
    expected = gains(CLEAN, SHIFTED.mean(1), np.ones(6, bool), 1 - 0.05 / 6)
    for place, point in enumerate(found["points"]):
        assert point["gain_interval"] == pytest.approx([expected.low[place], expected.high[place]])
    assert "95 % intervals for models on it, all 6 at once" in " ".join(str(found).split())


def test_it_is_said_where_both_accuracies_are_of_the_same_images(six, numbered):
    found = brittle.line(*six, numbered, **OPTIONS)
    assert found["same_images"]
    assert "both accuracies are of the same images" in " ".join(str(found).split())
    pixels, labels = six[1]
    other = brittle.line(*six, numbered, id=brittle.image_set((pixels[:100], labels[:100])), **OPTIONS)
    assert not other["same_images"]
    assert "same images" not in str(other)


@pytest.mark.parametrize(("followed", "same"), [(range(10), False), (range(11), True), (range(20), True)])
def test_images_that_no_shift_was_applied_to_are_preferred_where_they_are_as_many(followed, same):
    ids = np.arange(20)
    run = SimpleNamespace(images={"a": SimpleNamespace(ids=ids, labels=np.zeros(20))})
    found = Line()._clean_images(run, "a", np.array(followed))
    assert found.same == same
    assert np.isin(found.ids, followed).all() == same


@pytest.mark.warned("nothing is said of an effect")
def test_partial_correlations_of_attributes_given_accuracy(six, numbered):
    attributes = {name: {"parameters": size, "note": "x"} for name, size in zip(NAMES, SIZES, strict=True)}
    found = brittle.line(*six, numbered, attributes=attributes, **OPTIONS)
    (entry,) = found["partial"]
    for key, values in (("correlation", np.array(SIZES)), ("log_correlation", np.log(SIZES))):
        left = [each - np.polyval(np.polyfit(CLEAN, each, 1), CLEAN) for each in (values, SHIFTED.mean(1))]
        assert entry[key] == pytest.approx(stats.pearsonr(*left).statistic)
    assert (entry["attribute"], entry["models"], entry["by_itself"]) == ("parameters", 6, False)
    assert any("effect of 'parameters' by itself" in text for text in found["warnings"])


@pytest.mark.warned("a partial correlation needs 5")
def test_an_attribute_that_too_few_models_have_is_named(six, numbered):
    attributes = {name: {"parameters": size} for name, size in zip(NAMES[:3], SIZES[:3], strict=True)}
    found = brittle.line(*six, numbered, attributes=attributes, **OPTIONS)
    assert found["partial"] == []
    assert any("3 of 6 models have 'parameters' as a number: a partial" in text for text in found["warnings"])


@pytest.mark.warned("nothing is said of an effect")
def test_a_model_whose_attribute_is_not_a_number_lacks_it(six, numbered):
    sizes = dict(zip(NAMES, [*SIZES[:5], float("nan")], strict=True))
    found = brittle.line(*six, numbered, attributes={name: {"parameters": sizes[name]} for name in NAMES}, **OPTIONS)
    (entry,) = found["partial"]
    assert entry["models"] == 5
    assert entry["correlation"] is not None


def test_an_attribute_that_no_classifier_has_is_refused():
    study = {
        "classifiers": {name: {"spec": "bundled:plain", "parameters": 1.0} for name in NAMES},
        "images": {"sample": {"spec": "sample", "count": 10}},
        "nuisances": ["noise"],
        "line": {"covariates": ["paramters"]},
    }
    with pytest.raises(BrittleError, match=r"no classifier has the attribute 'paramters'.*Did you mean 'parameters'"):
        brittle.run(study)


def test_trainings_of_one_model_are_one_point(scripted, numbered):
    """Six models of one architecture and six sizes, trained twice each."""
    shares = {
        f"{name}{seed}": right(clean, *(under + 0.01 * seed))
        for name, clean, under in zip(NAMES, CLEAN, SHIFTED, strict=True)
        for seed in (0, 1)
    }
    sizes = dict(zip(NAMES, SIZES, strict=True))
    about = {name: {"parameters": sizes[name[0]], "architecture": "cnn"} for name in shares}
    groups = {name: name[0] for name in shares}
    found = brittle.line(*scripted(**shares), numbered, attributes=about, groups=groups, **OPTIONS)
    assert found["models"] == 6
    assert [point["accuracy_shifted"] for point in found["points"]] == pytest.approx(SHIFTED.mean(1) + 0.005)
    assert [(each["family"], each["by_itself"]) for each in found["partial"]] == [("cnn", True)]
    assert not any("by itself" in text for text in found["warnings"])


def test_another_image_set_may_be_in_distribution(six, numbered):
    classifiers, images = six
    pixels, labels = images
    other = brittle.image_set((pixels[:100], labels[:100]))
    found = brittle.line(classifiers, images, numbered, id=other, **OPTIONS)
    assert [point["accuracy"] for point in found["points"]] == pytest.approx(np.minimum(2 * CLEAN, 1))
    assert found["identical"] == f"clean accuracy on {other.name} (id)"


def test_the_shifted_set_itself_may_be_named_as_in_distribution():
    study = {
        "classifiers": dict.fromkeys(NAMES, "bundled:plain"),
        "images": {"sample": {"spec": "sample", "count": 10}},
        "nuisances": ["noise"],
        "failure-points": {"severities": [50]},
        "line": {"id": "sample"},
    }
    (row,) = brittle.run(study)["measures"]["line"]["results"]
    assert row["identical"] == "clean accuracy on sample"
    assert row["same_images"]
    assert row["lines"]["plain"]["slope"] is None  # all models are the same


def test_fewer_than_five_models_are_refused(six, numbered):
    classifiers, images = six
    few = {name: classifiers[name] for name in NAMES[:4]}
    with pytest.raises(BrittleError, match="a line through 4 models says nothing"):
        brittle.line(few, images, numbered, **OPTIONS)
    with pytest.raises(BrittleError, match="a line through 4 models says nothing"):
        brittle.line(classifiers, images, numbered, groups={"a": "g", "b": "g", "c": "g"}, **OPTIONS)
    with pytest.raises(BrittleError, match="fewer than 5 models"):
        brittle.line(classifiers, images, numbered, baseline=["a", "b"], **OPTIONS)


def test_an_unknown_set_in_distribution_is_refused_before_anything_is_classified():
    study = {
        "classifiers": dict.fromkeys(NAMES, "bundled:plain"),
        "images": {"sample": {"spec": "sample", "count": 10}},
        "nuisances": ["noise"],
        "line": {"id": "smaple"},
    }
    with pytest.raises(BrittleError, match="there is no image set 'smaple'"):
        brittle.run(study)
