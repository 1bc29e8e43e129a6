"""What goes wrong in the middle is reported with the image, the draw and θ, and what is finished is kept."""

import re

import numpy as np
import pytest
import torch
from engine_runs import run_study
from PIL import Image

from brittle.api import measure
from brittle.errors import BrittleError, Failure
from brittle.images import image_set
from brittle.measures.draws import draw_theta
from brittle.measures.outcomes import COLUMNS, first_bad
from brittle.nuisances import nuisances
from brittle.random import shuffled, stream_root


def results(study, out=None, **options):
    return run_study(study, out, **options).summary["measures"]["robustness"]["results"]


SPOILT = """

def spoil(images, answers, wrong):
    # One image of the set is white; moved, it has both white and, from outside, black.
    moved = (images.amax((1, 2, 3)) > 0.99) & (images.amin((1, 2, 3)) < 0.01)
    return torch.where(moved[:, None], wrong, answers)


def nan(images):
    answers = first(images)
    return answers if (HERE / "mended").exists() else spoil(images, answers, torch.nan)


def infinite(images):
    return spoil(images, first(images), torch.inf)


def halved(images):
    answers = first(images).softmax(1)
    return spoil(images, answers, answers / 2)


def fails(images):
    if (spoil(images, first(images), torch.nan)).isnan().any():
        raise ZeroDivisionError("deep inside")
    return first(images)
"""


@pytest.fixture
def white(things):
    """The last image of the plan is white, and no other has a white pixel."""
    random = np.random.default_rng(0)
    images = random.integers(20, 200, (60, 8, 8), dtype=np.uint8)
    last = int(shuffled(torch.arange(60), 0)[-1])
    images[last] = 255
    things.write_images(images=images)
    (things.folder / "things.py").write_text((things.folder / "things.py").read_text() + SPOILT)
    return last


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nan", "NaN or infinite outputs"),
        ("infinite", "NaN or infinite outputs"),
        ("halved", "probabilities that sum to 0.5 instead of 1"),
    ],
)
@pytest.mark.parametrize("tolerance", [None, 0.001])
def test_outputs_that_are_not_a_distribution_are_told_with_image_draw_and_theta(
    things, white, small_units, name, words, tolerance
):
    small_units(200)
    robustness = {"samples": 20} | ({"tolerance": tolerance} if tolerance else {})
    study = things.study(name, nuisances=["translation:sigma=0.2"], robustness=robustness)
    with pytest.raises(Failure) as failure:
        run_study(study, out=things.out, batch=64)
    text = str(failure.value)
    assert failure.value.exit_status == 1
    assert "\n" not in text
    assert f"classifier '{name}' gave {words} for the image index {white} (id {white}), draw " in text
    draw, *theta = (
        float(number) for number in re.findall(r"draw (\d+), θ = \(shift x (\S+), shift y (\S+)\)", text)[0]
    )
    image = image_set(f"npz:{things.folder}/images.npz").batch([white])
    nuisance = nuisances.build("translation:sigma=0.2")
    drawn = draw_theta(nuisance, image, torch.tensor([int(draw)]), stream_root(0, "translation"))
    assert drawn[0].tolist() == pytest.approx(theta, rel=1e-3)
    assert nuisance.apply(image, drawn).min() < 0.01
    assert len(things.unit_files("translation", name)) >= (5 if tolerance is None else 1), "finished units are not kept"


@pytest.mark.warned("is near chance on the untouched images", "has a mean confidence of")
def test_what_failed_for_a_reason_outside_its_files_resumes_from_the_finished_units(things, white, small_units):
    small_units(200)
    study = things.study("nan", nuisances=["translation:sigma=0.2"])
    with pytest.raises(Failure):
        run_study(study, out=things.out)
    done = len(things.unit_files("translation", "nan"))
    (things.folder / "mended").touch()
    things.rows()
    found = results(study, things.out)[0]
    assert things.rows() == things.CHECKED + 60 * 20 - done * 200
    assert found["images"] == 60


def test_an_error_inside_the_classifier_loses_nothing_finished(things, white, small_units):
    small_units(200)
    told = r"classifier 'fails' raised ZeroDivisionError: deep inside \(.*things\.py, line \d+\)"
    with pytest.raises(Failure, match=told):
        run_study(things.study("fails", nuisances=["translation:sigma=0.2"]), out=things.out)
    assert len(things.unit_files("translation", "fails")) >= 3


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_outputs_that_are_wrong_from_the_start_are_told_before_work_begins(things, wrong):
    with pytest.raises(Failure, match="gives NaN or infinite outputs"):
        measure(lambda images: torch.full((len(images), 3), wrong), f"npz:{things.folder}/images.npz", "affine")


def test_a_truncated_file_far_into_a_run_is_named_and_loses_nothing_finished(things, small_units, monkeypatch):
    small_units(20)
    monkeypatch.setattr("brittle.images.fingerprint.fingerprint", lambda images: str(len(images)))
    monkeypatch.setattr("brittle.images.folder.INSPECTED", 1)
    folder, random = things.folder / "photos", np.random.default_rng(0)
    folder.mkdir()
    for number in range(60):
        Image.fromarray(random.integers(0, 256, (8, 8), dtype=np.uint8)).save(folder / f"{number:02}.png")
    spec = f"folder:{folder}"
    broken = folder / image_set(spec).choose(None, 0).names[-1]
    whole = broken.read_bytes()
    broken.write_bytes(whole[:-40])
    study = things.study(images={"toy": spec}, nuisances=["translation:sigma=0.2"])
    with pytest.raises(BrittleError, match=f"the image {broken} can't be read") as error:
        run_study(study, out=things.out)
    assert error.value.exit_status == 2
    assert things.unit_files("translation")
    broken.write_bytes(whole)
    things.rows()
    assert results(study, things.out)[0]["images"] == 60
    assert things.rows() == things.CHECKED + 20 + 20 * 20


def test_labels_outside_the_classes_are_told_with_the_image(things):
    labels = np.zeros(60, int)
    labels[17] = 4
    things.write_images(labels=labels)
    with pytest.raises(
        BrittleError, match=r"index 17 of the image set .* has label 4, but the classifier 'first' knows 4 classes"
    ):
        run_study(things.study(), out=things.out)


def test_which_rows_do_not_come_from_a_distribution():
    def columns(*rows):
        return dict(zip(COLUMNS, np.array(rows, dtype=np.float32).T, strict=True))

    good = [np.log(0.3), np.log(0.7), 1, np.log(0.7), 1]
    hard = [0.0, -np.inf, 0, 0.0, 0]
    sure_of_another = [-np.inf, 0.0, 2, 0.0, 1]
    assert first_bad(columns(good, hard, sure_of_another)) is None
    for bad in ([np.nan] * 5, [-np.inf, -np.inf, 0, -np.inf, 0], [np.log(0.3), np.log(0.69), 1, np.log(0.69), 1]):
        found = first_bad(columns(good, hard, bad, bad))
        assert found is not None
        assert found.row == 2
