"""Images that come one after another: read once, kept encoded, and then read by place."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import DataLoader, IterableDataset

from brittle.errors import BrittleError
from brittle.images import image_set
from brittle.images import stream as streams

SHADES = np.random.default_rng(0).integers(0, 256, (9, 8, 7, 3), dtype=np.uint8)


class Stream(IterableDataset[Any]):
    def __init__(self, items: list[Any]) -> None:
        self.items, self.times = items, 0

    def __iter__(self) -> Iterator[Any]:
        self.times += 1
        yield from self.items


def test_a_stream_is_read_once_and_gives_what_the_same_items_give_by_index() -> None:
    items = [(Image.fromarray(image), place % 4) for place, image in enumerate(SHADES)]
    stream = Stream(items)
    found, listed = image_set(stream), image_set(items)
    order = [5, 0, 8]
    assert torch.equal(found.batch(order).images, listed.batch(order).images)
    assert torch.equal(found.labels, listed.labels)
    assert torch.equal(found.ids, listed.ids)
    assert stream.times == 1


class WithLength(Stream):
    def __len__(self) -> int:
        return len(self.items)


@pytest.mark.parametrize("kind", [Stream, WithLength])
@pytest.mark.parametrize("size", [None, 4])
def test_a_data_loader_of_a_stream_is_the_items_it_gives(kind: type[Stream], size: int | None) -> None:
    stream = kind([(image, place % 4) for place, image in enumerate(torch.from_numpy(SHADES).permute(0, 3, 1, 2))])
    found = image_set(DataLoader(stream, batch_size=size))
    assert found.name == kind.__name__
    assert found.labels.tolist() == [0, 1, 2, 3, 0, 1, 2, 3, 0]
    assert torch.equal(found.batch(range(9)).images, torch.from_numpy(SHADES).permute(0, 3, 1, 2) / 255)


def test_batches_without_a_length_are_taken_apart() -> None:
    images = torch.from_numpy(SHADES).permute(0, 3, 1, 2)
    batches = [{"image": images[:5], "label": torch.arange(5)}, {"image": images[5:], "label": torch.arange(4)}]
    found = image_set(iter(batches))
    assert found.labels.tolist() == [0, 1, 2, 3, 4, 0, 1, 2, 3]
    assert torch.equal(found.batch([6]).images, images[6:7] / 255)
    with pytest.raises(BrittleError, match="of batches, an iterator over them"):
        image_set(batches)


def test_a_generator_of_dictionaries_with_encoded_images_and_labels_as_text() -> None:
    def items() -> Iterator[dict[str, Any]]:
        for place, image in enumerate(SHADES):
            yield {"png": streams.encoded(image, "it"), "cls": str(place % 3).encode()}

    found = image_set(items(), classes="a/b/c")
    assert found.labels.tolist() == [0, 1, 2] * 3
    assert found.classes == ("a", "b", "c")
    assert torch.equal(found.batch([4]).images, torch.from_numpy(SHADES[4:5]).permute(0, 3, 1, 2) / 255)


def test_floats_on_the_256_levels_are_kept_exactly_and_others_are_refused() -> None:
    kept = image_set((torch.from_numpy(image).permute(2, 0, 1) / 255, 0) for image in SHADES)
    assert torch.equal(kept.batch([3]).images, torch.from_numpy(SHADES[3:4]).permute(0, 3, 1, 2) / 255)
    with pytest.raises(BrittleError, match="index 0 has values between the 256 levels"):
        image_set((torch.full((3, 4, 4), 0.3), 0) for _ in range(2))


def test_the_file_goes_with_the_image_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    found = image_set((image, 0) for image in SHADES)
    assert len(list(tmp_path.iterdir())) == 1
    del found
    assert list(tmp_path.iterdir()) == []


def test_a_stream_that_does_not_end_stops_before_the_disk_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    def endless() -> Iterator[Any]:
        while True:
            yield SHADES[0], 0

    monkeypatch.setattr(streams, "SPARED", 1 << 62)
    with pytest.raises(BrittleError, match="0 images fill the disk, and there are more"):
        image_set(endless())


@pytest.mark.parametrize(
    ("items", "said"),
    [
        ([], "is empty"),
        ([(SHADES[0], [1, 0])], "item 0 has the label"),
        ([(SHADES[0], 0), (SHADES[1], None)], "some images of .* have a label and others have none"),
        ([7], "item 0 is int, not a pair"),
    ],
)
def test_what_a_stream_may_not_hold_is_said(items: list[Any], said: str) -> None:
    with pytest.raises(BrittleError, match=said):
        image_set(iter(items))


def test_ids_of_a_stream_are_its_own() -> None:
    with pytest.raises(BrittleError, match="as a stream take no ids"):
        image_set(iter([(SHADES[0], 0)]), ids=[7])
