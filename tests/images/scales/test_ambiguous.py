"""Stored images of which it is not certain which is which: refused, and both that compete are named."""

from __future__ import annotations

import io
import json
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
from cns_folder import make, relative, write
from PIL import Image

from brittle.errors import BrittleError
from brittle.images import image_set

SEVERITIES = range(1, 6)
LABELS = np.array([0, 1, 2, 2, 1, 0])


@pytest.fixture
def cifar(tmp_path: Path) -> Path:
    """c/fog.npy and c/labels.npy: six images at five severities; clean.npz."""
    pixels = np.random.default_rng(0).integers(0, 255, (6, 4, 4, 3), dtype=np.uint8)
    (tmp_path / "c").mkdir()
    np.save(tmp_path / "c" / "fog.npy", np.tile(pixels, (5, 1, 1, 1)))
    np.save(tmp_path / "c" / "labels.npy", np.tile(LABELS, 5))
    np.savez(tmp_path / "clean.npz", images=pixels, labels=LABELS)
    return tmp_path


def of(root: Path, more: str = "") -> str:
    return f"cifar-c:{root / 'c'},clean=npz:{root / 'clean.npz'}{more}"


def fewer(root: Path, count: int) -> None:
    with np.load(root / "clean.npz") as kept:
        np.savez(root / "clean.npz", images=kept["images"][:count], labels=kept["labels"][:count])


def test_a_clean_set_of_fewer_images_makes_no_further_severities(cifar: Path) -> None:
    """Five severities of six images are not ten of three."""
    fewer(cifar, 3)
    with pytest.raises(BrittleError, match=r"fog\.npy has 30 images: not 5 severities of 3 images.*severities=10"):
        image_set(of(cifar))


def test_one_severity_is_not_taken_for_five_of_a_fifth_of_the_images(cifar: Path) -> None:
    pixels = np.zeros((30, 4, 4, 3), np.uint8)
    np.save(cifar / "c" / "fog.npy", pixels)
    labels = np.random.default_rng(1).integers(0, 3, 30)
    np.save(cifar / "c" / "labels.npy", labels)
    np.savez(cifar / "clean.npz", images=pixels[:6], labels=labels[:6])
    with pytest.raises(BrittleError, match=r"labels\.npy gives image \d another label at severity 2 than at 1"):
        image_set(of(cifar))


@pytest.mark.parametrize("labelled", [True, False])
def test_labels_are_compared_at_every_severity(cifar: Path, labelled: bool) -> None:
    labels = np.tile(LABELS, 5)
    labels[6 * 3 + 4] = 2
    np.save(cifar / "c" / "labels.npy", labels)
    if not labelled:
        with np.load(cifar / "clean.npz") as kept:
            np.savez(cifar / "clean.npz", images=kept["images"])
    with pytest.raises(BrittleError, match=r"labels\.npy gives image 4 another label at severity 4 than at 1"):
        image_set(of(cifar))


@pytest.mark.parametrize("count", [3, 12, 31])
def test_labels_for_another_number_of_images_are_refused(cifar: Path, count: int) -> None:
    np.save(cifar / "c" / "labels.npy", np.resize(LABELS, count))
    with pytest.raises(BrittleError, match=rf"labels\.npy has {count} labels for 5 times 6 images"):
        image_set(of(cifar))


def test_labels_may_be_given_once(cifar: Path) -> None:
    np.save(cifar / "c" / "labels.npy", LABELS)
    assert image_set(of(cifar)).labels.tolist() == LABELS.tolist()


def test_the_number_of_severities_is_what_it_is_said_to_be(cifar: Path) -> None:
    np.save(cifar / "c" / "fog.npy", np.zeros((12, 4, 4, 3), np.uint8))
    np.save(cifar / "c" / "labels.npy", np.tile(LABELS, 2))
    with pytest.raises(BrittleError, match="severities=2"):
        image_set(of(cifar))
    assert image_set(of(cifar, ",severities=2")).shifts["fog"].scales == (1.0, 2.0)


@pytest.fixture
def imagenet(tmp_path: Path) -> Path:
    """c/fog at five severities, and val/."""
    for of_class in ("n01", "n02"):
        for file in ("a.png", "b.png"):
            write(tmp_path / "val" / of_class / file, (9, 9, 9))
            for severity in SEVERITIES:
                write(tmp_path / "c" / "fog" / str(severity) / of_class / file, (9, severity, 9))
    return tmp_path


def folders(root: Path) -> str:
    return f"imagenet-c:{root / 'c'},clean=folder:{root / 'val'}"


def test_two_clean_images_of_one_class_and_name_are_refused(imagenet: Path) -> None:
    write(imagenet / "val" / "n02" / "more" / "a.png", (0, 0, 0))
    with pytest.raises(BrittleError, match=r"n02/a\.png and n02/more/a\.png of 'val' are both n02/a\.png"):
        image_set(folders(imagenet))


def test_a_clean_image_twice_that_nothing_was_made_from_does_no_harm(imagenet: Path) -> None:
    for folder in ("n01", "n01/more"):
        write(imagenet / "val" / folder / "other.png", (0, 0, 0))
    assert len(image_set(folders(imagenet))) == 4


@pytest.mark.parametrize("again", ["01", "001", "１"])
def test_two_folders_of_one_severity_are_refused(imagenet: Path, again: str) -> None:
    write(imagenet / "c" / "fog" / again / "n02" / "b.png", (0, 0, 0))
    both = {f"fog/{name}/n02/b.png" for name in ("1", again)}
    with pytest.raises(BrittleError, match=r"are both n02/b\.png of the shift 'fog' at severity 1") as refused:
        image_set(folders(imagenet))
    assert all(name in refused.value.what for name in both)


def test_scale_0_of_two_shifts_must_be_one_picture(tmp_path: Path) -> None:
    root = make(tmp_path / "cns")
    write(root / relative("painting_style", 4, 34, 0.0), (0, 255, 0))
    first, second = (relative(shift, 4, 34, 0.0) for shift in ("heavy_snow", "painting_style"))
    with pytest.raises(BrittleError) as refused:
        image_set(f"cns:{root}")
    assert f"{first} and {second} are both 004_hammerhead/seed_0034 at scale 0 and differ" in refused.value.what


def test_an_image_that_annotations_list_with_two_classes_is_refused(tmp_path: Path) -> None:
    root = make(tmp_path / "cns", annotations=True)
    file = root / "annotations_cns.json"
    told = json.loads(file.read_text())
    told["images"].append(told["images"][0] | {"class": 4})
    file.write_text(json.dumps(told))
    with pytest.raises(BrittleError, match=r"lists heavy_snow/001_goldfish/seed_0003_scale_0000\.jpg as 1 and as 4"):
        image_set(f"cns:{root}")


def table(root: Path, rows: list[str]) -> str:
    write(root / "x.png", (1, 2, 3))
    write(root / "y.png", (1, 2, 3))
    (root / "pictures.csv").write_text("\n".join(["path,class,shift,scale,seed", *rows]))
    return f"scales:{root / 'pictures.csv'}"


def test_classes_and_seeds_that_read_alike_are_not_one_image(tmp_path: Path) -> None:
    rows = ["x.png,a/b,,0,c", "y.png,a,fog,1,b/c"]
    with pytest.raises(BrittleError, match="class 'a', seed 'b/c' and class 'a/b', seed 'c' are both called a/b/c"):
        image_set(table(tmp_path, rows))


def test_a_file_that_a_table_gives_two_classes_is_refused(tmp_path: Path) -> None:
    rows = ["x.png,cat,,0,1", "y.png,cat,fog,1,1", "x.png,dog,,0,1", "y.png,dog,fog,1,1"]
    with pytest.raises(BrittleError, match=r"x\.png is of class 'cat' and of class 'dog'"):
        image_set(table(tmp_path, rows))


@pytest.mark.parametrize("scales", [("0.00005",), ("1", "1.00005")])
def test_scales_too_close_to_be_told_apart_are_refused(tmp_path: Path, scales: tuple[str, ...]) -> None:
    rows = ["x.png,cat,,0,1", *(f"y.png,cat,fog,{scale},1" for scale in scales)]
    with pytest.raises(BrittleError, match=r"the shift 'fog' has images at scale .* too close"):
        image_set(table(tmp_path, rows))


def shard(root: Path, members: list[tuple[str, bytes]]) -> str:
    with tarfile.open(root / "s.tar", "w") as archive:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return f"shards:{root / 's.tar'}"


def picture(shade: int) -> bytes:
    to = io.BytesIO()
    Image.fromarray(np.full((4, 4), shade, np.uint8)).save(to, "PNG")
    return to.getvalue()


@pytest.mark.parametrize(
    ("members", "told"),
    [
        ([("0.png", picture(1)), ("0.png", picture(2)), ("0.cls", b"0")], r"s\.tar/0 has two images, png and png"),
        ([("0.jpg", picture(1)), ("0.png", picture(2)), ("0.cls", b"0")], r"s\.tar/0 has two images, jpg and png"),
        ([("0.png", picture(1)), ("0.cls", b"0"), ("0.cls", b"1")], r"s\.tar/0 has two labels, cls and cls"),
        (
            [("0.png", picture(1)), ("1.png", picture(2)), ("0.png", picture(3))],
            r"occurs twice \(s\.tar/0 and",
        ),
    ],
)
def test_a_sample_of_a_shard_has_one_image_and_one_label(tmp_path: Path, members: list, told: str) -> None:
    with pytest.raises(BrittleError, match=told):
        image_set(shard(tmp_path, members))


def test_the_image_of_a_sample_can_be_named(tmp_path: Path) -> None:
    spec = shard(tmp_path, [("0.jpg", picture(51)), ("0.png", picture(102)), ("0.cls", b"0"), ("0.json", b"1")])
    assert float(image_set(f"{spec},image=png").batch([0]).images.max()) == pytest.approx(0.4)


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("name", ["labels.npy", "labels"])
def test_an_npz_file_with_two_arrays_of_one_name_is_refused(tmp_path: Path, name: str) -> None:
    np.savez(tmp_path / "a.npz", images=np.zeros((2, 4, 4), np.uint8), labels=[0, 1])
    to = io.BytesIO()
    np.save(to, np.array([1, 0]))
    with zipfile.ZipFile(tmp_path / "a.npz", "a") as archive:
        archive.writestr(name, to.getvalue())
    with pytest.raises(BrittleError, match="two arrays called 'labels'"):
        image_set(f"npz:{tmp_path / 'a.npz'}")
