"""Corruption errors of classifiers whose answers are written down, through the whole house."""

import numpy as np
import pytest

import brittle
from brittle.errors import BrittleError

# Right answers of four images at severities 0 to 3. Errors of own: 1/4; 1/4, 2/4, 3/4. Of the reference: 2/4; 2/4,
# 3/4, 4/4.
OWN = [[1, 1, 1, 0], [1, 1, 1, 1], [1, 1, 0, 0], [0, 0, 0, 0]]
REFERENCE = [[1, 1, 1, 0], [1, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]
OPTIONS = {"severities": (1, 2, 3), "resamples": 200}


@pytest.fixture
def found(scripted, numbered):
    classifiers, images = scripted(own=OWN, alexnet=REFERENCE)
    return brittle.corruption_error(classifiers, images, numbered, reference="alexnet", **OPTIONS)


def test_ce_and_rce_of_a_small_table_by_hand(found):
    row = found.of_classifier("own")
    (shift,) = row["shifts"]
    assert (row["mce"], shift["ce"]) == pytest.approx((6 / 9, 6 / 9))
    assert (row["mean_rce"], shift["rce"]) == pytest.approx(((6 - 3) / (9 - 6),) * 2)
    assert shift["errors"] == pytest.approx([1 / 4, 2 / 4, 3 / 4])
    assert shift["error_clean"] == 1 / 4
    assert row["drop_over_images"] == pytest.approx((1 / 4 + 2 / 4 + 3 / 4) / 3 - 1 / 4)


def test_the_reference_is_1_by_itself(found):
    row = found.of_classifier("alexnet")
    assert (row["mce"], row["mean_rce"], row["mce_interval"]) == (1, 1, [1, 1])


def test_the_first_classifier_is_the_reference_unless_one_is_named(scripted, numbered):
    classifiers, images = scripted(own=OWN, other=REFERENCE)
    found = brittle.corruption_error(classifiers, images, numbered, **OPTIONS)
    assert {row["reference"] for row in found["results"]} == {"own"}
    assert found.of_classifier("other")["mce"] == pytest.approx(9 / 6)


def test_means_are_over_shifts_and_drops_over_images(scripted, numbered):
    classifiers, images = scripted(own=OWN, alexnet=REFERENCE)
    nuisances = {"all": numbered, "again": numbered}
    found = brittle.corruption_error(classifiers, images, nuisances, reference="alexnet", **OPTIONS)
    row = found.of_classifier("own")
    assert [shift["nuisance"] for shift in row["shifts"]] == ["all", "again"]
    assert row["mce"] == pytest.approx(np.mean([shift["ce"] for shift in row["shifts"]]))
    assert row["images"] == 4
    # The same pictures under two names are no more than once.
    alone = brittle.corruption_error(classifiers, images, numbered, reference="alexnet", **OPTIONS).of_classifier("own")
    assert row["mce_interval"] == alone["mce_interval"]
    assert row["drop_over_images_interval"] == pytest.approx(alone["drop_over_images_interval"])


def test_a_reference_without_a_drop_is_said_and_not_divided_by(scripted, numbered):
    flat = [[1, 1, 1, 1], [1, 1, 1, 1], [0, 0, 0, 0], [0, 0, 0, 0]]
    classifiers, images = scripted(own=OWN, flat=flat)
    found = brittle.corruption_error(classifiers, images, numbered, reference="flat", **OPTIONS)
    row = found.of_classifier("own")
    assert (row["mean_rce"], row["shifts"][0]["rce"]) == (None, None)
    assert row["mce"] == pytest.approx(6 / 6)
    assert any("does not drop" in text for text in found["warnings"])
    assert "does not drop" in str(found)


def test_an_unknown_reference_is_refused_before_anything_is_classified(scripted, numbered):
    classifiers, images = scripted(own=OWN, alexnet=REFERENCE)
    with pytest.raises(BrittleError, match="'alexnt' is not among the classifiers"):
        brittle.corruption_error(classifiers, images, numbered, reference="alexnt", **OPTIONS)


def test_published_errors_are_refused_for_other_shifts(scripted, numbered):
    classifiers, images = scripted(own=OWN)
    with pytest.raises(BrittleError, match="not one of ImageNet-C's"):
        brittle.corruption_error(classifiers, images, numbered, reference="imagenet-c:alexnet", **OPTIONS)


def test_rows_are_those_of_failure_points(found):
    assert found.rows.num_rows == 2 * 4 * 3
    assert set(found.rows["classifier"].to_pylist()) == {"own", "alexnet"}
