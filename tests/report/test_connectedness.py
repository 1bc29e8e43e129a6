"""Connectedness as it is shown: on the console, in the report, as a table, and from Python."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import brittle
from brittle.errors import BrittleError
from brittle.report.html import write_report
from brittle.report.sections.connectedness.words import sizes

CHOICE = {"count": 70, "where": "class=Coat/Pullover/Bag"}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    out = tmp_path_factory.mktemp("run") / "out"
    study = {
        "classifiers": {"plain": "bundled:plain", "augmented": "bundled:augmented"},
        "images": {"sample": {"spec": "sample", "count": 70, "where": ["class=Coat/Pullover/Bag"]}},
        "connectedness": {"per-class": 8},
    }
    return brittle.run(study, out=out), out


@pytest.fixture(scope="module")
def found():
    return brittle.connectedness("bundled:plain", "sample", per_class=8, **CHOICE)


def test_the_console_says_what_was_found_and_what_it_does_not_mean(run):
    text = str(run[0])
    assert "plain on sample: " in text
    assert "of random pairs (" in text
    assert "Weakly generalised: a bubble with at least 2 of these images" in text
    assert "Unknown does not mean disconnected" in text


def test_the_report_shows_bubbles_and_a_connecting_path(run):
    page = write_report(run[1]).read_text()
    assert "images in each bubble, class by class: Pullover:" in page
    assert "Connecting paths" in page
    assert page.count("on the way from the image") >= 2 * 3 * 9
    assert "Unknown is not disconnected" in page


def test_the_table_has_a_row_per_classifier_and_class(run):
    table = run[0].table()
    assert table["classifier"].to_pylist() == ["plain"] * 3 + ["augmented"] * 3
    assert table["class"].to_pylist() == ["Pullover", "Coat", "Bag"] * 2
    assert {"bubbles", "right", "straight", "curved", "unknown", "candidate"} <= set(table.column_names)


def test_command_study_and_python_say_the_same(run, found, cli):
    said = run[0]["measures"]["connectedness"]
    plain = [row | {"classifier": "classifier"} for row in said["classes"] if row["classifier"] == "plain"]
    assert found["classes"] == plain
    typed = cli(
        *("connectedness", "bundled:plain", "sample", "--per-class", 8, "--count", 70),
        *("--where", "class=Coat/Pullover/Bag", "--json"),
    )
    printed = json.loads(typed.out)
    assert [row | {"classifier": "classifier"} for row in printed["classes"]] == plain


def test_classifiers_are_compared_over_the_pairs_that_both_get_right(run):
    (pair,) = run[0]["measures"]["connectedness"]["comparisons"]
    stays = {}
    for file in (run[1] / "units" / "connectedness").rglob("*.rows.parquet"):
        rows = pq.read_table(file)
        for row in rows.filter(rows["round"].to_numpy() == 0).to_pylist():
            plain = "augmented" not in str(file.relative_to(run[1]))
            stays.setdefault((row["image"], row["other"]), {})[plain] = row["straight_least"] > 0
    gaps = [int(each[True]) - int(each[False]) for each in stays.values() if len(each) == 2]
    assert pair["common_pairs"] == len(gaps) > 0
    assert pair["difference"] == np.mean(gaps)
    assert pair["interval"][0] <= np.mean(gaps) <= pair["interval"][1]
    assert "straight share, plain − augmented, paired over" in str(run[0])


def test_the_result_gives_bubbles_images_pairs_and_paths(found):
    (row,) = (each for each in found["classes"] if each["class"] == "Bag")
    bubbles = found.bubbles("Bag")
    assert [len(each) for each in bubbles] == row["sizes"]
    images = found.images
    assert images.num_rows == 24
    members = images.filter(np.isin(images["image"].to_numpy(), [id for each in bubbles for id in each]))
    assert set(members["predicted"].to_pylist()) == {8}
    assert found.rows.num_rows == found["pairs"]
    path = found.paths[0]
    sample = brittle.image_set("sample")
    assert np.array_equal(path["frames"][0], sample.only([path["image"]]).batch([0]).images[0].numpy())
    assert np.array_equal(path["frames"][-1], sample.only([path["other"]]).batch([0]).images[0].numpy())
    assert path["margin"].min() > 0
    with pytest.raises(BrittleError, match=r"has no class 'Bog'.*Did you mean 'Bag'"):
        found.bubbles("Bog")


def test_sizes_are_short_however_many_there_are():
    assert sizes([27, 3, 1, 1, 1, 1]) == "27 + 3 + 4 × 1"
    assert sizes([]) == "–"
    assert sizes([9, 8, 7, 6, 5, 4, 3, 2, 1]) == "9 + 8 + 7 + 6 + 5 + 4 + …"


@pytest.mark.warned("is not what the classifiers were trained on")
def test_a_set_that_classifiers_were_not_trained_on_is_told(tmp_path):
    study = {
        "classifiers": {"plain": "bundled:plain"},
        "images": {
            "test": {"spec": "subsample:sample,share=0.02", "train": "training"},
            "training": "subsample:sample,share=0.03,seed=1",
        },
        "connectedness": {},
    }
    said = brittle.run(study, out=tmp_path / "out")
    assert any("'test' is not what the classifiers were trained on" in text for text in said["warnings"])


def test_each_bubble_has_its_smallest_targeted_change_beside_it(tmp_path):
    study = {
        "classifiers": {"plain": "bundled:plain"},
        "images": {"sample": {"spec": "sample", "count": 8, "where": ["class=Coat/Bag"]}},
        "connectedness": {"per-class": 4},
        "perturbation": {"count": 8, "draw": 2, "steps": 200},
    }
    done = brittle.run(study, out=tmp_path / "out")
    said = done["measures"]["connectedness"]
    files = (tmp_path / "out" / "units" / "perturbation").rglob("*.rows.parquet")
    changed = pa.concat_tables([pq.read_table(file) for file in files])
    changed = changed.filter(changed["reached"])
    images = brittle.connectedness(
        "bundled:plain", "sample", where="class=Coat/Bag", count=8, per_class=4
    ).images.to_pylist()
    sizes = dict.fromkeys(changed["image"].to_pylist(), np.inf)
    for image, size in zip(changed["image"].to_pylist(), changed["linf"].to_pylist(), strict=True):
        sizes[image] = min(sizes[image], size)
    for row in said["classes"]:
        for bubble in row["components"]:
            inside = [each["image"] for each in images if each["component"] == bubble["first"]]
            assert bubble["images"] == len(inside)
            assert bubble["smallest_change"] == min(sizes[image] for image in inside)
    assert "smallest change" in str(done)
    assert "smallest targeted change" in write_report(tmp_path / "out").read_text()
