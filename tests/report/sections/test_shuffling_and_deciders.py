"""The sections of shuffling, cue conflict and error consistency: what the page shows, and what is printed."""

import csv
import itertools
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
    labels, decided = "/".join(CLASSES), {"resamples": 200, "decisions": [str(folder / "people.csv")]}
    study = {
        "classifiers": {
            name: f"python:{folder}/them.py:{name},labels={folder}/labels.txt" for name in ("one", "two", "three")
        },
        "images": {"stimuli": f"cue-conflict:{folder}/stimuli", "plain": f"folder:{folder}/stimuli"},
        "shuffling": {"samples": 2, "images": ["plain"]},
        "cue-conflict": {"images": ["stimuli"]} | decided,
        "error-consistency": decided,
    }
    (folder / "labels.txt").write_text(labels.replace("/", "\n"))
    result = brittle.run(study, out=folder / "run")
    return result, write_report(folder / "run").read_text(encoding="utf-8")


def test_the_page_has_a_section_for_each_of_them(run):
    page = run[1]
    for title in ("Shape against texture", "Shuffled patches", "Whose errors are alike"):
        assert re.search(rf"<h2[^>]*>{title}", page)
    assert "cat &lt;b&gt;" in page
    assert "cat <b>" not in page


def test_the_page_tells_what_the_summary_says(run):
    """One reads the shape of half of the twelve stimuli in conflict."""
    result, page = run
    told = result["measures"]["cue-conflict"]["results"][0]
    assert (told["in_conflict"], told["shape_answers"], told["texture_answers"]) == (12, 6, 6)
    assert "6 and 6 of 12" in page
    assert "50.0 % [" in page.replace("\xa0", " ")
    assert "subject-01" in page
    kappa = result["measures"]["error-consistency"]["results"][0]["kappa"]
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


def test_a_table_has_a_row_per_grid_per_classifier_and_per_pair(run):
    shuffled, told, alike = (
        run[0].table(kind).to_pylist() for kind in ("shuffling", "cue-conflict", "error-consistency")
    )
    names = ("one", "two", "three")
    assert [(row["classifier"], row["grid"]) for row in shuffled] == [(name, grid) for name in names for grid in (2, 4)]
    assert [row["classifier"] for row in told] == list(names)
    assert told[0]["shape_bias"] == 0.5
    assert len(alike) == 2 * 6


@pytest.mark.parametrize("kind", ["cue-conflict", "error-consistency"])
def test_the_command_prints_what_the_function_gives(run, folder, cli, kind):
    one, two = (f"python:{folder}/them.py:{name},labels={folder}/labels.txt" for name in ("one", "two"))
    stimuli = f"cue-conflict:{folder}/stimuli"
    said = cli(kind, f"one={one}", f"stimuli={stimuli}", "--against", f"two={two}", "--resamples", 200, "--json").json
    found = getattr(brittle, kind.replace("-", "_"))({"one": one, "two": two}, stimuli, resamples=200)
    names = {"image_set": "stimuli"}
    assert said["results"] == [row | {key: names[key] for key in names if key in row} for row in found["results"]]
