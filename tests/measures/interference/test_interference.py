"""Interference through studies: derived from rows, over groups, and shown."""

import numpy as np
import pytest
import torch
from torch import nn

import brittle
from brittle.errors import BrittleError
from brittle.report.console import as_text
from brittle.report.html import write_report

pytestmark = pytest.mark.warned("this prior may destroy the label")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    out = tmp_path_factory.mktemp("run") / "out"
    study = {
        "classifiers": {
            "one": {"spec": "bundled:plain", "group": "ours"},
            "two": {"spec": "bundled:augmented", "group": "ours"},
            "other": "bundled:plain",
        },
        "images": {"sample": {"spec": "sample", "count": 150}},
        "nuisances": {"shuffle": "shuffle", "noise": "noise:sigma=0.3"},
        "robustness": {"samples": 3},
        "interference": {},
    }
    return brittle.run(study, out=out), out


def test_groups_are_models_and_single_classifiers_are_single_runs(run):
    rows = run[0]["measures"]["interference"]["results"]
    assert [(row["group"], row["nuisance"], row["runs"]) for row in rows] == [
        ("ours", "shuffle", 2),
        ("other", "shuffle", 1),
        ("ours", "noise", 2),
        ("other", "noise", 1),
    ]


def test_increases_per_class_add_up_to_what_is_lost(run):
    rows = run[0]["measures"]["interference"]["results"]
    robust = {(row["classifier"], row["nuisance"]): row for row in run[0]["measures"]["robustness"]["results"]}
    for row in rows:
        lost = [
            100 * (robust[name, row["nuisance"]]["accuracy_clean"] - robust[name, row["nuisance"]]["accuracy_nuisance"])
            for name in row["classifiers"]
        ]
        per_run = np.array([each["increases"] for each in row["per_class"]]).sum(0)
        assert per_run == pytest.approx(lost)
        assert row["points_lost"] == pytest.approx(np.mean(lost))


def test_the_batch_size_changes_nothing():
    study = {
        "classifiers": ["bundled:plain"],
        "images": {"sample": {"spec": "sample", "count": 60}},
        "nuisances": ["shuffle"],
        "robustness": {"samples": 2},
        "interference": {},
    }
    found = [brittle.run(study, batch=batch)["measures"]["interference"] for batch in (7, 512)]
    assert found[0] == found[1]


DRAWN = """
import torch
from torch import nn

class Drawn(nn.Module):
    def forward(self, images):
        level = (4 * images.mean((1, 2, 3))).long().clamp(max=3)
        noisy = images.std((1, 2, 3)) > 0.05
        return 9 * nn.functional.one_hot(torch.where(noisy, 2, level), 4).float()

drawn = Drawn()
"""


def test_a_classifier_drawn_to_one_class_by_the_distortion_is_found_out(tmp_path):
    """Class 2 is what it says of everything noisy; it is right on what is smooth. All of class 0, 1 and 3, 75 points,
    go to class 2: DI = 4 · 0.75 with a share of 1."""
    (tmp_path / "mine.py").write_text(DRAWN)
    labels = np.arange(80) % 4
    images = np.broadcast_to(np.array([0.1, 0.4, 0.6, 0.9], np.float32)[labels][:, None, None, None], (80, 1, 8, 8))
    np.savez(tmp_path / "levels.npz", images=images, labels=labels)
    study = {
        "classifiers": {"drawn": f"torch:{tmp_path / 'mine.py'}:drawn"},
        "images": {"levels": f"npz:{tmp_path / 'levels.npz'}"},
        "nuisances": ["noise:sigma=0.3"],
        "robustness": {"samples": 2},
        "interference": {},
    }
    (row,) = brittle.run(study)["measures"]["interference"]["results"]
    assert row["di"] == pytest.approx(3.0)
    assert row["top_class"] == "2"
    assert row["points_lost"] == pytest.approx(75)
    assert row["points_to_top"] == pytest.approx(75)
    assert row["chance_spread"]["p_value"] < 0.001


def test_of_several_image_sets_the_console_names_each(run):
    said = run[0]["measures"]["interference"]
    rows = [row | {"image_set": name} for name in ("one", "other") for row in said["results"]]
    text = as_text(run[0] | {"measures": {"interference": said | {"results": rows}}})
    assert "ours under shuffle on one:" in text
    assert "ours under shuffle on other:" in text
    assert "ours under shuffle:" in as_text(run[0])


def test_console_and_report_say_it_in_points(run):
    summary, out = run
    assert "points lost" in str(summary)
    page = write_report(out).read_text()
    assert "chance would be" in page
    assert "if errors were spread evenly" in page
    assert page.count("Interference:") >= 2


def drawn_to_two(images):
    """Right about flat images; 2 where there is noise."""
    level = (4 * images.mean((1, 2, 3))).long().clamp(max=3)
    said = torch.where(images.std((1, 2, 3)) > 0.05, 2, level)
    return nn.functional.one_hot(said, 4) * 0.96 + 0.01


def flat(count=80):
    labels = np.arange(count) % 4
    levels = np.array([0.125, 0.375, 0.625, 0.875], np.float32)[labels]
    return np.broadcast_to(levels[:, None, None, None], (count, 1, 8, 8)).copy(), labels


def test_python_gives_the_index_of_live_runs():
    """Three quarters of the images go to class 2 in each of three runs: share 1, times 4 · 0.75."""
    nets = dict.fromkeys(("a", "b", "c"), drawn_to_two)
    groups = dict.fromkeys(nets, "net")
    found = brittle.interference(nets, flat(), ["noise:sigma=0.12", "brightness"], groups=groups, samples=2)
    noisy = found.of("net", nuisance="noise:sigma=0.12")
    assert found["results"][0]["di"] == noisy["di"] == pytest.approx(3.0)
    assert (noisy["top_class"], noisy["runs"], noisy["agreeing_runs"]) == ("2", 3, 3)
    assert found.rows.num_rows == 3 * 2 * 80 * 2
    assert "noise:sigma=0.12" in str(found)
    assert "robustness" not in found.summary["measures"]
    with pytest.raises(BrittleError, match="no group 'nett'"):
        found.of("nett")


def test_python_refuses_images_without_labels_and_takes_those_that_have_some():
    pixels, labels = flat()
    some = brittle.image_set((pixels, np.where(np.arange(80) < 8, -1, labels)))
    with pytest.raises(
        BrittleError, match="interference on 'arrays' is left out: it needs labels, and some images have none"
    ):
        brittle.interference(drawn_to_two, some, "noise")
    found = brittle.interference(drawn_to_two, some, "noise:sigma=0.12", ids=some.ids[8:].tolist(), simulations=100)
    assert (found["images"], found["top_class"]) == (72, "2")
