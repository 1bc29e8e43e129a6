"""Images on their way to a GPU: from pinned memory, on a stream of their own, while it computes on those before."""

from __future__ import annotations

import torch
from torch import Tensor

from brittle.images.base import ShapeGroup
from brittle.memory import slices
from brittle.types import Batch

PIECE = 1 << 24  # bytes; one piece is put into pinned memory while the one before it is copied


class Uploads:
    """Used by one thread. What it gives is on the device when it returns; `taken` tells whose computations wait for
    nothing else, so that its memory is not given out again before they have ended."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self._stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        self._pieces = [torch.empty(PIECE, dtype=torch.uint8, pin_memory=True) for _ in range(2)]
        self._copied = [torch.cuda.Event() for _ in range(2)]  # type: ignore[no-untyped-call]

    def __call__(self, groups: list[ShapeGroup]) -> list[ShapeGroup]:
        with torch.cuda.stream(self._stream):
            found = [ShapeGroup(places, self._on_device(batch)) for places, batch in groups]
        self._stream.synchronize()
        return found

    def _on_device(self, batch: Batch) -> Batch:
        return Batch(self._moved(batch.images), self._moved(batch.labels), self._moved(batch.ids))

    def _moved(self, values: Tensor) -> Tensor:
        found = torch.empty(values.shape, dtype=values.dtype, device=self.device)
        source, target = (each.reshape(-1).view(torch.uint8) for each in (values.contiguous(), found))
        for number, part in enumerate(slices(len(source), PIECE)):
            piece, copied = self._pieces[number % 2][: part.stop - part.start], self._copied[number % 2]
            copied.synchronize()
            piece.copy_(source[part])
            target[part].copy_(piece, non_blocking=True)
            copied.record(self._stream)
        return found


def taken(batch: Batch) -> Batch:
    """The batch, used from now on by what the calling thread has the device compute."""
    if batch.images.device.type == "cuda":
        stream = torch.cuda.current_stream(batch.images.device)
        for values in (batch.images, batch.labels, batch.ids):
            values.record_stream(stream)
    return batch
