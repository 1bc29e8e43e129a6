"""Images that lie encoded within larger files, such as shards: where each begins and ends is known, and no more is held
in memory, so that a set of any size takes 24 bytes per image besides its ids, labels and names."""

from __future__ import annotations

import io
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeVar

from PIL import Image

from brittle.contained_files import OUTSIDE
from brittle.errors import BrittleError
from brittle.images.folder import INSPECTED, decoding, in_threads, prepared_shape
from brittle.images.limits import MEGAPIXELS, check_pixel_count
from brittle.images.pixels import Array, Shape, from_pil, is_grey, resized
from brittle.registry import option

R = TypeVar("R")
MOST_BYTES = 1 << 30  # of one encoded image


@dataclass(frozen=True, kw_only=True)
class EncodedOptions:
    """How encoded images become pixels; as for folders."""

    size: int | None = option(None, "resize the shorter side to this many pixels (bilinear)", least=1)
    crop: int | None = option(None, "crop the central square of this many pixels, after resizing", least=1)
    channels: str = option("auto", "rgb, grey, or auto: grey if no image has colour", choices=("auto", "rgb", "grey"))
    megapixels: float = option(
        MEGAPIXELS, "most pixels an image may have, encoded and resized, in millions; more is refused", above=0
    )
    outside: str = option("refuse", OUTSIDE, choices=("refuse", "allow"))

    def __post_init__(self) -> None:
        if self.size is not None and self.crop is not None and self.crop > self.size:
            raise BrittleError(
                f"crop={self.crop} is larger than size={self.size}", "Make size at least as large as crop."
            )


class Extents:
    """Where encoded images lie: the file of each, its first byte and its length. Grows while files are indexed."""

    def __init__(self) -> None:
        self._file, self._start, self._length = array("q"), array("q"), array("q")

    def add(self, file: int, start: int, length: int) -> None:
        self._file.append(file)
        self._start.append(start)
        self._length.append(length)

    def __len__(self) -> int:
        return len(self._file)

    def __getitem__(self, place: int) -> tuple[int, int, int]:
        return self._file[place], self._start[place], self._length[place]


class ImageFile(Protocol):
    """What encoded images are read from: a path, or what takes the place of one."""

    def open(self, mode: Literal["rb"]) -> Any: ...


@dataclass(frozen=True, eq=False)
class EncodedReader:
    """Decodes, resizes and crops images that lie within files, in threads."""

    files: Sequence[ImageFile]
    extents: Extents
    names: Sequence[str]
    options: EncodedOptions
    channels: str = "auto"
    held: Any = field(default=None, repr=False)  # what the files disappear with

    @property
    def shape_samples(self) -> int:
        return INSPECTED

    def __call__(self, positions: Sequence[int]) -> list[Array]:
        wanted = self.options
        return in_threads(
            lambda place: self._opened(
                place, lambda image: from_pil(image, self.channels, self.names[place], wanted.size, wanted.crop)
            ),
            positions,
        )

    def shapes(self, positions: Sequence[int]) -> list[Shape]:
        """(C, H, W) after resizing and cropping, from the headers, without decoding any pixels."""
        size, crop = self.options.size, self.options.crop
        return in_threads(
            lambda place: self._opened(place, lambda image: prepared_shape(image, self.channels, size, crop)), positions
        )

    def settled(self) -> EncodedReader:
        """The same with the channels of the whole set: with auto, rgb if any of some images has colour."""
        count = len(self.extents)
        some = range(0, count, -(-count // INSPECTED))
        wanted = self.options.channels
        grey = wanted != "rgb" and (
            wanted == "grey" or all(in_threads(lambda place: self._opened(place, is_grey), list(some)))
        )
        channels = wanted if wanted == "grey" else "auto" if grey else "rgb"
        return EncodedReader(self.files, self.extents, self.names, self.options, channels, self.held)

    def _opened(self, place: int, work: Callable[[Image.Image], R]) -> R:
        file, start, length = self.extents[place]
        name, limit = self.names[place], self.options.megapixels
        with self.files[file].open("rb") as stream:
            stream.seek(start)
            content = stream.read(length)
        if len(content) < length:
            raise BrittleError(f"{self.files[file]} ends within the image {name}", "Copy or download it again.")

        def checked(image: Image.Image) -> R:
            # A strip of 1×100,000 pixels is small until its shorter side is resized.
            check_pixel_count(resized(image.size, self.options.size), limit, f"the image {name}, resized,")
            return work(image)

        return decoding(io.BytesIO(content), name, checked, limit, "Replace it, or leave it out.")
