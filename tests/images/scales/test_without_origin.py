"""Image sets in scales that have no images at scale 0: what is measured all the same, by hand, and what is left out.

Two classes of three grey pictures each, 40 + 8 n and 200 + 8 n of 255; severity s adds 20 s. `bright` says class 1
above 102, and so loses the dark pictures n = 0, 1 and 2 from s = 4, 3 and 3 on: of six, 0, 0, 2, 3 and 3 are wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from cns_folder import write
from PIL import Image
from torch import Tensor

import brittle
from brittle.errors import BrittleError
from brittle.images import image_set
from brittle.report.html import write_report
from brittle.statistics.corruption_error import ALEXNET
from brittle.training.data import TrainingImages

pytestmark = pytest.mark.warned("has no images at scale 0", "published errors of ImageNet-C")

SHADES = {"n01": 40, "n02": 200}
WRONG = [0, 0, 2, 3, 3]
FIRST = [0, 0, 2, 1, 0]
KEYS = ("value", "accuracy", "accuracy_interval", "failed", "first_failures", "wrong", "ece", "nll", "aurc", "falls")


def level(of_class: str, number: int, severity: int) -> int:
    return min(255, SHADES[of_class] + 8 * number + 20 * severity)


@pytest.fixture
def imagenet(tmp_path: Path) -> Path:
    """c/, in ImageNet-C's layout, and val/."""
    for of_class in SHADES:
        for number in range(3):
            write(tmp_path / "val" / of_class / f"{number}.png", (level(of_class, number, 0),) * 3)
            for corruption in ("fog", "snow"):
                for severity in range(1, 6):
                    path = tmp_path / "c" / corruption / str(severity) / of_class / f"{number}.png"
                    write(path, (level(of_class, number, severity),) * 3)
    return tmp_path


@pytest.fixture
def cifar(tmp_path: Path) -> Path:
    """The same as arrays."""
    (tmp_path / "cifar").mkdir()
    pixels = [
        np.full((4, 4, 3), level(of_class, number, severity), np.uint8)
        for severity in range(6)
        for of_class in SHADES
        for number in range(3)
    ]
    np.save(tmp_path / "cifar" / "fog.npy", np.stack(pixels[6:]))
    np.save(tmp_path / "cifar" / "labels.npy", np.tile([0, 0, 0, 1, 1, 1], 5))
    np.savez(tmp_path / "clean.npz", images=np.stack(pixels[:6]), labels=[0, 0, 0, 1, 1, 1])
    return tmp_path


def above(threshold: float) -> Callable[[Tensor], Tensor]:
    def said(images: Tensor) -> Tensor:
        light = images.mean((1, 2, 3)) > threshold
        return 8 * torch.nn.functional.one_hot(light.long(), 2).float()

    return said


bright = above(0.4)


def of(root: Path, more: str = "") -> str:
    return f"imagenet-c:{root / 'c'}{more}"


def cifar_of(root: Path, more: str = "") -> str:
    return f"cifar-c:{root / 'cifar'}{more}"


SETS = pytest.mark.parametrize(
    ("layout", "spec", "clean"),
    [
        ("imagenet", of, lambda root: f",clean=folder:{root / 'val'}"),
        ("cifar", cifar_of, lambda root: f",clean=npz:{root / 'clean.npz'}"),
    ],
)


@SETS
def test_ids_and_labels_are_those_of_the_clean_images(
    request: pytest.FixtureRequest, layout: str, spec: Any, clean: Any
) -> None:
    root = request.getfixturevalue(layout)
    without, whole = image_set(spec(root)), image_set(spec(root, clean(root)))
    assert (without.origin, whole.origin) == (False, True)
    assert dict(zip(without.ids.tolist(), without.labels.tolist(), strict=True)) == dict(
        zip(whole.ids.tolist(), whole.labels.tolist(), strict=True)
    )
    (note,) = without.notes
    assert "has no images at scale 0, so drops, rCE, rankings by drop" in note
    assert "clean=SPEC gives them" in note


@SETS
def test_what_is_said_above_scale_0_needs_no_clean_images(
    request: pytest.FixtureRequest, layout: str, spec: Any, clean: Any
) -> None:
    """All images are right at 0 here, so that first failures are the same too."""
    root = request.getfixturevalue(layout)
    without = brittle.failure_points(bright, spec(root))["results"][0]
    whole = brittle.failure_points(bright, spec(root, clean(root)))["results"][0]
    assert [entry["value"] for entry in without["severities"]] == [1, 2, 3, 4, 5]
    for own, other in zip(without["severities"], whole["severities"][1:], strict=True):
        assert {key: own[key] for key in KEYS} == {key: other[key] for key in KEYS}
        assert (own["drop"], own["drop_interval"]) == (None, None)
    for key in ("mean", "mean_interval", "median", "never", "recovered", "calls", "falls"):
        assert without[key] == whole[key]


def test_failures_by_hand(imagenet: Path) -> None:
    found = brittle.failure_points(bright, of(imagenet)).of(nuisance="fog")
    entries = found["severities"]
    assert [entry["accuracy"] for entry in entries] == pytest.approx([1 - each / 6 for each in WRONG])
    assert [entry["wrong"] for entry in entries] == WRONG
    assert [entry["first_failures"] for entry in entries] == FIRST
    assert (found["wrong_at_0"], found["correct"], found["never"]) == (None, None, 0.5)
    assert found["mean"] == pytest.approx((3 + 3 + 4 + 5 + 5 + 5) / 6)
    assert [row["accuracy"] for row in found["classes"]] == [[1, 1, 0.3333, 0, 0], [1, 1, 1, 1, 1]]
    assert found.summary["measures"]["failure-points"]["pooled"] == []
    assert found.summary["measures"]["failure-points"]["interference"] == []


def test_labels_fallen_into_have_the_names_of_the_classes_where_a_classifier_has_none(imagenet: Path) -> None:
    found = brittle.failure_points(bright, of(imagenet)).of(nuisance="fog")
    assert [(each["label"], each["paths"]) for each in found["falls"]] == [("n02", 3)]
    assert "failures most often fall into n02" in str(found)


def test_an_image_that_is_wrong_from_the_start_fails_at_the_first_severity(imagenet: Path) -> None:
    """Above 56 of 255, so that the dark picture 40 + 20 is wrong at 1, and those of 48 and 56 as well."""
    found = brittle.failure_points(above(56 / 255), of(imagenet)).of(nuisance="fog")
    assert [entry["first_failures"] for entry in found["severities"]] == [3, 0, 0, 0, 0]
    assert found["mean"] == pytest.approx((1 + 1 + 1 + 5 + 5 + 5) / 6)


def test_paths_that_end_at_their_first_failure_find_the_same(imagenet: Path) -> None:
    found = brittle.failure_points(bright, of(imagenet), only="first").of(nuisance="fog")
    assert [entry["first_failures"] for entry in found["severities"]] == FIRST
    assert {entry["accuracy"] for entry in found["severities"]} == {None}
    assert found["calls_saved"] == 2 + 2 + 1
    assert [row["failed"] for row in found["classes"]] == [[0, 0, 0.6667, 1, 1], [0, 0, 0, 0, 0]]


def test_differences_are_paired_over_all_images(imagenet: Path) -> None:
    """`dim` loses the dark pictures at 1, 1 and 1; `bright` at 4, 3 and 3; neither loses the others."""
    found = brittle.failure_points({"bright": bright, "dim": above(56 / 255)}, of(imagenet, ",shifts=fog"))
    (pair,) = found.summary["measures"]["failure-points"]["comparisons"]
    assert (pair["images"], pair["drop_difference"]) == (6, None)
    assert pair["difference"] == pytest.approx((3 + 2 + 2) / 6)
    assert "paired over all 6 images" in str(found)


def test_ce_and_mce_without_rce(imagenet: Path) -> None:
    found = brittle.corruption_error({"bright": bright}, of(imagenet), reference="imagenet-c:alexnet", resamples=100)
    error = sum(WRONG) / 6 / 5
    assert found["mce"] == pytest.approx(np.mean([error / ALEXNET[name] for name in ("fog", "snow")]))
    for shift in found["shifts"]:
        assert shift["ce"] == pytest.approx(error / ALEXNET[shift["nuisance"]])
        assert (shift["rce"], shift["rce_interval"], shift["error_clean"]) == (None, None, None)
        assert shift["errors"] == pytest.approx(np.array(WRONG) / 6)
    assert (found["mean_rce"], found["drop_over_images"]) == (None, None)
    assert not any("does not drop" in text for text in found["warnings"])
    assert "– without images at scale 0" in str(found)


def test_alexnets_published_errors_are_for_imagenet_cs_layout_alone(cifar: Path) -> None:
    with pytest.raises(BrittleError, match="not one of ImageNet-C's"):
        brittle.corruption_error({"bright": bright}, cifar_of(cifar), reference="imagenet-c:alexnet")
    found = brittle.corruption_error({"bright": bright, "dim": above(56 / 255)}, cifar_of(cifar), reference="dim")
    assert found.of("bright")["mce"] == pytest.approx(sum(WRONG) / 15)


def test_rankings_are_by_accuracy_alone(imagenet: Path) -> None:
    found = brittle.ranking({"bright": bright, "dim": above(56 / 255)}, of(imagenet))
    assert [(row["nuisance"], row["by"]) for row in found["results"]] == [("fog", "accuracy"), ("snow", "accuracy")]
    first = found.of(nuisance="fog")
    assert first["severities"] == [1, 2, 3, 4, 5]
    values = {row["classifier"]: row["values"] for row in first["classifiers"]}
    assert values["bright"] == pytest.approx([1 - each / 6 for each in WRONG], abs=1e-6)
    assert values["dim"] == [0.5] * 5
    with pytest.raises(BrittleError, match="nothing is ranked by drop"):
        found.ranks(by="drop")


def test_a_line_takes_accuracy_without_a_shift_from_another_set_or_is_refused(imagenet: Path) -> None:
    """Of six pictures a threshold of 44 loses two dark ones, 52 one, 102 none, 204 one light one, and 212 two."""
    classifiers = {f"at{each}": above(each / 255) for each in (44, 52, 102, 204, 212)}
    with pytest.raises(BrittleError, match="c' has no images at scale 0 to take accuracy without a shift from"):
        brittle.line(classifiers, of(imagenet))
    with pytest.raises(BrittleError, match=r"other-' has no images at scale 0 to take accuracy without a shift from"):
        brittle.line(classifiers, of(imagenet), id=of(imagenet, ",prefix=other-"))
    found = brittle.line(classifiers, of(imagenet), id=f"folder:{imagenet / 'val'}")
    assert found["identical"] == f"clean accuracy on folder:{imagenet / 'val'}"
    assert [point["accuracy"] for point in found["points"]] == pytest.approx([4 / 6, 5 / 6, 1, 5 / 6, 4 / 6])
    assert found["points"][2]["accuracy_shifted"] == pytest.approx(1 - sum(WRONG) / 30)


def test_a_set_that_no_nuisance_is_for_is_named(imagenet: Path) -> None:
    study = {
        "classifiers": {"plain": "bundled:plain"},
        "images": {"c": of(imagenet), "val": f"folder:{imagenet / 'val'}"},
        "failure-points": {},
    }
    with pytest.raises(BrittleError, match="'failure-points' needs a nuisance for 'val', and none is named"):
        brittle.run(study)


def test_measures_that_need_untouched_images_are_refused(imagenet: Path) -> None:
    with pytest.raises(BrittleError, match=r"no images at scale 0, and the measure 'robustness' needs them"):
        brittle.compare({"bright": bright}, of(imagenet), samples=2)
    with pytest.raises(BrittleError, match=r"no images at scale 0 that 'noise' could change"):
        brittle.failure_points(bright, of(imagenet), "noise")
    with pytest.raises(BrittleError, match="and the measure 'breaking-points' needs them"):
        brittle.breaking_points(bright, of(imagenet))
    with pytest.raises(BrittleError, match="Train and test on untouched images"):
        TrainingImages(image_set(of(imagenet)))


def test_clean_images_that_are_not_at_scale_0_either_are_refused(imagenet: Path, cifar: Path) -> None:
    with pytest.raises(BrittleError, match="has no images at scale 0 itself"):
        image_set(of(imagenet, f",clean=cifar-c:{cifar / 'cifar'}"))


def test_missing_severities_are_named_and_scale_0_is_not_among_them(imagenet: Path) -> None:
    (imagenet / "c" / "fog" / "3" / "n01" / "0.png").unlink()
    images = image_set(of(imagenet))
    assert images.notes[1:] == (
        "1 of 6 paths of the shift 'fog' are not followed, since images are missing: n01/0.png (scale 3)",
    )
    assert len(images) == 6
    assert len(image_set(of(imagenet, ",paths=all"))) == 5


def test_labels_do_not_depend_on_which_shifts_are_chosen(imagenet: Path) -> None:
    for severity in range(1, 6):
        write(imagenet / "c" / "frost" / str(severity) / "n00" / "0.png", (0, 0, 0))
    images = image_set(of(imagenet, ",shifts=fog"))
    assert images.classes == ("n00", "n01", "n02")
    assert images.labels.tolist() == [1, 1, 1, 2, 2, 2]


def test_images_of_another_size_at_another_scale_are_refused(imagenet: Path) -> None:
    write(imagenet / "c" / "fog" / "3" / "n01" / "0.png", (0, 0, 0), side=9)
    with pytest.raises(BrittleError, match=r"fog/3/n01/0\.png is 3×9×9 and the same image at another scale 3×8×8"):
        brittle.failure_points(bright, of(imagenet))


@pytest.mark.parametrize(
    ("labels", "more", "why"),
    [
        (np.tile([0, 0, 0, 1, 1, 1], 5), ",severities=4", "30 images: not 4 severities of the same"),
        (np.tile([0, 0, 0, 1, 1, 1], 5), ",severities=2", "gives image 0 another label at severity 2 than at 1"),
        (np.zeros(7, int), "", "has 7 labels for 5 times 6 images"),
    ],
)
def test_labels_that_do_not_fit_are_refused(cifar: Path, labels: Any, more: str, why: str) -> None:
    np.save(cifar / "cifar" / "labels.npy", labels)
    with pytest.raises(BrittleError, match=why):
        image_set(cifar_of(cifar, more))


def test_arrays_without_labels_are_refused(cifar: Path) -> None:
    (cifar / "cifar" / "labels.npy").unlink()
    with pytest.raises(BrittleError, match=r"has no labels\.npy, so its images have no labels"):
        image_set(cifar_of(cifar))


def test_labels_may_be_given_once_and_classes_may_have_names(cifar: Path) -> None:
    np.save(cifar / "cifar" / "labels.npy", [0, 0, 0, 1, 1, 1])
    images = image_set(cifar_of(cifar, ",classes=dark/light"))
    assert images.labels.tolist() == [0, 0, 0, 1, 1, 1]
    assert images.classes == ("dark", "light")


def test_a_table_without_rows_at_scale_0_is_measured_from_its_first_scale_on(tmp_path: Path) -> None:
    rows = ["path,class,shift,scale,seed"]
    for of_class, label in (("n01", 0), ("n02", 1)):
        for severity in range(1, 6):
            write(tmp_path / f"{of_class}-{severity}.png", (level(of_class, 0, severity),) * 3)
            rows.append(f"{of_class}-{severity}.png,{label},fog,{severity},0")
    (tmp_path / "t.csv").write_text("\n".join(rows))
    found = brittle.failure_points(bright, f"scales:{tmp_path / 't.csv'}")
    assert [entry["wrong"] for entry in found["severities"]] == [0, 0, 0, 1, 1]
    assert any("add such images to get them" in text for text in found["warnings"])


@pytest.mark.warned("by number")
def test_the_page_says_what_is_left_out(imagenet: Path, tmp_path: Path) -> None:
    study = {
        "classifiers": {"plain": "bundled:plain", "other": "bundled:augmented"},
        "images": {"c": of(imagenet, ",shifts=fog"), "sample": {"spec": "sample", "count": 3}},
        "clean": {},
        "failure-points": {"images": ["c"]},
        "corruption-error": {"images": ["c"], "resamples": 100},
        "ranking": {"images": ["c"]},
    }
    for file in (imagenet / "c").rglob("*.png"):
        Image.fromarray(np.full((28, 28), 90, np.uint8)).save(file)
    summary = brittle.run(study, out=tmp_path / "run")
    assert {row["image_set"] for row in summary["measures"]["clean"]["results"]} == {"sample"}
    page = write_report(tmp_path / "run").read_text()
    assert "has no images at scale 0, so drops, rCE" in page
    assert "Nothing is ranked by drop, since there are no images at scale 0." in page
    assert "over all images, since none are stored at 0" in page
    assert "wrong at 0</th>" not in page
    assert brittle.run(study, out=tmp_path / "run")["measures"] == summary["measures"]


def test_rows_of_stored_images_have_a_severity_and_no_theta(imagenet: Path) -> None:
    found = brittle.rows(brittle.failure_points(bright, of(imagenet)))
    assert "severity" in found.column_names
    assert not [name for name in found.column_names if name.startswith("theta")]
