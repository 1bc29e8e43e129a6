"""Shape against texture on stimuli and classifiers made so that the answer is known."""

import pyarrow.csv
import pytest
from cue_conflicts import CLASSES, Reads, reader, two_people

import brittle
from brittle.errors import BrittleError

pytestmark = pytest.mark.warned("cover less often than they say")


def test_one_that_reads_only_shape_has_a_shape_bias_of_one(stimuli):
    """It says the texture only where that is the shape too: 24 of 96."""
    found = brittle.cue_conflict(reader(1, 2, 3), stimuli, resamples=200)
    assert (found["stimuli"], found["in_conflict"]) == (96, 72)
    assert (found["shape_accuracy"], found["texture_accuracy"]) == (1, 24 / 96)
    assert found["shape_bias"] == 1
    assert found["shape_bias_interval"][1] == 1
    assert [each["shape_bias"] for each in found["per_class"]] == [1] * 4


def test_shape_bias_counts_answers_over_stimuli_in_conflict(stimuli):
    """It reads the shape of a third of the shape images: of 72 conflicts 24 by shape and 48 by texture."""
    found = brittle.cue_conflict({"a": reader(2), "texture": reader()}, stimuli, resamples=500)
    a, texture = found["results"]
    assert (a["shape_answers"], a["texture_answers"], a["shape_bias"]) == (24, 48, pytest.approx(1 / 3))
    assert (a["shape_accuracy"], a["texture_accuracy"]) == pytest.approx(((24 + 24) / 96, (48 + 24) / 96))
    assert a["shape_bias_interval"][0] < 1 / 3 < a["shape_bias_interval"][1]
    assert texture["shape_bias"] == 0
    (difference,) = found["comparisons"]
    assert difference["difference"] == pytest.approx(1 / 3)


@pytest.mark.parametrize("numbers", [(), (1, 2, 3)], ids=["texture alone", "shape alone"])
def test_where_answers_are_all_of_one_kind_a_difference_of_shape_bias_has_room(stimuli, numbers):
    found = brittle.cue_conflict({"a": reader(*numbers), "b": reader(*numbers), "c": reader(2)}, stimuli, resamples=200)
    alike, *others = found["comparisons"]
    low, high = alike["interval"]
    assert alike["difference"] == 0
    assert low < -0.3
    assert high > 0.3
    assert all(other["interval"][1] - other["interval"][0] > 0.3 for other in others)


def test_draws_grow_with_the_number_of_differences(stimuli):
    """Of three, at 0.95, one in 120 draws lies in each tail: 100 draws would hold none."""
    some, more = (
        brittle.cue_conflict({"a": reader(1), "b": reader(2), "c": reader(3)}, stimuli, resamples=count)
        for count in (100, 1200)
    )
    assert [pair["interval"] for pair in some["comparisons"]] == [pair["interval"] for pair in more["comparisons"]]
    assert some["results"][0]["resamples"] == 100


def test_few_texture_images_are_said(stimuli):
    with pytest.warns(brittle.BrittleWarning, match="share only 8 texture images: intervals of shape bias"):
        found = brittle.cue_conflict(reader(2), stimuli, resamples=100)
    assert not any("shape images" in warning for warning in found["warnings"])  # of which there are 12


def test_answers_that_are_neither_do_not_count_towards_shape_bias(stimuli):
    class Stubborn(Reads):
        def forward(self, images):
            said = super().forward(images)
            said[:, 0] += 99  # always the bear
            return said

    told = brittle.cue_conflict(brittle.classifier(Stubborn(1), labels=CLASSES), stimuli, resamples=200)
    assert (told["shape_accuracy"], told["texture_accuracy"]) == (24 / 96, 24 / 96)
    assert (told["shape_answers"], told["texture_answers"], told["shape_bias"]) == (18, 18, 0.5)
    assert [each["shape_bias"] for each in told["per_class"]] == [1, 0, 0, 0]


def test_classes_may_stand_in_another_order_or_have_no_names(stimuli):
    class Turned(Reads):
        def forward(self, images):
            return super().forward(images).flip(1)

    named = brittle.classifier(Turned(2), labels=CLASSES[::-1])
    unnamed = brittle.classifier(Reads(2))
    for each in (named, unnamed):
        assert brittle.cue_conflict(each, stimuli, resamples=100)["shape_bias"] == pytest.approx(1 / 3)


@pytest.mark.parametrize("labels", [CLASSES, CLASSES[::-1], None])
def test_textures_count_that_are_no_shape_of_the_chosen_stimuli(stimuli, labels):
    """Of 24 cats, 18 are in conflict: those of shape image 2 are said by shape, and the other 12 by texture."""

    class Ordered(Reads):
        def forward(self, images):
            said = super().forward(images)
            return said.flip(1) if labels == CLASSES[::-1] else said

    found = brittle.cue_conflict(
        brittle.classifier(Ordered(2), labels=labels), stimuli, where="shape=cat", resamples=100
    )
    assert (found["in_conflict"], found["shape_answers"], found["texture_answers"]) == (18, 6, 12)
    assert found["texture_accuracy"] == pytest.approx((12 + 6) / 24)
    assert set(found.decisions["object_response"].to_pylist()) == set(CLASSES)


def test_decisions_of_people_join(stimuli, tmp_path):
    """One person says the shape except once, where she says nothing; another was shown only cats, and says the
    texture."""
    found = brittle.cue_conflict({"a": reader(2)}, stimuli, decisions=two_people(stimuli, tmp_path), resamples=200)
    one, two = found["deciders"]
    assert (one["name"], one["sort"], one["stimuli"], two["stimuli"]) == ("subject-01", "person", 96, 24)
    assert (one["shape_answers"], one["shape_bias"]) == (71, 1)
    assert (two["texture_answers"], two["shape_bias"]) == (18, 0)


def test_decisions_that_were_written_are_read_again(stimuli, tmp_path):
    """Its own decisions, as a file, agree with the classifier in everything."""
    own = brittle.cue_conflict({"a": reader(2)}, stimuli, resamples=100)
    pyarrow.csv.write_csv(own.decisions, tmp_path / "own.csv")
    found = brittle.cue_conflict({"a": reader(2)}, stimuli, decisions=str(tmp_path / "own.csv"), resamples=100)
    (again,) = found["deciders"]
    assert (again["name"], again["sort"]) == ("a (decisions)", "model")
    assert all(again[key] == own[key] for key in again if key not in ("name", "sort"))


def test_images_without_textures_are_refused_before_work_begins():
    with pytest.raises(BrittleError, match="the images of 'sample' have no column 'texture'"):
        brittle.cue_conflict("bundled:plain", "sample", count=4)
