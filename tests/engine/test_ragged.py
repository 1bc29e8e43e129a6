"""Images of all shapes in one set: every image gets the rows that it gets alone."""

import json
import shutil
import signal
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tomli_w
import torch
from engine_runs import run
from PIL import Image

from brittle import classifier, image_set, measure
from brittle.engine.store.memory_store import MemoryStore
from brittle.errors import BrittleError

pytestmark = pytest.mark.warned("is near chance on the untouched images", "has a mean confidence of")

SHAPES = [(12, 20), (20, 12), (9, 9), (12, 20), (31, 8), (8, 30), (16, 16), (20, 12), (12, 20), (11, 13), (16, 16)]
MODULE = """
import pathlib
import time

import torch

HERE = pathlib.Path(__file__).parent


def any_size(images):
    if (HERE / "delay").exists():
        time.sleep(float((HERE / "delay").read_text()))
    quarters = torch.nn.functional.adaptive_avg_pool2d(images.double(), 4).flatten(1)
    weights = torch.randn(48, 4, generator=torch.Generator().manual_seed(1)).double()
    return 3 * (quarters[..., None] * weights).sum(1)


def one_size(images):
    return images.flatten(1) @ torch.ones(3 * 16 * 16, 4)
"""


@pytest.fixture
def photos(tmp_path):
    """A folder of photographs of all shapes, some of them grey."""
    random = np.random.default_rng(0)
    for place, (height, width) in enumerate(SHAPES):
        folder = tmp_path / "photos" / "abcd"[place % 4]
        folder.mkdir(parents=True, exist_ok=True)
        shape = (height, width) if place % 5 == 4 else (height, width, 3)
        Image.fromarray(random.integers(0, 256, shape, dtype=np.uint8)).save(folder / f"{place:02}.png")
    (tmp_path / "things.py").write_text(MODULE)
    return tmp_path


def results(study, out=None, **options):
    return run(study, out=out, **options)["measures"]["robustness"]["results"]


def study(folder, *nuisances, **changed):
    return {
        "classifiers": {"mine": f"python:{folder}/things.py:any_size"},
        "images": {"photos": f"folder:{folder}/photos"},
        "nuisances": list(nuisances) or ["affine:alpha=20", "noise:sigma=0.2"],
        "robustness": {"samples": 7},
    } | changed


def rows(out, nuisance="*"):
    place = "clean/mine/photos" if nuisance == "clean" else f"robustness/mine/photos/{nuisance}*"
    files = sorted((out / "units").glob(f"{place}/*.rows.parquet"))
    return pa.concat_tables([pq.read_table(file) for file in files])


@pytest.mark.parametrize("estimand", ["population", "set"])
def test_a_ragged_folder_gives_each_image_the_row_it_gets_alone(photos, estimand, small_units):
    small_units(20)
    robustness = {"samples": 7, "estimand": estimand}
    run(study(photos, robustness=robustness), out=photos / "together", batch=3)
    whole = image_set(f"folder:{photos}/photos")
    assert len(whole.shapes) == 7
    for place, id in enumerate(whole.ids.tolist()):
        only = study(photos, images={"photos": {"spec": f"folder:{photos}/photos", "ids": [id]}}, robustness=robustness)
        run(only, out=photos / f"alone-{place}")
        for nuisance in ("affine", "noise", "clean"):
            together, alone = rows(photos / "together", nuisance), rows(photos / f"alone-{place}", nuisance)
            together = together.filter(pa.compute.equal(together["image"], id))
            order = "image" if nuisance == "clean" else "draw"
            for column in set(together.column_names) - {"unit"}:
                found, wanted = (each.sort_by(order)[column].to_numpy() for each in (together, alone))
                np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-6, err_msg=column)


def test_rows_of_a_ragged_set_are_stored_in_planned_order(photos):
    run(study(photos), out=photos / "run", batch=4)
    order = image_set(f"folder:{photos}/photos").choose(None, 0).ids.numpy()
    stored = rows(photos / "run", "affine")
    assert np.array_equal(stored["image"].to_numpy(), order.repeat(7))
    assert np.array_equal(stored["draw"].to_numpy(), np.tile(np.arange(7), len(order)))


@pytest.mark.parametrize("kept", [1, 20 * 12 * 3 * 4 * 3])
def test_images_that_do_not_fit_together_change_nothing(photos, monkeypatch, kept):
    before = results(study(photos), None)
    monkeypatch.setattr("brittle.engine.execute.worker.IMAGES_AT_ONCE", kept)
    assert results(study(photos), None) == before


@pytest.mark.parametrize("robustness", [{"samples": 20}, {"samples": 20, "tolerance": 0.001, "estimand": "set"}])
def test_a_ragged_run_killed_in_the_middle_resumes_to_the_same_numbers(photos, start, robustness):
    wanted = study(photos, robustness=robustness)
    (photos / "study.toml").write_text(tomli_w.dumps(wanted))
    undisturbed = results(wanted, None, batch=8)
    (photos / "delay").write_text("0.03")
    process = start("run", photos / "study.toml", "--out", photos / "run", "--batch", 8)
    while not list((photos / "run").glob("units/robustness/mine/photos/affine*/*.rows.parquet")):
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (photos / "run" / "summary.json").exists()
    (photos / "delay").unlink()
    assert results(wanted, photos / "run", batch=8) == undisturbed


def test_a_photograph_of_another_size_is_noticed_when_a_run_resumes(photos):
    run(study(photos), out=photos / "run")
    changed = next((photos / "photos").rglob("*.png"))
    Image.open(changed).resize((40, 40)).save(changed)
    with pytest.raises(BrittleError, match="'photos' is no longer what it was"):
        run(study(photos), out=photos / "run")


def test_a_classifier_of_one_size_is_refused_before_work_begins_and_told_how_to_fix_it(photos, monkeypatch):
    monkeypatch.setattr(MemoryStore, "write", None)
    images = f"folder:{photos}/photos"
    fixed = f"python:{photos}/things.py:one_size"
    with pytest.raises(
        BrittleError, match=r"can't take images of .*differ in size: .*\.png is \d+×\d+ and .*size=…,crop"
    ):
        measure(fixed, images, "rotation")
    with pytest.raises(BrittleError, match=r"can't take .*differ in size"):
        measure(classifier(fixed, size=16), images, "rotation")
    monkeypatch.undo()
    for mended in (
        measure(fixed, f"{images},size=16,crop=16", "rotation", samples=2),
        measure(classifier(fixed, size="16x16"), images, "rotation", samples=2),
    ):
        assert mended["images"] == len(SHAPES)


def test_a_nuisance_that_does_not_fit_one_image_names_it_before_work_begins(photos, monkeypatch):
    monkeypatch.setattr(MemoryStore, "write", None)
    with pytest.raises(BrittleError, match=r"^./0[45].png: a grid of 9×9 does not fit on images of"):
        run(study(photos, "shuffle:grid=9"), out=None)


def test_a_nuisance_that_does_not_fit_an_image_not_looked_at_names_it_when_it_turns_up(photos, monkeypatch):
    monkeypatch.setattr("brittle.images.folder.INSPECTED", 1)
    with pytest.raises(BrittleError, match=r"^./0[45].png: a grid of 9×9 does not fit"):
        run(study(photos, "shuffle:grid=9"), out=None)


def test_a_texture_of_pictures_of_all_shapes_is_refused(photos):
    with pytest.raises(BrittleError, match=r"differ in size: .*size=…,crop=…"):
        run(study(photos, f"occlusion:texture=folder:{photos}/photos"), out=None)


def test_the_prior_is_described_on_the_median_image(photos):
    found = run(study(photos, "translation:sigma=0.1"), out=None)
    assert "(on the median image, 20×12)" in found["measures"]["robustness"]["results"][0]["prior"]
    assert found["image_sets"]["photos"]["median_shape"] == [3, 12, 20]
    assert found["image_sets"]["photos"]["shapes"] == 7


@pytest.mark.warned("have no label")
@pytest.mark.parametrize("form", ["pairs", "lists", "unlabelled"])
def test_arrays_of_all_shapes_are_an_image_set_in_python(form):
    random = np.random.default_rng(0)
    arrays = [random.integers(0, 256, (height, width, 3), dtype=np.uint8) for height, width in SHAPES]
    labels = [place % 4 for place in range(len(arrays))]
    given = {"pairs": list(zip(arrays, labels, strict=True)), "lists": (arrays, labels), "unlabelled": (arrays, None)}[
        form
    ]

    def brightness(images):
        return images.mean((1, 2, 3))[:, None] * torch.tensor([[1.0, 2.0, -1.0, 4.0]])

    whole = image_set(given)
    assert whole.shape == (3, 16, 16)
    assert whole.labels.tolist() == (labels if form != "unlabelled" else [-1] * len(arrays))
    together = measure(brightness, given, "noise:sigma=0.1", samples=3, estimand="set")
    alone = [
        measure(brightness, given, "noise:sigma=0.1", samples=3, ids=[place], estimand="set")["rho"]
        for place in range(len(arrays))
    ]
    assert together["rho"] == pytest.approx(np.mean(alone), abs=1e-6)


@pytest.mark.warned("have no label")
def test_grey_and_colour_arrays_are_taken_by_a_classifier_that_takes_both():
    random = np.random.default_rng(0)
    arrays = [random.random((8, 8)), random.random((8, 8, 3)), random.random((6, 9))]

    def scores(images):
        return images.mean((2, 3)) @ torch.eye(3)

    assert measure(classifier(scores, channels="rgb"), (arrays, None), "noise", samples=2)["images"] == 3
    with pytest.raises(BrittleError, match=r"can't take images of [13]×.*"):
        measure(classifier(scores), (arrays, None), "noise", samples=2)


def test_the_report_shows_images_of_all_shapes(photos):
    from brittle.report.html import write_report

    run(study(photos), out=photos / "run")
    text = write_report(photos / "run").read_text()
    assert "8–30 × 8–31 pixels in 7 shapes, 3 channels" in text
    assert "be made again" not in text
    shutil.rmtree(photos / "photos" / "d")
    assert "be loaded any more" in write_report(photos / "run").read_text()


def test_answers_of_a_ragged_set_are_kept_in_planned_order(photos):
    run(study(photos), out=photos / "run")
    kept = json.loads((photos / "run" / "begun.json").read_text())["answers"]["mine"]["photos"]
    stored = rows(photos / "run", "clean")["predicted"].to_numpy()[:8]
    assert np.array_equal(np.argmax(kept, axis=1), stored)
    assert np.shape(kept) == (8, 4)
