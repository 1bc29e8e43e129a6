"""A label that can't be the number of a class is refused at once, wherever it is read."""

import io
import json
import struct
import tarfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from PIL import Image

from brittle.classifiers.class_mapping import class_mapping
from brittle.errors import BrittleError
from brittle.images import image_set
from brittle.images.base import MOST_CLASSES

HUGE = 10**17
REFUSED = r"has the label \d+, and labels count classes from 0"
PIXELS = np.zeros((2, 8, 8), np.uint8)


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory):
    """Opening a Parquet file keeps a copy."""
    config = pytest.importorskip("datasets").config
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(config, "HF_DATASETS_CACHE", tmp_path_factory.mktemp("cache"))
        yield


def picture():
    to = io.BytesIO()
    Image.fromarray(PIXELS[0]).save(to, "PNG")
    return to.getvalue()


def npz(folder, label):
    np.savez(folder / "a.npz", images=PIXELS, labels=[0, label])
    return f"npz:{folder}/a.npz"


def idx(folder, label):
    (folder / "images").write_bytes(bytes([0, 0, 8, 3]) + struct.pack(">3I", 2, 8, 8) + PIXELS.tobytes())
    (folder / "labels").write_bytes(bytes([0, 0, 0x0E, 1]) + struct.pack(">I2d", 2, 0, label))
    return f"idx:{folder}/images,labels={folder}/labels"


def shards(folder, label, kind="cls"):
    content = {"a.png": picture(), f"a.{kind}": json.dumps(label).encode()}
    with tarfile.open(folder / "a.tar", "w") as archive:
        for name, data in content.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return f"shards:{folder}/a.tar"


def json_shards(folder, label):
    return shards(folder, {"label": label}, "json")


def cifar_c(folder, label):
    np.save(folder / "fog.npy", np.zeros((2, 8, 8, 3), np.uint8))
    np.save(folder / "labels.npy", np.array([0, label]))
    return f"cifar-c:{folder},severities=1"


def parquet(folder, label):
    rows = {"image": [{"bytes": picture(), "path": None}] * 2, "label": pa.array([0, label], pa.uint64())}
    pa.parquet.write_table(pa.table(rows), folder / "a.parquet")
    return f"hf:{folder}/a.parquet"


def streamed(folder, label):
    return f"{parquet(folder, label)},streaming=true"


@pytest.mark.parametrize("label", [HUGE, MOST_CLASSES])
@pytest.mark.parametrize("written", [npz, idx, shards, json_shards, cifar_c, parquet, streamed])
def test_a_huge_label_is_refused(tmp_path, written, label):
    with pytest.raises(BrittleError, match=REFUSED):
        image_set(written(tmp_path, label))


@pytest.mark.parametrize("label", [HUGE, 2**63, 2**64 - 1])
def test_a_huge_class_of_a_table_is_refused(tmp_path, label):
    (tmp_path / "a.png").write_bytes(picture())
    columns = {"path": ["a.png"] * 2, "class": pa.array([label] * 2, pa.uint64()), "shift": ["", "fog"]}
    pa.parquet.write_table(pa.table({**columns, "scale": [0, 1], "seed": [1, 1]}), tmp_path / "a.parquet")
    with pytest.raises(BrittleError, match="neither numbers from 0 nor names"):
        image_set(f"scales:{tmp_path}/a.parquet")


@pytest.mark.parametrize("label", [2**63, 2**64 - 1])
@pytest.mark.parametrize("written", [parquet, streamed])
def test_a_label_beyond_64_bits_is_refused(tmp_path, written, label):
    with pytest.raises(BrittleError, match=f"{REFUSED}|are not whole numbers"):
        image_set(written(tmp_path, label))


def test_a_label_of_thousands_of_digits_is_a_word():
    found = image_set(iter([(PIXELS[0], "9" * 5000), (PIXELS[1], "1")]))
    assert found.classes == ("1", "9" * 5000)
    mapping = class_mapping({"a": ["9" * 5000], "b": [1]})
    with pytest.raises(BrittleError, match="it has no class 999999999999999999"):
        mapping.resolved(None, 3, "it")


def test_classes_that_a_dataset_only_counts_are_not_named_one_by_one(tmp_path):
    datasets = pytest.importorskip("datasets")
    features = datasets.Features({"image": datasets.Image(), "label": datasets.ClassLabel(num_classes=2)})
    schema = features.arrow_schema
    about = json.dumps({"info": {"features": {"label": {"num_classes": HUGE, "_type": "ClassLabel"}}}})
    rows = {"image": [{"bytes": picture(), "path": None}], "label": [0]}
    table = pa.table(rows, schema=schema)
    pa.parquet.write_table(table.replace_schema_metadata({"huggingface": about}), tmp_path / "a.parquet")
    with pytest.raises(BrittleError, match=f"declares {HUGE} classes"):
        image_set(f"hf:{tmp_path}/a.parquet")
    datasets.Dataset(table).save_to_disk(str(tmp_path / "saved"))
    assert len(image_set(f"hf:{tmp_path}/saved")) == 1
    info = tmp_path / "saved" / "dataset_info.json"
    told = json.loads(info.read_text())
    told["features"]["label"] = {"num_classes": HUGE, "_type": "ClassLabel"}
    info.write_text(json.dumps(told))
    with pytest.raises(BrittleError, match=f"declares {HUGE} classes"):
        image_set(f"hf:{tmp_path}/saved")
