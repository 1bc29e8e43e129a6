"""Image sets that are read once, by the process that plans, and sent to workers: what a stream gave, in blocks that a
node fetches whole when it first needs one, and the index of shards, so that no worker reads all of them.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from brittle.engine.job import Job
from brittle.images.base import ImageSet, SubsetReader
from brittle.images.encoded import EncodedReader
from brittle.images.fingerprint import fingerprints
from brittle.images.selection import ChosenImages

BLOCK = 8 << 20  # bytes

Put = Callable[[Any], Any]  # content → what it is fetched by
Fetch = Callable[[Any], Any]


@dataclass(frozen=True)
class BlockFile:
    """A file as blocks that lie elsewhere: as much of a path as readers use."""

    blocks: Sequence[Any]
    block: int
    fetch: Fetch

    def open(self, mode: str = "rb") -> BlockStream:
        return BlockStream(self)


class BlockStream(io.RawIOBase):
    """Reads such a file from some place on."""

    def __init__(self, file: BlockFile) -> None:
        self._file, self._at = file, 0

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        self._at = offset
        return offset

    def read(self, size: int = -1, /) -> bytes:
        parts, end = [], self._at + size
        while self._at < end and self._at // self._file.block < len(self._file.blocks):
            number, first = divmod(self._at, self._file.block)
            content = self._file.fetch(self._file.blocks[number])
            part = content[first : first + end - self._at]
            if not len(part):
                break
            parts.append(bytes(part))
            self._at += len(part)
        return b"".join(parts)


def shipped(job: Job, put: Put, fetch: Fetch) -> dict[str, ChosenImages]:
    """By name: the image sets of a job that workers are sent, with what they are known by."""
    found = {}
    for name, chosen in job.images.items():
        inner: Any = chosen.images.reader
        reader = inner.base if isinstance(inner, SubsetReader) else inner
        if isinstance(reader, EncodedReader):
            there = _sent(reader, put, fetch) if reader.held is not None else reader
            images, whole = (_read_by(each, there) for each in (chosen.images, chosen.whole))
            found[name] = ChosenImages(images, whole, chosen.asked, fingerprints(chosen))
    return found


def _sent(reader: EncodedReader, put: Put, fetch: Fetch) -> EncodedReader:
    files = []
    for path in reader.files:
        blocks = []
        with path.open("rb") as file:
            while content := file.read(BLOCK):
                blocks.append(put(np.frombuffer(content, np.uint8)))
        files.append(BlockFile(tuple(blocks), BLOCK, fetch))
    return replace(reader, files=tuple(files), held=None)


def _read_by(images: ImageSet, reader: EncodedReader) -> ImageSet:
    inner: Any = images.reader
    moved = replace(images, reader=SubsetReader(reader, inner.order) if isinstance(inner, SubsetReader) else reader)
    if "shapes" in vars(images):  # so that nobody has to look at images again
        vars(moved)["shapes"] = images.shapes
    return moved
