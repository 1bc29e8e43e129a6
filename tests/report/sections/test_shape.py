"""The section of shape and texture: what the page shows, and what the command line says."""

import csv
import itertools
import json
import re

import pytest
from PIL import Image

import brittle
from brittle.report.html import write_report

pytestmark = pytest.mark.warned("cover less often than they say")

CLASSIFIERS = """
import torch

def _said(images, first):
    shape, texture, number = (255 * images.mean((2, 3)) / 60).round().long().T
    return 5.0 * torch.nn.functional.one_hot(torch.where(number == first, shape, texture), 3).float()

def one(images):
    return _said(images, 1)

def two(images):
    return _said(images, 2)

def three(images):
    return _said(images, 9)
"""
CLASSES = ("bear", "cat <b>", "dog")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("shape")
    (made / "them.py").write_text(CLASSIFIERS)
    rows = []
    for (s, shape), (t, texture), number in itertools.product(enumerate(CLASSES), enumerate(CLASSES), (1, 2)):
        (made / "stimuli" / shape).mkdir(parents=True, exist_ok=True)
        name = f"{shape}{number}-{texture}1.png"
        Image.new("RGB", (8, 8), (60 * s, 60 * t, 60 * number)).save(made / "stimuli" / shape / name)
        rows.append(("subject-01", 1, len(rows), 0.4, shape, shape, 0, name))
    with (made / "people.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows(
            [("subj", "session", "trial", "rt", "object_response", "category", "condition", "imagename"), *rows]
        )
    return made


@pytest.fixture(scope="module")
def run(folder):
    labels = "/".join(CLASSES)
    study = {
        "classifiers": {
            name: f"python:{folder}/them.py:{name},labels={folder}/labels.txt" for name in ("one", "two", "three")
        },
        "images": {"stimuli": f"cue-conflict:{folder}/stimuli", "plain": f"folder:{folder}/stimuli"},
        "shape": {"resamples": 200, "samples": 2, "decisions": [str(folder / "people.csv")]},
    }
    (folder / "labels.txt").write_text(labels.replace("/", "\n"))
    result = brittle.run(study, out=folder / "run")
    return result, write_report(folder / "run").read_text(encoding="utf-8")


def test_the_page_has_a_part_for_each_kind_of_image_set(run):
    page = run[1]
    assert re.search(r"<h3>Shape against texture, on stimuli</h3>", page)
    assert re.search(r"<h3>Shuffled patches, on plain</h3>", page)
    assert "cat &lt;b&gt;" in page
    assert "cat <b>" not in page


def test_the_page_tells_what_the_summary_says(run):
    """One reads the shape of half of the twelve stimuli in conflict."""
    result, page = run
    told = result["measures"]["shape"]["results"][0]["cue_conflict"]
    assert (told["in_conflict"], told["shape_answers"], told["texture_answers"]) == (12, 6, 6)
    assert "6 and 6 of 12" in page
    assert "50.0 % [" in page
    assert "subject-01" in page
    kappa = result["measures"]["shape"]["consistency"][0]["kappa"]
    assert f"{kappa:.2f}".replace("-", "−") in page


def test_pictures_made_again_are_confirmed(run):
    """Six images, two grids, three classifiers."""
    assert "36 times a classifier was asked again" in run[1]


def test_figures_are_described(run):
    page = run[1]
    assert "shape bias by class; overall one 50.0 %" in page
    assert "accuracy on shuffled patches." in page
    assert "error consistency κ." in page


def test_the_console_says_the_same(run):
    said = str(run[0])
    assert "18 stimuli, 12 of them in conflict" in said
    assert "50.0 %" in said
    assert "one and two" in said
    assert "with people, mean over 1" in said


def test_a_table_has_a_row_per_grid_and_per_classifier_on_stimuli(run):
    table = run[0].table("shape").to_pylist()
    assert [(row["classifier"], row["image_set"], row["grid"]) for row in table] == [
        *((name, "stimuli", None) for name in ("one", "two", "three")),
        *((name, "plain", grid) for name in ("one", "two", "three") for grid in (2, 4)),
    ]
    assert table[0]["shape_bias"] == 0.5


def test_the_command_prints_what_the_function_gives(run, folder, cli):
    spec = f"python:{folder}/them.py:one,labels={folder}/labels.txt"
    said = cli("shape", spec, f"cue-conflict:{folder}/stimuli", "--resamples", 200, "--json")
    found = brittle.shape(spec, f"cue-conflict:{folder}/stimuli", resamples=200)
    assert json.loads(said.out)["cue_conflict"] == found["cue_conflict"]
    assert found.shape_bias == 0.5
