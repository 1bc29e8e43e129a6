"""Columns that people bring, conditions on them, and ids from files."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import torch

import brittle
from brittle.errors import BrittleError
from brittle.images.id_list import ids_of

IDS = [7, 3, 11, 5]


def images():
    return brittle.image_set(
        (torch.rand(4, 1, 2, 2), np.array([0, 1, 0, 1])),
        ids=IDS,
        classes=("cat", "dog"),
        columns={"shelf": list("abab")},
    )


def test_a_csv_file_is_matched_by_id_in_whatever_order(tmp_path):
    (tmp_path / "scores.csv").write_text("score,id,who\n0.5,3,Ann\n0.25,11,Bob\n1,7,\n9,99,Eve\n")
    found = images().with_columns(tmp_path / "scores.csv")
    np.testing.assert_array_equal(found.columns["score"], [1.0, 0.5, 0.25, np.nan])
    assert list(found.columns["who"]) == ["", "Ann", "Bob", ""]
    assert list(found.columns["class"]) == ["cat", "dog", "cat", "dog"]
    assert found.where("score>0.25").ids.tolist() == [7, 3]
    assert found.where("score>=0.25", "class=cat").ids.tolist() == [7, 11]
    assert found.where("score<0.5").ids.tolist() == [11]
    assert found.where("score<=0.5").ids.tolist() == [3, 11]
    assert found.where("who=Ann/Bob", "shelf=b").ids.tolist() == [3]


def test_a_parquet_file_is_matched_by_name_and_whole_numbers_stay_whole(tmp_path):
    table = pa.table(
        {"name": [f"index {id}" for id in IDS[::-1]], "age": [4, 3, 2, 1], "tail": [True, False, True, False]}
    )
    pa.parquet.write_table(table, tmp_path / "ages.parquet")
    found = images().with_columns(str(tmp_path / "ages.parquet"))
    assert [str(each) for each in found.columns["age"]] == ["1", "2", "3", "4"]
    assert found.where("tail=true").ids.tolist() == [3, 5]
    assert found.where("age=2/3").ids.tolist() == [3, 11]


@pytest.mark.parametrize(
    ("content", "match"),
    [
        ("score\n1\n", "matched to images"),
        ("id\n3\n", "matched to images"),
        ("id,score\n3,1\n3,2\n", "occurs twice"),
        ("id,score\n99,1\n", "mentions no image"),
        ("id,score\n3.5,1\n", "not whole numbers"),
        ("id,class\n3,cat\n", "already has a column 'class'"),
        ("id,score,score\n3,1,2\n", "matched to images"),
        ("", "can't be read"),
        ("id,score\n3,1,2\n", "can't be read"),
    ],
)
def test_what_can_t_be_matched_is_refused(tmp_path, content, match):
    (tmp_path / "bad.csv").write_text(content)
    with pytest.raises(BrittleError, match=match):
        images().with_columns(tmp_path / "bad.csv")


def test_columns_that_are_neither_numbers_nor_text_are_refused():
    with pytest.raises(BrittleError, match="neither numbers nor text"):
        images().with_columns({"id": IDS, "both": [[1], [2], [3], [4]]})


@pytest.mark.parametrize(
    ("condition", "match"),
    [
        ("score", "not a condition"),
        ("score>high", "not a number"),
        ("class>3", "does not hold numbers"),
        (">3", "not a"),
    ],
)
def test_conditions_that_can_t_be_read_are_refused(condition, match):
    with pytest.raises(BrittleError, match=match):
        images().with_columns({"id": IDS, "score": [1, 2, 3, 4]}).where(condition)


def test_a_value_may_hold_signs_and_so_may_a_column():
    found = images().with_columns({"id": IDS, "kind": ["a>b", "c", "c", "a=b"], "x<y": ["1", "2", "1", "2"]})
    assert found.where("kind=a>b").ids.tolist() == [7]
    assert found.where("kind=a=b").ids.tolist() == [5]
    assert found.where("x<y=2").ids.tolist() == [3, 5]


def test_ids_come_written_or_from_a_file(tmp_path):
    (tmp_path / "tail.txt").write_text("3\n-17\n240\n")
    assert ids_of("3/-17/240") == ids_of(str(tmp_path / "tail.txt")) == ids_of([3, -17, 240])
    (tmp_path / "bad.txt").write_text("3\nfour\n")
    with pytest.raises(BrittleError, match="four"):
        ids_of(str(tmp_path / "bad.txt"))
    with pytest.raises(BrittleError, match="there is no file"):
        ids_of(str(tmp_path / "none.txt"))
    (tmp_path / "empty.txt").write_text("")
    with pytest.raises(BrittleError, match="holds no ids"):
        ids_of(str(tmp_path / "empty.txt"))


def test_a_small_file_that_declares_very_many_rows_is_refused_before_they_are_read(tmp_path, monkeypatch):
    monkeypatch.setattr("brittle.images.columns.MOST_VALUES", 10**6)
    nothing = pa.array(np.zeros(6 * 10**5, np.int8))
    pa.parquet.write_table(pa.table({"id": nothing, "x": nothing}), tmp_path / "long.parquet")
    assert (tmp_path / "long.parquet").stat().st_size < 10**4
    with pytest.raises(BrittleError, match="declares 600000 rows"):
        images().with_columns(tmp_path / "long.parquet")
