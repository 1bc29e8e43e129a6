"""The filter on a folder: what it writes, what is read back, and how it is resumed."""

import itertools
import json

import numpy as np
import pyarrow.parquet
import pytest
import torch
from cns_folder import CLASSES, SCALES, SEEDS, SHIFTS, relative
from PIL import Image

import brittle
from brittle.errors import BrittleError
from brittle.generation.encoders import encoder
from brittle.generation.filter.rule import SCORES
from brittle.generation.labels.store import ImageLabel, write_labels

pytestmark = pytest.mark.usefixtures("torchvision")
FILES = [relative(*each) for each in itertools.product(SHIFTS, CLASSES, SEEDS, SCALES)]


def labelled(folder, wrong):
    """Labels of all images by a stand-in, those of `wrong` out of class."""
    write_labels(
        folder / "all.jsonl", "made up", [ImageLabel(each, "not" if each in wrong else "class") for each in FILES]
    )
    return folder


@pytest.fixture
def labels(tmp_path):
    generator = np.random.default_rng(0)
    return labelled(tmp_path / "labels", {each for each in FILES if generator.random() < 0.4})


def filtered(benchmark, clip, dino, **options):
    return brittle.filter(benchmark, text=str(clip), image=str(dino), device="cpu", progress=False, **options)


@pytest.mark.warned("thresholds are chosen on", "no path stays")
def test_scores_are_cosines_of_what_transformers_computes(benchmark, clip, dino, labels):
    filtered(benchmark, clip, dino, labels=labels)
    table = pyarrow.parquet.read_table(benchmark / "filter" / "scores" / f"{SHIFTS[0]}.parquet")
    both, only = encoder(str(clip)), encoder(str(dino))
    for row in table.to_pylist()[::7]:
        name = CLASSES[row["class"]]
        here, origin = (
            torch.from_numpy(np.asarray(Image.open(benchmark / file)).transpose(2, 0, 1) / np.float32(255))[None]
            for file in (row["image"], relative(SHIFTS[0], row["class"], row["seed"], 0.0))
        )
        texts = both.texts([f"a picture of a {name}", f"a picture of a {name} in heavy snow"])
        expected = [*(both.images(here) @ texts.T)[0].tolist()]
        expected += [float((each.images(here) * each.images(origin)).sum()) for each in (both, only)]
        assert [row[score] for score in SCORES] == pytest.approx(expected, abs=1e-5)


@pytest.mark.warned("thresholds are chosen on", "no path stays")
def test_what_stays_is_read_back_and_follows_the_rule(benchmark, clip, dino, labels):
    first = filtered(benchmark, clip, dino, labels=labels)
    scored = [pyarrow.parquet.read_table(first.folder / "scores" / f"{shift}.parquet") for shift in SHIFTS]
    rows = [row for each in scored for row in each.to_pylist()]
    limits = {score: float(np.quantile([row[score] for row in rows], 0.2)) for score in SCORES}
    (first.folder / "filter.json").write_text(json.dumps({"thresholds": limits}))
    found = filtered(benchmark, clip, dino, thresholds=first.folder)
    gone = {row["image"] for row in rows if sum(row[score] <= limits[score] for score in SCORES) >= 2}
    stays = {
        relative(shift, label, seed, scale)
        for shift, label, seed in itertools.product(SHIFTS, CLASSES, SEEDS)
        for scale in SCALES
        if not any(relative(shift, label, seed, other) in gone for other in SCALES)
    }
    listed = {each["image"] for each in json.loads(found.annotations.read_text())["images"]}
    assert listed == stays
    assert found.images_gone == len(gone)
    assert 0 < len(stays) < len(FILES)
    images = brittle.image_set(f"cns:{benchmark},annotations={found.annotations}")
    assert sum(len(shift.ids) for shift in images.shifts.values()) == len(stays) // len(SCALES)
    assert images.notes == ()


@pytest.mark.warned("thresholds are chosen on", "no path stays")
def test_thresholds_of_an_earlier_filter_do_the_same_without_labels(benchmark, clip, dino, labels, tmp_path):
    first = filtered(benchmark, clip, dino, labels=labels)
    again = filtered(benchmark, clip, dino, thresholds=first.folder, out=tmp_path / "again")
    assert json.loads(again.annotations.read_text()) == json.loads(first.annotations.read_text())
    assert again.filters == ()
    assert "nothing here judges them" in repr(again)


@pytest.mark.warned("thresholds are chosen on", "no path stays")
def test_scores_of_a_finished_shift_are_kept_and_those_of_other_encoders_are_not(benchmark, clip, dino, labels):
    filtered(benchmark, clip, dino, labels=labels)
    path = benchmark / "filter" / "scores" / f"{SHIFTS[0]}.parquet"
    before = path.stat().st_mtime_ns
    filtered(benchmark, clip, dino, labels=labels)
    assert path.stat().st_mtime_ns == before
    filtered(benchmark, clip, clip, labels=labels)
    assert path.stat().st_mtime_ns != before


@pytest.mark.warned("thresholds are chosen on", "no path stays")
def test_the_result_names_a_proxy_as_one(benchmark, clip, dino, labels):
    found = filtered(benchmark, clip, dino, labels=labels)
    assert "a proxy (made up), not people" in " ".join(repr(found).split())
    assert found.values["labels_of"] == "a proxy (made up), not people"
    assert found.chosen_on + found.judged_on == len(FILES)
    assert json.loads((found.folder / "filter.json").read_text()) == json.loads(json.dumps(found.values))


@pytest.mark.warned("thresholds are chosen on", "no path stays")
def test_the_command_prints_the_same_numbers(benchmark, clip, dino, labels, cli):
    said = cli("filter", benchmark, "--text", clip, "--image", dino, "--labels", labels, "--json")
    assert said.status == 0
    assert said.json["thresholds"] == filtered(benchmark, clip, dino, labels=labels).thresholds
    shown = cli("filter", benchmark, "--text", clip, "--image", dino, "--labels", labels)
    assert "text alignment alone" in shown.out


def test_mistakes_are_one_line(benchmark, clip, dino, tmp_path):
    with pytest.raises(BrittleError, match="either labels or thresholds"):
        filtered(benchmark, clip, dino)
    with pytest.raises(BrittleError, match="there is no folder"):
        filtered(benchmark, clip, dino, labels=tmp_path / "none")
    with pytest.raises(BrittleError, match="reads no text"):
        filtered(benchmark, dino, clip, labels=labelled(tmp_path / "some", {FILES[0]}))
    with pytest.raises(BrittleError, match="no labelled image is out of class"):
        filtered(benchmark, clip, dino, labels=labelled(tmp_path / "fine", set()))
    (tmp_path / "filter.json").write_text("{}")
    with pytest.raises(BrittleError, match="holds no thresholds"):
        filtered(benchmark, clip, dino, thresholds=tmp_path)
    kept = {"images": [{"image": "gone/001_a/seed_0001_scale_0000.jpg", "class": 1}]}
    (tmp_path / "other.json").write_text(json.dumps(kept))
    with pytest.raises(BrittleError, match="lists 1 images that are not there"):
        brittle.image_set(f"cns:{benchmark},annotations={tmp_path / 'other.json'}")
