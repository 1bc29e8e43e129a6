"""ImageNet-C's folders and CIFAR-C's arrays: what is matched with the images at scale 0, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from cns_folder import write

import brittle
from brittle.errors import BrittleError
from brittle.images import image_set

CORRUPTIONS = ("fog", "jpeg_compression")
CLASSES = ("n01440764", "n01443537")
FILES = ("a_1.JPEG", "a_2.JPEG")
LEVEL = 3 / 255  # by which a JPEG of one colour may be off


def colour(corruption: str, severity: int, of_class: str, file: str) -> tuple[int, int, int]:
    return 60 * severity // 2, 90 * CLASSES.index(of_class) + 50 * FILES.index(file), 99 * CORRUPTIONS.index(corruption)


@pytest.fixture
def imagenet(tmp_path: Path) -> Path:
    """imagenet-c/ and val/."""
    for of_class in CLASSES:
        for file in FILES:
            write(tmp_path / "val" / of_class / file, (255, 0, 0), side=10)
            for corruption in CORRUPTIONS:
                for severity in (1, 2, 3, 4, 5):
                    path = tmp_path / "imagenet-c" / corruption / str(severity) / of_class / file
                    write(path, colour(corruption, severity, of_class, file))
    return tmp_path


def spec(root: Path, more: str = "") -> str:
    return f"imagenet-c:{root / 'imagenet-c'},clean=folder:{root / 'val'}\\,size=8\\,crop=8{more}"


def test_corrupted_images_are_matched_with_clean_ones_by_class_and_file(imagenet: Path) -> None:
    images, clean = image_set(spec(imagenet)), image_set(f"folder:{imagenet / 'val'},size=8,crop=8")
    assert sorted(images.shifts) == sorted(CORRUPTIONS)
    assert set(images.ids.tolist()) == set(clean.ids.tolist())
    assert images.notes == ()
    batch = images.batch(range(4))
    for name, shift in images.shifts.items():
        assert shift.scales == (1, 2, 3, 4, 5)
        for severity in (1, 2, 3, 4, 5):
            made = shift.apply(batch, torch.full((4, 1), float(severity)))
            for place, path in enumerate(images.names):
                wanted = torch.tensor(colour(name, severity, *path.split("/"))) / 255
                assert (made[place].mean((1, 2)) - wanted).abs().max() < LEVEL


def test_corrupted_images_are_not_resized(imagenet: Path) -> None:
    """What differs in size from its clean image is refused, not brought to it."""
    images = image_set(spec(imagenet).replace("size=8\\,crop=8", "size=10"))
    with pytest.raises(BrittleError, match="is 3×8×8 and the same image at scale 0 3×10×10"):
        images.shifts["fog"].check(images.shape)


def test_an_image_that_lacks_a_severity_or_its_clean_image_is_named(imagenet: Path) -> None:
    (imagenet / "imagenet-c" / "fog" / "3" / CLASSES[0] / FILES[0]).unlink()
    (imagenet / "val" / CLASSES[1] / FILES[1]).unlink()
    images = image_set(spec(imagenet))
    assert len(images) == 3
    assert images.notes == (
        "2 of 4 paths of the shift 'fog' are not followed, since images are missing: n01440764/a_1.JPEG (scale 3); "
        "n01443537/a_2.JPEG (scale 0)",
        "1 of 4 paths of the shift 'jpeg_compression' are not followed, since images are missing: n01443537/a_2.JPEG "
        "(scale 0)",
    )
    assert len(image_set(spec(imagenet, ",paths=all"))) == 2


def test_clean_images_of_other_classes_are_refused(imagenet: Path) -> None:
    (imagenet / "val").rename(imagenet / "old")
    write(imagenet / "val" / "tench" / FILES[0], (0, 0, 0))
    with pytest.raises(BrittleError, match=r"no image of 'imagenet-c' is one of 'val' by class and file name"):
        image_set(spec(imagenet))


def test_a_damaged_corrupted_image_costs_its_own_path_alone(imagenet: Path) -> None:
    (imagenet / "imagenet-c" / "fog" / "3" / CLASSES[0] / FILES[0]).write_bytes(b"not a picture")
    images = image_set(spec(imagenet, ",unreadable=skip"))
    assert images.skipped == (f"fog/3/{CLASSES[0]}/{FILES[0]}",)
    assert int(images.shifts["fog"].exists(images.ids.numpy()).sum()) == 3
    assert int(images.shifts["jpeg_compression"].exists(images.ids.numpy()).sum()) == 4


@pytest.fixture
def cifar(tmp_path: Path) -> Path:
    """cifar-c/ and clean.npz: six images, whose first pixel says which they are and at what severity."""
    rng = np.random.default_rng(0)
    clean = rng.integers(0, 255, (6, 4, 4, 3), dtype=np.uint8)
    labels = np.array([0, 1, 2, 2, 1, 0])
    (tmp_path / "cifar-c").mkdir()
    np.savez(tmp_path / "clean.npz", images=clean, labels=labels)
    for number, corruption in enumerate(CORRUPTIONS):
        moved = np.tile(clean, (5, 1, 1, 1))
        moved[:, 0, 0, 0] = np.arange(30) + 100 * number
        np.save(tmp_path / "cifar-c" / f"{corruption}.npy", moved)
    np.save(tmp_path / "cifar-c" / "labels.npy", np.tile(labels, 5))
    return tmp_path


def test_rows_of_cifar_c_are_severity_by_severity_in_the_order_of_the_clean_images(cifar: Path) -> None:
    images = image_set(f"cifar-c:{cifar / 'cifar-c'},clean=npz:{cifar / 'clean.npz'}")
    assert images.labels.tolist() == [0, 1, 2, 2, 1, 0]
    for number, corruption in enumerate(CORRUPTIONS):
        shift = images.shifts[corruption]
        assert shift.scales == (1, 2, 3, 4, 5)
        for severity in (1, 2, 3, 4, 5):
            batch = images.batch([4, 0, 3])
            made = shift.apply(batch, torch.full((3, 1), float(severity)))
            wanted = [6 * (severity - 1) + place + 100 * number for place in (4, 0, 3)]
            assert (made[:, 0, 0, 0] * 255).round().int().tolist() == wanted
            assert torch.equal(made[:, 1:], batch.images[:, 1:])


def test_clean_images_in_another_order_than_the_labels_are_refused(cifar: Path) -> None:
    with np.load(cifar / "clean.npz") as kept:
        np.savez(cifar / "clean.npz", images=kept["images"][::-1], labels=[2, 1, 0, 0, 1, 2])
    with pytest.raises(BrittleError, match=r"index 0 of clean has the label 2, and labels\.npy says 0 there"):
        image_set(f"cifar-c:{cifar / 'cifar-c'},clean=npz:{cifar / 'clean.npz'}")


def test_an_array_of_half_a_severity_is_refused(cifar: Path) -> None:
    np.save(cifar / "cifar-c" / "fog.npy", np.zeros((20, 4, 4, 3), np.uint8))
    with pytest.raises(BrittleError, match=r"fog\.npy has 20 images: not 5 severities of 6 images each"):
        image_set(f"cifar-c:{cifar / 'cifar-c'},clean=npz:{cifar / 'clean.npz'}")


def test_an_array_of_objects_is_refused(cifar: Path) -> None:
    np.save(cifar / "cifar-c" / "fog.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(BrittleError, match=r"fog\.npy can't be read"):
        image_set(f"cifar-c:{cifar / 'cifar-c'},clean=npz:{cifar / 'clean.npz'}")


def test_cifar_c_is_measured_as_a_study_names_it(cifar: Path) -> None:
    def weigh(images: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.one_hot((images[:, 0, 0, 0] * 255 // 100).long().clamp(0, 2), 3).float() * 9

    spec = f"cifar-c:{cifar / 'cifar-c'},clean=npz:{cifar / 'clean.npz'}"
    found = brittle.failure_points(brittle.classifier(weigh, output="logits", labels="a/b/c"), spec)
    # Under fog the first pixel is below 100, class 0; under the other from 100 to 129, class 1.
    accuracies = {row["nuisance"]: {each["accuracy"] for each in row["severities"][1:]} for row in found["results"]}
    assert accuracies == {"fog": {2 / 6}, "jpeg_compression": {2 / 6}}
    fallen = {row["image"] for row in found.rows.to_pylist() if row["rank"] == 0 and row["nuisance"] == "fog"}
    assert fallen == {0, 5}
