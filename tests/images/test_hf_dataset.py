"""Datasets of Hugging Face's library, made on the spot: by name, live and as streams."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

import brittle
from brittle.errors import BrittleError
from brittle.images import image_set

datasets = pytest.importorskip("datasets")
COUNT = 12


@pytest.fixture(scope="module")
def dataset() -> Any:
    shades = np.random.default_rng(0).integers(0, 256, (COUNT, 28, 28), dtype=np.uint8)
    features = datasets.Features({
        "id": datasets.Value("int64"),
        "img": datasets.Image(),
        "label": datasets.ClassLabel(names=[f"class {number}" for number in range(10)]),
    })  # fmt: skip
    columns = {"id": range(COUNT), "img": list(map(Image.fromarray, shades)), "label": [n % 10 for n in range(COUNT)]}
    return datasets.Dataset.from_dict(columns, features=features)


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path_factory.mktemp("cache"))
        yield


def images_of(dataset: Any) -> torch.Tensor:
    return torch.from_numpy(np.stack([np.asarray(item["img"]) for item in dataset]))[:, None] / 255


def test_a_live_dataset_gives_the_images_and_labels_that_it_holds(dataset: Any) -> None:
    found = image_set(dataset)
    assert torch.equal(found.batch(range(COUNT)).images, images_of(dataset))
    assert found.labels.tolist() == dataset["label"][:]
    assert found.classes[3] == "class 3"


def test_rows_that_were_shuffled_and_selected_come_in_their_new_order(dataset: Any) -> None:
    part = dataset.shuffle(seed=1).select(range(5))
    found = image_set(part)
    assert torch.equal(found.batch(range(5)).images, images_of(part))
    assert found.labels.tolist() == list(part["label"])


@pytest.mark.parametrize("form", ["disk", "parquet", "parquet,streaming=yes", "disk,streaming=yes"])
def test_a_dataset_on_disk_is_the_same_by_name(dataset: Any, form: str, tmp_path: Path) -> None:
    dataset.save_to_disk(tmp_path / "disk")
    dataset.to_parquet(tmp_path / "mine.parquet")
    found = image_set(f"hf:{tmp_path}/{form.replace('parquet', 'mine.parquet')}")
    live = image_set(dataset)
    assert torch.equal(found.batch(range(COUNT)).images, live.batch(range(COUNT)).images)
    assert torch.equal(found.labels, live.labels)
    assert torch.equal(found.ids, live.ids)
    assert found.classes == live.classes


def test_a_stream_gives_what_the_dataset_gives(dataset: Any) -> None:
    found = image_set(dataset.to_iterable_dataset())
    assert torch.equal(found.batch(range(COUNT)).images, images_of(dataset))
    assert found.classes[3] == "class 3"


def test_splits_are_named_where_there_are_several(dataset: Any, tmp_path: Path) -> None:
    datasets.DatasetDict({"train": dataset, "test": dataset.select(range(4))}).save_to_disk(tmp_path / "both")
    assert len(image_set(f"hf:{tmp_path}/both,split=test")) == 4
    assert len(image_set(f"hf:{tmp_path}/both,split=train,first=3")) == 3
    with pytest.raises(BrittleError, match=r"has several splits\. Give split=train or split=test"):
        image_set(f"hf:{tmp_path}/both")
    with pytest.raises(BrittleError, match=r"has no split 'tset'\. Did you mean 'test'"):
        image_set(f"hf:{tmp_path}/both,split=tset")


def test_a_live_dataset_with_splits_is_refused_with_their_names(dataset: Any) -> None:
    import datasets

    with pytest.raises(BrittleError, match=r"has splits: train, test\. Give one of them: dataset\['train'\]"):
        image_set(datasets.DatasetDict({"train": dataset, "test": dataset}))


def test_columns_are_named_by_options(dataset: Any, tmp_path: Path) -> None:
    dataset.rename_columns({"img": "scan", "label": "grade"}).save_to_disk(tmp_path / "odd")
    assert image_set(f"hf:{tmp_path}/odd").labels.tolist() == [number % 10 for number in range(COUNT)]
    assert image_set(f"hf:{tmp_path}/odd,label=id").labels.tolist() == list(range(COUNT))
    assert set(image_set(f"hf:{tmp_path}/odd,label=none").labels.tolist()) == {-1}
    assert image_set(f"hf:{tmp_path}/odd,size=14,channels=rgb").shape == (3, 14, 14)
    with pytest.raises(BrittleError, match=r"has no column 'skan'\. Did you mean 'scan'"):
        image_set(f"hf:{tmp_path}/odd,image=skan")


def test_a_dataset_that_is_not_here_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "https://hub.invalid")
    monkeypatch.setattr("urllib.request.getproxies", dict)
    with pytest.raises(BrittleError, match="the dataset 'nobody/nothing' is not on this machine and can't be fetched"):
        image_set("hf:nobody/nothing,split=test")


def test_a_folder_of_something_else_is_named(tmp_path: Path) -> None:
    with pytest.raises(BrittleError, match="is neither a folder that save_to_disk wrote nor Parquet"):
        image_set(f"hf:{tmp_path}")


@pytest.mark.warned("is near chance on the untouched images", "has a mean confidence of")
def test_a_dataset_is_measured_alike_by_name_live_and_streamed(dataset: Any, tmp_path: Path) -> None:
    dataset.save_to_disk(tmp_path / "disk")
    found = [
        brittle.measure("bundled:plain", images, nuisances="brightness", samples=5)["rho"]
        for images in (f"hf:{tmp_path}/disk", dataset, dataset.to_iterable_dataset())
    ]
    assert found[0] == found[1] == found[2]
