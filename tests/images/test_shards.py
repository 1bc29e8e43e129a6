"""webdataset's shards, made on the spot by webdataset itself, and read beside it."""

from __future__ import annotations

import gzip
import io
import json
import shutil
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import brittle
from brittle.errors import BrittleError
from brittle.images import image_set
from brittle.images.base import ImageSet

webdataset = pytest.importorskip("webdataset")
COUNT = 30


def pixels(place: int, *, colour: bool = True) -> np.ndarray[Any, Any]:
    return np.random.default_rng(place).integers(0, 256, (28, 28, 3) if colour else (28, 28), dtype=np.uint8)


def write(file: Path, places: range, **parts: Any) -> None:
    with webdataset.TarWriter(str(file)) as sink:
        for place in places:
            sample = {"png": pixels(place), "cls": place % 10} if not parts else {}
            sink.write({"__key__": f"{place:06d}", **sample, **{k: part(place) for k, part in parts.items()}})


@pytest.fixture
def shards(tmp_path: Path) -> str:
    for number in range(3):
        write(tmp_path / f"photos-{number:03d}.tar", range(number * 10, number * 10 + 10))
    return f"{tmp_path}/photos-{{000..002}}.tar"


def test_shards_hold_what_webdataset_reads_from_them(shards: str) -> None:
    found = image_set(f"shards:{shards}")
    theirs = list(webdataset.WebDataset(shards, shardshuffle=False).decode("rgb8").to_tuple("png", "cls"))
    assert len(found) == len(theirs) == COUNT
    read = found.batch(range(COUNT))
    for place, (image, label) in enumerate(theirs):
        assert torch.equal((read.images[place] * 255).round().byte(), torch.from_numpy(image.copy()).permute(2, 0, 1))
        assert read.labels[place] == label
    assert found.names[11] == "photos-001.tar/000011"


@pytest.mark.parametrize("form", ["photos-*.tar", "photos-{000..002}.tar", ""])
def test_a_pattern_a_range_and_a_folder_name_the_same_shards(shards: str, tmp_path: Path, form: str) -> None:
    found = image_set(f"shards:{tmp_path}/{form}")
    assert torch.equal(found.ids, image_set(f"shards:{shards}").ids)


def test_ids_follow_shard_and_key_and_not_the_place(shards: str, tmp_path: Path) -> None:
    whole, one = image_set(f"shards:{shards}"), image_set(f"shards:{tmp_path}/photos-001.tar")
    assert torch.equal(whole.ids[10:20], one.ids)


def test_images_are_read_in_any_order_and_none_are_held(shards: str) -> None:
    found = image_set(f"shards:{shards}")
    part = found.choose(7, seed=3)
    assert list(part.names) == [found.names[int((found.ids == each).nonzero())] for each in part.ids]
    there = part.batch([6, 0]).images
    for image, name in zip(there, (part.names[6], part.names[0]), strict=True):
        assert np.array_equal((image * 255).round().byte().permute(1, 2, 0).numpy(), pixels(int(name[-6:])))


@pytest.mark.parametrize(
    ("parts", "labels", "classes"),
    [
        ({"json": lambda place: {"label": place % 3, "caption": "x"}}, [0, 1, 2, 0], ()),
        ({"json": lambda place: {"class": "ab"[place % 2]}}, [0, 1, 0, 1], ("a", "b")),
        ({"cls": lambda place: b"ba"[place % 2 : place % 2 + 1]}, [1, 0, 1, 0], ("a", "b")),
        ({"txt": lambda place: "a caption"}, [-1, -1, -1, -1], ()),
    ],
)
def test_labels_may_be_json_words_or_absent(
    parts: dict[str, Any], labels: list[int], classes: tuple[str, ...], tmp_path: Path
) -> None:
    write(tmp_path / "a.tar", range(4), png=pixels, **parts)
    found = image_set(f"shards:{tmp_path}/a.tar")
    assert (found.labels.tolist(), found.classes) == (labels, classes)


def test_options_choose_image_and_label_and_size_as_for_folders(tmp_path: Path) -> None:
    grey = {"left.png": lambda place: pixels(place, colour=False), "grade": lambda place: str(place).encode()}
    write(tmp_path / "a.tar", range(4), png=pixels, **grey)
    found = image_set(f"shards:{tmp_path}/a.tar,image=left.png,label=grade,size=14,crop=12,classes=a/b/c/d")
    assert (found.shape, found.labels.tolist(), found.classes) == ((1, 12, 12), [0, 1, 2, 3], ("a", "b", "c", "d"))
    with pytest.raises(BrittleError, match=r"a.tar/000000 has no 'grad'. Did you mean 'grade'"):
        image_set(f"shards:{tmp_path}/a.tar,image=left.png,label=grad")


def test_damaged_compressed_and_missing_shards_are_named(shards: str, tmp_path: Path) -> None:
    file = tmp_path / "photos-000.tar"
    (tmp_path / "cut.tar").write_bytes(file.read_bytes()[:5000])
    with gzip.open(tmp_path / "packed.tar.gz", "wb") as packed, file.open("rb") as plain:
        shutil.copyfileobj(plain, packed)
    (tmp_path / "words.tar").write_text("no tar file at all")
    for name, said in {
        "cut.tar": "cut.tar can't be read as a tar file",
        "packed.tar.gz": "packed.tar.gz is not a .tar file. Unpack compressed shards first",
        "words.tar": "words.tar can't be read as a tar file",
        "photos-{000..009}.tar": "there is no file .*photos-003.tar",
        "none-*.tar": "there is no file",
    }.items():
        with pytest.raises(BrittleError, match=said):
            image_set(f"shards:{tmp_path}/{name}")


def test_a_damaged_image_is_named_by_shard_and_key(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        for name, content in (("0.png", b"no image"), ("0.cls", b"1")):
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    with pytest.raises(BrittleError, match=r"the image a.tar/0 can't be read: not an image format"):
        image_set(f"shards:{tmp_path}/a.tar")


def test_a_label_that_is_none_is_named(tmp_path: Path) -> None:
    write(tmp_path / "a.tar", range(2), png=pixels, json=lambda place: json.dumps([place]).encode())
    with pytest.raises(BrittleError, match=r"a.tar/000000.json holds no label"):
        image_set(f"shards:{tmp_path}/a.tar")


@pytest.mark.warned("is near chance on the untouched images", "has a mean confidence of")
def test_a_shard_is_measured_alike_by_name_and_live(tmp_path: Path) -> None:
    write(tmp_path / "a.tar", range(12), png=lambda place: pixels(place, colour=False), cls=lambda place: place % 10)
    live = webdataset.WebDataset(f"{tmp_path}/a.tar", shardshuffle=False).decode("l8").to_tuple("png", "cls")
    named: ImageSet = image_set(f"shards:{tmp_path}/a.tar")
    ids = named.ids.tolist()
    pairs = [(np.asarray(image), label) for image, label in live]
    found = [
        brittle.measure("bundled:plain", images, nuisances="brightness", samples=5)["rho"]
        for images in (named, image_set(pairs, ids=ids))
    ]
    assert found[0] == found[1]
    assert torch.equal(image_set(live).batch(range(12)).images, named.batch(range(12)).images)
