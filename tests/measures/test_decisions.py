"""Decisions of people and models: how they are read, and whose image they are about."""

import pytest
from cue_conflicts import reader

import brittle
from brittle.errors import BrittleError
from brittle.measures.decisions import decisions_by_image, read_decisions


def test_people_and_networks_have_other_names_for_the_same_image():
    """Names as model-vs-human has them: of a trial, of a stimulus for networks, of the image that it was made from."""
    said = {
        "0001_cl_s01_cr_oven_40_n04111531_14126": "oven",
        "0002_cl_s01_cr_bear_40_n02134084_5274": "cat",
        "0003_cl_s01_bw_bear_40_n02134084_5274": "bear",
        "0011_cl_s01_bw_elephant_40_n02504458_3485": "elephant",
        "0048_cl_s01_cr_elephant_40_n02504013_3485": "car",
        "0001_ske_s01_0_boat_00_boat-0068-sketch-23": "boat",
    }
    names = {
        "oven/0009_cl_dnn_cr_oven_40_n04111531_14126.png": "oven",
        "bear/0010_cl_dnn_bw_bear_40_n02134084_5274.png": "bear",
        "n04111531_14126.JPEG": "oven",
        "n02134084_5274.JPEG": None,  # shown in two conditions, with two answers
        "n02504458_3485.JPEG": "elephant",
        "n02504013_3485.JPEG": "car",
        "3485.png": None,
        "boat-0068-sketch-23.png": "boat",
        "0001_cl_dnn_bw_oven_40_n04111531_14126.png": None,  # in colour only
    }
    assert decisions_by_image(said, list(names)) == list(names.values())
    assert decisions_by_image({"cat7-elephant1": "cat"}, ["0001_cc_dnn_0_cat_00_cat7-elephant1.png"]) == ["cat"]


def test_columns_may_be_capitalised_as_in_the_files_of_people(tmp_path):
    (tmp_path / "one.csv").write_text("Subj,Session,Object_response,Imagename\nsubject-01,1,cat,cat1-dog1.png\n")
    assert read_decisions(str(tmp_path / "one.csv")) == {"subject-01": {"cat1-dog1": "cat"}}


@pytest.mark.parametrize("ask", [brittle.cue_conflict, brittle.error_consistency])
@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("a,b\n1,2\n", "lack the columns subj, object_response, imagename"),
        ("subj,object_response,imagename\n", "hold no trial"),
        ("subj,object_response,imagename\n,cat,x.png\n", "line 2"),
        ("subj,object_response,imagename\ns,cat,mouse1-rat1.png\n", "is in the study"),
    ],
)
def test_decisions_that_can_not_be_used_are_refused(stimuli, tmp_path, content, said, ask):
    (tmp_path / "odd.csv").write_text(content)
    with pytest.raises(BrittleError, match=said):
        ask(reader(1), stimuli, decisions=[str(tmp_path / "odd.csv")], resamples=100)
