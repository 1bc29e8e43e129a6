"""Folders of image files: one folder per class, or images without classes."""

from __future__ import annotations

import hashlib
import os
import unicodedata
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import BinaryIO, Literal, TypeVar

import torch
from PIL import Image, UnidentifiedImageError

from brittle.contained_files import OUTSIDE, ContainedFiles
from brittle.errors import BrittleError
from brittle.files import printable, real_path, size_of
from brittle.images import register
from brittle.images.base import ImageSet
from brittle.images.limits import MEGAPIXEL, MEGAPIXELS, check_pixel_count, reason
from brittle.images.pixels import Array, Shape, from_pil, is_grey, resized
from brittle.registry import option
from brittle.types import UNLABELLED

EXTENSIONS = frozenset({".jpg", ".jpeg", ".png", ".bmp", ".webp", ".tif", ".tiff", ".ppm", ".pgm"})
FORMATS = ("JPEG", "PNG", "BMP", "WEBP", "TIFF", "PPM")  # no others: Pillow hands PostScript to another program
INSPECTED = 2000  # evenly spaced files whose headers are read before work begins
MOST_PATHS = 100  # to one and the same folder, by way of links
TURNED = (5, 6, 7, 8)  # EXIF orientations that exchange width and height
ORIENTATION = 0x0112

S = TypeVar("S")
R = TypeVar("R")


@register("folder")
@dataclass(frozen=True)
class Folder:
    """Image files below a folder; an image's id is a hash of its relative path, so new files change no other ids."""

    path: str = option(MISSING, "the folder", positional=True)
    size: int | None = option(None, "resize the shorter side to this many pixels (bilinear)", least=1)
    crop: int | None = option(None, "crop the central square of this many pixels, after resizing", least=1)
    channels: Literal["auto", "rgb", "grey"] = option("auto", "rgb, grey, or auto: grey if no file has colour")
    unreadable: Literal["stop", "skip"] = option(
        "stop", "stop at a damaged file, or check all files first and skip the damaged ones"
    )
    labels: Literal["folders", "none"] = option("folders", "folders: one folder per class; none: unlabelled")
    megapixels: float = option(
        MEGAPIXELS, "most pixels an image may have, as a file and resized, in millions; more is refused", above=0
    )
    outside: Literal["refuse", "allow"] = option("refuse", OUTSIDE)

    def __post_init__(self) -> None:
        if self.size is not None and self.crop is not None and self.crop > self.size:
            raise BrittleError(
                f"crop={self.crop} is larger than size={self.size}", "Make size at least as large as crop."
            )

    def load(self) -> ImageSet:
        root = Path(real_path(self.path))
        if not root.is_dir():
            raise BrittleError(
                f"there is no folder {self.path}", "Name a folder of images, or one with a folder per class."
            )
        files = sorted(image_files(ContainedFiles(root, outside=self.outside)))
        classes = self._classes(root, files)
        skipped: tuple[str, ...] = ()
        if self.unreadable == "skip":
            readable = in_threads(lambda file: is_readable(root / file, self.megapixels), files)
            skipped = tuple(file for file, fine in zip(files, readable, strict=True) if not fine)
            files = [file for file, fine in zip(files, readable, strict=True) if fine]
        if not files:
            damaged = f" ({len(skipped)} can't be read)" if skipped else ""
            raise BrittleError(
                f"there are no images in {self.path}{damaged}", f"Images are {', '.join(sorted(EXTENSIONS))}."
            )
        channels = channels_of(root, files, self.channels, self.megapixels)
        reader = FolderReader(root, tuple(files), self.size, self.crop, channels, self.megapixels)
        number = {name: label for label, name in enumerate(classes)}
        labels = [number[file.split("/", 1)[0]] if classes else UNLABELLED for file in files]
        ids = torch.tensor([path_id(file) for file in files], dtype=torch.int64)
        names = [printable(file) for file in files]
        folders = {"folder": [name.rpartition("/")[0] for name in names]}
        return ImageSet(
            printable(root.resolve().name or str(root)),
            ids,
            torch.tensor(labels),
            tuple(map(printable, classes)),
            names,
            folders,
            reader,
            tuple(map(printable, skipped)),
        )

    def _classes(self, root: Path, files: Sequence[str]) -> tuple[str, ...]:
        """Sorted names of the folders directly inside; () if there are none or they are not classes."""
        if self.labels == "none":
            return ()
        classes = {file.split("/", 1)[0] for file in files if "/" in file}
        loose = next((file for file in files if "/" not in file), None)
        if classes and loose is not None:
            raise BrittleError(
                f"{self.path} holds class folders and also {loose}", "Move it into one of them, or set labels=none."
            )
        empty = next((entry.name for entry in entries(root) if is_folder(entry) and entry.name not in classes), None)
        if classes and empty is not None:  # skipping it would shift the labels of all later classes
            raise BrittleError(
                f"the class folder {empty!r} of {self.path} has no images", "Remove it, or set labels=none."
            )
        return tuple(sorted(classes))


@dataclass(frozen=True)
class FolderReader:
    """Decodes, resizes and crops files, in threads."""

    root: Path
    files: tuple[str, ...]
    size: int | None
    crop: int | None
    channels: str  # "auto" if no colour was found: a file that has some after all then shows it by its channels
    megapixels: float

    @property
    def shape_samples(self) -> int:
        return INSPECTED

    def __call__(self, positions: Sequence[int]) -> list[Array]:
        return in_threads(self._read, [self.files[place] for place in positions])

    def shapes(self, positions: Sequence[int]) -> list[Shape]:
        """(C, H, W) after resizing and cropping, from the headers, without decoding any pixels."""
        return in_threads(lambda place: self._reading(self.files[place], self._shape), positions)

    def _shape(self, image: Image.Image) -> Shape:
        return prepared_shape(image, self.channels, self.size, self.crop)

    def _read(self, file: str) -> Array:
        return self._reading(file, lambda image: from_pil(image, self.channels, file, self.size, self.crop))

    def _reading(self, file: str, work: Callable[[Image.Image], R]) -> R:
        def checked(image: Image.Image) -> R:
            # A strip of 1×100,000 pixels is small until its shorter side is resized.
            check_pixel_count(resized(image.size, self.size), self.megapixels, f"the image {file}, resized,")
            return work(image)

        return reading(self.root / file, checked, self.megapixels)


def prepared_shape(image: Image.Image, channels: str, size: int | None, crop: int | None) -> Shape:
    """(C, H, W) of an opened image once it is resized and cropped, from its header."""
    grey = channels == "grey" or (channels == "auto" and is_grey(image))
    # Pillow would decode a whole PNG to look for EXIF data behind the pixels, where hardly any has some.
    exif = image.getexif() if image.format != "PNG" or "exif" in image.info else {}
    width, height = image.size[:: -1 if exif.get(ORIENTATION) in TURNED else 1]
    width, height = (crop, crop) if crop else resized((width, height), size)
    return 1 if grey else 3, height, width


def channels_of(root: Path, files: Sequence[str], channels: str, megapixels: float) -> str:
    """The channels of a set of files: with auto, rgb if any of them has colour. The headers of some are read."""
    some = files[:: -(-len(files) // INSPECTED)]
    grey = in_threads(
        lambda file: reading(root / file, lambda image: channels != "auto" or is_grey(image), megapixels), some
    )
    return channels if all(grey) else "rgb"


def path_id(path: str) -> int:
    """63 bits of a hash of the relative path, in one Unicode form, since file systems use different ones."""
    text = unicodedata.normalize("NFC", path).encode("utf-8", "surrogateescape")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big") >> 1


def image_files(own: ContainedFiles, start: str = "") -> Iterator[str]:
    """Relative paths of the image files, all or those below the folder `start/`; links are followed, but not out of the
    folder and not in cycles, and hidden names are skipped."""
    root = own.folder
    own.path(start)
    reached: Counter[tuple[int, int]] = Counter()
    waiting: list[tuple[str, frozenset[tuple[int, int]]]] = [(start, frozenset())]
    while waiting:
        below, above = waiting.pop()
        folder = root / below
        with naming(folder):
            found = folder.stat()
        real = found.st_dev, found.st_ino
        if real in above:
            continue
        reached[real] += 1
        if reached[real] > MOST_PATHS:
            raise BrittleError(
                f"folders below {root} link to one another: one is reached by more than {MOST_PATHS} paths,"
                f" such as {below}",
                "Remove links.",
            )
        for entry in entries(folder):
            inner, name = is_folder(entry), below + entry.name
            if not inner and os.path.splitext(entry.name)[1].lower() not in EXTENSIONS:
                continue
            if entry.is_symlink():
                own.path(name)
            if inner:
                waiting.append((f"{name}/", above | {real}))
            else:
                yield name


def entries(folder: Path) -> list[os.DirEntry[str]]:
    """The entries of a folder, without hidden ones."""
    with naming(folder), os.scandir(folder) as found:
        return [entry for entry in found if not entry.name.startswith(".")]


@contextmanager
def naming(folder: Path) -> Iterator[None]:
    """Errors of the file system as one line that names the folder."""
    try:
        yield
    except OSError as error:
        raise BrittleError(f"the folder {folder} can't be read: {error.strerror}", "Fix its permissions.") from error


def is_folder(entry: os.DirEntry[str]) -> bool:
    """A link to itself is not one."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def reading(file: Path, work: Callable[[Image.Image], R], megapixels: float) -> R:
    """work(image) for an image file; any error that a damaged file causes becomes one line that names it."""
    size_of(file)
    return decoding(file, str(file), work, megapixels, "Replace or remove it, or set unreadable=skip.")


def decoding(source: Path | BinaryIO, name: str, work: Callable[[Image.Image], R], megapixels: float, remedy: str) -> R:
    """work(image) for an encoded image; any error that damage causes becomes one line that names it."""
    allowed = int(megapixels * MEGAPIXEL)
    if Image.MAX_IMAGE_PIXELS is not None:
        Image.MAX_IMAGE_PIXELS = max(Image.MAX_IMAGE_PIXELS, allowed)  # Pillow refuses twice as many by itself
    try:
        with Image.open(source, formats=FORMATS) as image:
            check_pixel_count(image.size, megapixels, f"the image {name}")
            return work(image)
    except (BrittleError, MemoryError):
        raise
    except Image.DecompressionBombError:
        raise BrittleError(
            f"the image {name} has far more than the {megapixels:g} million pixels allowed",
            "If the file is what you expect, allow more: megapixels=….",
        ) from None
    except Exception as error:  # decoders raise many kinds: OSError, SyntaxError, ValueError, struct.error, zlib.error
        known = not isinstance(error, UnidentifiedImageError)
        why = reason(error) if known else f"not an image format that Brittle reads ({', '.join(FORMATS)})"
        raise BrittleError(f"the image {name} can't be read: {why}", remedy) from error


def is_readable(file: Path, megapixels: float) -> bool:
    """Whether the whole file can be decoded."""
    try:
        reading(file, from_pil, megapixels)
    except BrittleError:
        return False
    return True


def in_threads(work: Callable[[S], R], items: Sequence[S]) -> list[R]:
    """work(item) for every item, in order. Pillow releases the interpreter's lock while decoding."""
    with warnings.catch_warnings():  # out here, since threads share one list of filters
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # the limit is ours, and refuses
        if len(items) < 2:
            return [work(item) for item in items]
        done: list[R] = []
        with ThreadPoolExecutor(
            min(16, os.cpu_count() or 1)
        ) as pool:  # created each time: a shared pool would not survive a fork
            for start in range(0, len(items), 4096):  # so that a million files are not a million futures at once
                done.extend(pool.map(work, items[start : start + 4096]))
        return done
