"""idx and npz files, whole and damaged."""

import gzip
import struct

import numpy as np
import pytest
import torch

from brittle.errors import BrittleError
from brittle.images import image_set
from brittle.images.idx import read_idx

IMAGES = bytes([0, 0, 8, 3]) + struct.pack(">III", 2, 2, 3) + bytes([0, 51, 102, 153, 204, 255, 255, 0, 0, 0, 0, 0])
LABELS = bytes([0, 0, 8, 1]) + struct.pack(">I", 2) + bytes([1, 0])


@pytest.fixture
def idx(tmp_path):
    """Writes bytes and gives back the path."""

    def write(name, data, zipped=False):
        (tmp_path / name).write_bytes(gzip.compress(data, mtime=0) if zipped else data)
        return str(tmp_path / name)

    return write


@pytest.mark.parametrize("zipped", [True, False])
def test_idx_files_are_read_as_their_bytes_say(idx, zipped):
    whole = image_set(f"idx:{idx('images', IMAGES, zipped)},labels={idx('labels', LABELS, zipped)},classes=bag/coat")
    batch = whole.batch([0, 1])
    assert torch.allclose(batch.images[0, 0], torch.tensor([[0.0, 0.2, 0.4], [0.6, 0.8, 1.0]]))
    assert batch.labels.tolist() == [1, 0]
    assert batch.ids.tolist() == [0, 1]
    assert list(whole.columns["class"]) == ["coat", "bag"]


def test_class_names_come_from_a_file_or_from_python(idx, tmp_path):
    images, labels = idx("images", IMAGES), idx("labels", LABELS)
    (tmp_path / "names.txt").write_text("T-shirt/top\ncoat\n")
    names = ("T-shirt/top", "coat")
    assert image_set(f"idx:{images}", labels=labels, classes=str(tmp_path / "names.txt")).classes == names
    assert image_set(f"idx:{images}", labels=labels, classes=names).classes == names
    with pytest.raises(BrittleError, match="there is no such file"):
        image_set(f"idx:{images}", labels=labels, classes="nmes.txt")


def test_big_endian_idx_numbers_are_read(idx):
    data = bytes([0, 0, 0x0C, 1]) + struct.pack(">I", 3) + struct.pack(">iii", 7, -1, 70000)
    assert read_idx(idx("numbers", data)).tolist() == [7, -1, 70000]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (IMAGES[:-1], "is truncated: 2×2×3 values take 12 bytes, but there are 11"),
        (IMAGES + b"x", "is too long"),
        (IMAGES[:9], "is truncated in its header"),
        (gzip.compress(IMAGES, mtime=0)[:-12], "is truncated: its gzip stream ends early"),
        (gzip.compress(IMAGES, mtime=0)[:10] + b"\xff" * 20, "is damaged"),
        (b"hello world", "is not an idx file"),
        (b"", "is not an idx file"),
        (LABELS, "holds labels, not images"),
    ],
)
def test_a_damaged_idx_file_is_named_with_what_is_wrong(idx, data, message):
    file = idx("broken.gz", data)
    with pytest.raises(BrittleError) as caught:
        image_set(f"idx:{file}")
    assert f"{file} {message}" in str(caught.value)


def test_a_missing_file_is_named():
    with pytest.raises(BrittleError, match=r"there is no file nowhere.gz"):
        image_set("idx:nowhere.gz")
    with pytest.raises(BrittleError, match=r"there is no file nowhere.npz"):
        image_set("npz:nowhere.npz")


def test_images_and_labels_of_two_lengths_are_refused(idx):
    short = bytes([0, 0, 8, 1]) + struct.pack(">I", 1) + bytes([1])
    with pytest.raises(BrittleError, match="2 images but 1 labels"):
        image_set(f"idx:{idx('images', IMAGES)},labels={idx('labels', short)}")


PIXELS = np.arange(2 * 4 * 5, dtype=np.uint8).reshape(2, 4, 5)


@pytest.mark.parametrize(
    ("arrays", "options"),
    [
        ({"images": PIXELS, "labels": [1, 0]}, {}),
        ({"x": PIXELS[:, None], "y": [[1], [0]]}, {}),
        ({"x_test": PIXELS[..., None], "y_test": [1, 0], "x_train": PIXELS[:1], "y_train": [5]}, {}),
        ({"images": PIXELS / 255, "label": [1, 0]}, {}),
        ({"mine": PIXELS, "truth": [1, 0]}, {"images_key": "mine", "labels_key": "truth"}),
        ({"images": PIXELS.astype(">f8") / 255, "labels": np.array([1, 0], dtype=">i2")}, {}),
    ],
    ids=["images", "x", "x_test", "float", "by key", "big-endian"],
)
def test_npz_files_of_many_habits_are_the_same_images(tmp_path, arrays, options):
    np.savez(tmp_path / "a.npz", **arrays)
    batch = image_set(f"npz:{tmp_path / 'a.npz'}", **options).batch([0, 1])
    assert torch.allclose(batch.images[:, 0], torch.from_numpy(PIXELS / 255).float())
    assert batch.labels.tolist() == [1, 0]


def test_npz_ids_classes_and_columns_are_used(tmp_path):
    np.savez(
        tmp_path / "a.npz",
        images=PIXELS,
        labels=[1, 0],
        ids=[70, 80],
        classes=["bag", "coat"],
        scale=[0.5, 1.5],
        one=[1],
    )
    whole = image_set(f"npz:{tmp_path / 'a.npz'}")
    assert whole.where("scale=1.5").ids.tolist() == [80]
    assert whole.where("class=coat").ids.tolist() == [70]
    assert sorted(whole.columns) == ["class", "label", "scale"]


def test_an_npz_of_python_objects_is_refused(tmp_path):
    np.savez(tmp_path / "a.npz", images=np.array([{"run": "code"}], dtype=object))
    with pytest.raises(BrittleError, match="'images' is an array of Python objects, and reading it would run code"):
        image_set(f"npz:{tmp_path / 'a.npz'}")


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04 but no more", b"\x80\x04K\x01."])
def test_a_damaged_npz_is_named(tmp_path, data):
    (tmp_path / "a.npz").write_bytes(data)
    with pytest.raises(BrittleError, match=r"a.npz can't be read"):
        image_set(f"npz:{tmp_path / 'a.npz'}")


def test_a_truncated_npz_is_named(tmp_path):
    np.savez_compressed(tmp_path / "a.npz", images=PIXELS)
    whole = (tmp_path / "a.npz").read_bytes()
    (tmp_path / "a.npz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(BrittleError, match=r"a.npz can't be read"):
        image_set(f"npz:{tmp_path / 'a.npz'}")


def test_a_wrong_key_is_answered_with_the_right_one(tmp_path):
    np.savez(tmp_path / "a.npz", pictures=PIXELS)
    with pytest.raises(BrittleError, match="images-key=… to one of: pictures"):
        image_set(f"npz:{tmp_path / 'a.npz'}")
    with pytest.raises(BrittleError, match="Did you mean 'pictures'"):
        image_set(f"npz:{tmp_path / 'a.npz'},images-key=picture")
