"""Whose errors are alike, on stimuli and classifiers made so that the answer is known."""

import numpy as np
import pyarrow.csv
import pytest
import torch
from cue_conflicts import reader, two_people, written
from sklearn.metrics import cohen_kappa_score

import brittle
from brittle.errors import BrittleError


def test_errors_are_compared_with_cohens_kappa(stimuli):
    """The shape is right: where textures differ, one errs on shape images 1 and 3, the other on 1 and 2."""
    found = brittle.error_consistency({"a": reader(2), "b": reader(3), "c": reader(2)}, stimuli, resamples=300)
    number = [int(name.partition("-")[0][-1]) for name in stimuli.columns["shape-image"]]
    same = np.array(stimuli.columns["shape"]) == np.array(stimuli.columns["texture"])
    a, b = (same | (np.array(number) == each) for each in (2, 3))
    assert found.kappa("a", "b") == pytest.approx(cohen_kappa_score(a, b))
    assert found.kappa("c", "a") == 1
    with pytest.raises(BrittleError, match="no pair"):
        found.kappa("a", "d")


def test_decisions_of_people_join(stimuli, tmp_path):
    """Of the 96 stimuli the classifier gets 48 right, all of which the first person has too, and one that both have
    wrong is the one she did not answer. The second was shown only 24."""
    found = brittle.error_consistency({"a": reader(2)}, stimuli, decisions=two_people(stimuli, tmp_path), resamples=200)
    assert [(each["name"], each["sort"], each["images"]) for each in found["deciders"]] == [
        ("a", "classifier", 96),
        ("subject-01", "person", 96),
        ("subject-02", "person", 24),
    ]
    assert [each["accuracy"] for each in found["deciders"]] == pytest.approx([48 / 96, 95 / 96, 6 / 24])
    pairs = {(each["first"], each["second"]): each for each in found["results"]}
    assert pairs["subject-01", "subject-02"]["images"] == 24
    assert pairs["a", "subject-01"]["observed"] == pytest.approx(49 / 96)
    mean = np.mean([found.kappa("a", "subject-01"), found.kappa("a", "subject-02")])
    assert found["people"][0]["kappa"] == pytest.approx(mean)


def test_the_mean_over_people_has_an_interval_also_where_one_pair_is_undefined(stimuli, tmp_path):
    """The classifier and the first person are always right, so that their κ is undefined; the second errs at times."""
    names = [name.rpartition("/")[2] for name in stimuli.names]
    rows = [
        (who, 1, 1, 0.5, "na" if who == "subject-02" and place % 5 == 0 else shape, shape, 0, name)
        for who in ("subject-01", "subject-02")
        for place, (name, shape) in enumerate(zip(names, stimuli.columns["shape"], strict=True))
    ]
    found = brittle.error_consistency(
        {"a": reader(1, 2, 3)}, stimuli, decisions=written(tmp_path / "two.csv", rows), resamples=200
    )
    assert found.kappa("a", "subject-01") is None
    assert found.kappa("a", "subject-02") == 0
    (people,) = [row for row in found["people"] if row["decider"] == "a"]
    assert people["kappa"] == 0
    low, high = people["interval"]
    assert low < 0 < high


def test_own_decisions_that_were_written_are_read_again(stimuli, tmp_path):
    own = brittle.error_consistency({"a": reader(2), "b": reader(3)}, stimuli, resamples=100)
    pyarrow.csv.write_csv(own.decisions, tmp_path / "own.csv")
    found = brittle.error_consistency({"a": reader(2)}, stimuli, decisions=str(tmp_path / "own.csv"), resamples=100)
    assert found.kappa("a", "a (decisions)") == 1
    assert found.kappa("a", "b") == own.kappa("a", "b")


def test_one_alone_is_refused(stimuli):
    with pytest.raises(BrittleError, match="'classifier' is the only classifier"):
        brittle.error_consistency(reader(2), stimuli)


@pytest.mark.warned("have no label")
def test_images_without_labels_are_refused(stimuli):
    with pytest.raises(BrittleError, match="whether an answer is right follows from the label"):
        brittle.error_consistency({"a": reader(1), "b": reader(2)}, torch.rand(8, 3, 4, 4))
