"""Images are on the GPU as they were on the host, whatever their size; without one, the pieces are tried on a CPU."""

import contextlib

import pytest
import torch

from brittle.engine import uploads
from brittle.images.base import ShapeGroup
from brittle.types import Batch

ON_A_GPU = pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU"))


class NoStream:
    """In place of a stream or an event where there is no GPU: nothing to wait for."""

    def __init__(self, device=None):
        self.device = device

    def synchronize(self):
        pass

    def record(self, stream):
        pass


@pytest.fixture(params=["cpu", ON_A_GPU])
def upload(request, monkeypatch):
    """With pieces of 1,000 bytes, so that images take many."""
    monkeypatch.setattr(uploads, "PIECE", 1000)
    if request.param == "cpu":
        empty = torch.empty
        monkeypatch.setattr(torch, "empty", lambda *size, pin_memory=False, **more: empty(*size, **more))
        monkeypatch.setattr(torch.cuda, "Stream", NoStream)
        monkeypatch.setattr(torch.cuda, "Event", NoStream)
        monkeypatch.setattr(torch.cuda, "stream", lambda stream: contextlib.nullcontext())
    return uploads.Uploads(torch.device(request.param))


@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32])
@pytest.mark.parametrize("count", [0, 1, 37])
def test_images_labels_and_ids_arrive_unchanged(upload, dtype, count):
    images = (255 * torch.rand(count, 3, 9, 7)).to(dtype)
    for given in (images, images.transpose(2, 3)):
        places, labels, ids = torch.arange(count), torch.arange(count) % 5, 3 * torch.arange(count)
        (found,) = upload([ShapeGroup(places, Batch(given, labels, ids))])
        there = uploads.taken(found.batch)
        assert there.images.device.type == upload.device.type
        assert torch.equal(found.places, places)
        for one, other in zip(there[:3], (given, labels, ids), strict=True):
            assert torch.equal(one.cpu(), other)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_memory_in_use_is_not_given_to_the_next_images():
    """Images that are dropped while the device still computes on them are not overwritten by those that follow."""
    upload, sums = uploads.Uploads(torch.device("cuda")), []
    for number in range(20):
        images = torch.full((64, 3, 224, 224), number, dtype=torch.uint8)
        (group,) = upload([ShapeGroup(torch.arange(64), Batch(images, torch.arange(64), torch.arange(64)))])
        batch = uploads.taken(group.batch)
        torch.cuda._sleep(10_000_000)
        sums.append(batch.images.float().mean())
        del group, batch
    assert [float(each) for each in sums] == list(range(20))
