"""Hugging Face datasets: `hf:NAME,split=test` from the hub or its cache, `hf:FOLDER` and `hf:FILE.parquet` from disk,
and live ones. Images stay encoded where the library keeps them, and are decoded when they are needed."""

from __future__ import annotations

import importlib
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import torch
from PIL import Image

from brittle.errors import BrittleError, MissingPackage
from brittle.files import real_path
from brittle.images import register
from brittle.images.arrays import label_numbers
from brittle.images.base import ImageSet, IndexNames
from brittle.images.encoded import EncodedOptions
from brittle.images.folder import INSPECTED, decoding, in_threads, prepared_shape
from brittle.images.hf_files import SPLITS, STATE, own_files, parquet_files, refuse_named_outside
from brittle.images.items import IMAGE_KEYS, LABEL_KEYS
from brittle.images.limits import check_pixel_count, reason
from brittle.images.pixels import Array, Shape, from_pil, is_grey, resized
from brittle.images.stream import encoded, from_stream
from brittle.network_access import hugging_face_hub, reachable
from brittle.registry import did_you_mean, option

R = TypeVar("R")
AUTO, NONE = "auto", "none"


@register("hf")
@dataclass(frozen=True, kw_only=True)
class HuggingFace(EncodedOptions):
    """A dataset of Hugging Face's library, from the hub, a folder that save_to_disk wrote, or Parquet files; an image's
    id is its place."""

    path: str = option(MISSING, "its name on the hub, a folder, or a .parquet file (also *.parquet)", positional=True)
    split: str | None = option(None, "which split, such as test; needed where there are several")
    config: str | None = option(None, "which configuration of it, where there are several")
    revision: str | None = option(None, "a branch, tag or commit of the hub; by default main")
    image: str = option(AUTO, "the column of images; auto: the one that holds images")
    label: str = option(AUTO, "the column of labels; none: unlabelled; auto: label, labels, fine_label, …")
    streaming: bool = option(False, "read it once from where it lies, and keep it encoded in a temporary file")
    first: int | None = option(None, "only the first so many images", least=1)

    def load(self) -> ImageSet:
        return from_hugging_face(self._opened(), self.path, self)

    def _opened(self) -> Any:
        try:
            datasets: Any = importlib.import_module("datasets")
        except ModuleNotFoundError as error:
            if error.name == "datasets":
                raise MissingPackage("datasets", "datasets", f"the image set hf:{self.path}") from None
            raise
        quiet = datasets.utils.logging
        drawn = quiet.is_progress_bar_enabled()
        quiet.disable_progress_bar()
        try:
            found = self._found(datasets)
        except BrittleError:
            raise
        except Exception as error:
            raise BrittleError(
                f"hf:{self.path} can't be opened: {reason(error)}", "Check its name, config=… and split=…."
            ) from error
        finally:
            if drawn:
                quiet.enable_progress_bar()
        if isinstance(found, Mapping):
            splits = list(found)
            if self.split is None and len(splits) > 1:
                raise BrittleError(f"hf:{self.path} has several splits", f"Give split={' or split='.join(splits)}.")
            name = self.split or splits[0]
            if name not in found:
                raise BrittleError(f"hf:{self.path} has no split {name!r}", did_you_mean(name, splits))
            found = found[name]
        return found

    def _found(self, datasets: Any) -> Any:
        """A dataset, or several by split."""
        path = Path(real_path(self.path))
        own = own_files(self.path, self.outside)
        if path.is_dir() and any((path / each).is_file() for each in (STATE, SPLITS)):
            refuse_named_outside(own)
            found = datasets.load_from_disk(str(path))
            return found.to_iterable_dataset() if self.streaming and not isinstance(found, Mapping) else found
        files = parquet_files(path, own)
        if files:
            name = self.split or "train"
            return datasets.load_dataset("parquet", data_files={name: files}, split=name, streaming=self.streaming)
        if path.exists():
            raise BrittleError(
                f"{self.path} is neither a folder that save_to_disk wrote nor Parquet", "For image files: folder:…."
            )
        options = {"name": self.config, "split": self.split, "revision": self.revision, "streaming": self.streaming}
        if reachable(hugging_face_hub()):
            return datasets.load_dataset(self.path, **options)
        try:
            with _offline(datasets):
                return datasets.load_dataset(self.path, **options)
        except Exception as error:
            raise BrittleError(
                f"the dataset {self.path!r} is not on this machine and can't be fetched from {hugging_face_hub()}",
                "Connect, or name a folder or a .parquet file.",
            ) from error


def is_hugging_face(what: Any) -> bool:
    """Whether this is a dataset of Hugging Face's library, read by index or as a stream, without a transform."""
    own = type(what).__module__.split(".")[0] == "datasets" and hasattr(what, "features")
    return own and getattr(what, "format", {}).get("type") != "custom"


def from_hugging_face(
    dataset: Any, name: str = "", options: HuggingFace | None = None, *, classes: Sequence[str] = ()
) -> ImageSet:
    """A live dataset, or one that was opened by name."""
    wanted = options or HuggingFace(path=name or "dataset")
    title = name or getattr(dataset.info, "dataset_name", None) or type(dataset).__name__
    located = (
        Path if options is None else own_files(options.path, options.outside).path
    )  # a live one was opened by the user
    features = dataset.features
    if features is None:
        return from_stream(dataset, name=title, options=wanted, most=wanted.first, classes=classes, located=located)
    image = _column(features, wanted.image, "image", title)
    label = None if wanted.label == NONE else _column(features, wanted.label, "label", title)
    kept = importlib.import_module("datasets").Image(decode=False)
    _refuse_decoded(features, image, label, title)
    words = tuple(classes) or tuple(getattr(features[label], "names", None) or ()) if label else tuple(classes)
    if not hasattr(dataset, "__len__"):
        plain = dataset.select_columns([image] if label is None else [image, label])
        plain = plain.cast_column(image, kept) if type(features[image]) is type(kept) else plain
        items = ((item[image], None if label is None else item[label]) for item in plain)
        return from_stream(items, name=title, options=wanted, most=wanted.first, classes=words, located=located)
    dataset = dataset.with_format(None)
    if wanted.first is not None:
        dataset = dataset.select(range(min(wanted.first, len(dataset))))
    count = len(dataset)
    if count == 0:
        raise BrittleError(f"the image set {title!r} is empty", "Choose a source with at least one image.")
    numbers, found = label_numbers(None if label is None else _labels(dataset, label), count, title)
    pictures = dataset.select_columns([image])
    if type(features[image]) is type(kept):
        pictures = pictures.cast_column(image, kept)
    ids = torch.arange(count)
    reader = RowReader(pictures, image, wanted, located).settled(count)
    return ImageSet(title, ids, numbers, words or found, IndexNames(ids.numpy()), {}, reader)


@dataclass(frozen=True, eq=False)
class RowReader:
    """Decodes images that a dataset holds encoded, in threads."""

    rows: Any
    column: str
    options: EncodedOptions
    located: Callable[[str], Path]  # where a file lies that a row only names
    channels: str = "auto"

    @property
    def shape_samples(self) -> int:
        return INSPECTED

    def __call__(self, positions: Sequence[int]) -> list[Array]:
        size, crop = self.options.size, self.options.crop
        return self._each(positions, lambda image, name: from_pil(image, self.channels, name, size, crop))

    def shapes(self, positions: Sequence[int]) -> list[Shape]:
        """(C, H, W) after resizing and cropping, from the headers, without decoding any pixels."""
        size, crop = self.options.size, self.options.crop
        return self._each(positions, lambda image, _: prepared_shape(image, self.channels, size, crop))

    def settled(self, count: int) -> RowReader:
        """The same with the channels of the whole set: with auto, rgb if any of some images has colour."""
        wanted = self.options.channels
        if wanted == "auto":
            some = range(0, count, -(-count // INSPECTED))
            wanted = "auto" if all(self._each(list(some), lambda image, _: is_grey(image))) else "rgb"
        return RowReader(self.rows, self.column, self.options, self.located, wanted)

    def _each(self, positions: Sequence[int], work: Callable[[Image.Image, str], R]) -> list[R]:
        # A table that is read at scattered places gives no images that were not asked for.
        found = self.rows[list(positions)][self.column]
        return in_threads(
            lambda pair: self._decoded(pair[1], f"index {pair[0]}", work), list(zip(positions, found, strict=True))
        )

    def _decoded(self, image: Any, name: str, work: Callable[[Image.Image, str], R]) -> R:
        limit = self.options.megapixels

        def checked(opened: Image.Image) -> R:
            check_pixel_count(resized(opened.size, self.options.size), limit, f"the image {name}, resized,")
            return work(opened, name)

        return decoding(
            io.BytesIO(encoded(image, name, self.located)), name, checked, limit, "Replace it, or leave it out."
        )


def _labels(dataset: Any, label: str) -> Array:
    """All labels. The library's own numpy format would turn 2⁶⁴ − 1 into −1."""
    column = dataset.select_columns([label])
    stored = column.with_format("arrow")[:][label]
    return np.asarray(stored if pa.types.is_integer(stored.type) else column.with_format("numpy")[:][label])


def _column(features: Mapping[str, Any], wanted: str, sort: str, title: str) -> Any:
    """The column of images or labels: the one that is named, or by its type or a usual name; None for no labels."""
    if wanted != AUTO:
        if wanted not in features:
            raise BrittleError(f"{title} has no column {wanted!r}", did_you_mean(wanted, features))
        return wanted
    if sort == "image":
        typed = [key for key, feature in features.items() if type(feature).__name__ == "Image"]
        usual = [key for key in IMAGE_KEYS if key in features]
        chosen = typed if len(typed) == 1 else [key for key in usual if not typed or key in typed][:1]
    else:
        typed = [key for key, feature in features.items() if type(feature).__name__ == "ClassLabel"]
        chosen = [key for key in LABEL_KEYS if key in features][:1] or (typed if len(typed) == 1 else [])
    if not chosen and sort == "image":
        raise BrittleError(
            f"{title} has no column that holds images for certain (its columns: {', '.join(features)})", "Give image=…."
        )
    return chosen[0] if chosen else None


def _refuse_decoded(features: Mapping[str, Any], image: Any, label: Any, title: str) -> None:
    """The library itself opens the files that sound, video and the like name, and images that stand for labels."""
    decoded = importlib.import_module("datasets.features.features").require_decoding
    for column in (image, label):
        plain = column is None or not decoded(features[column])
        if not plain and (column == label or type(features[column]).__name__ != "Image"):
            kind, sort = type(features[column]).__name__, "label" if column == label else "image"
            raise BrittleError(f"the column {column!r} of {title} holds {kind}", f"Give another {sort}=….")


@contextmanager
def _offline(datasets: Any) -> Iterator[None]:
    """Within it, the library looks at its cache alone."""
    places = [datasets.config, importlib.import_module("huggingface_hub.constants")]
    before = [place.HF_HUB_OFFLINE for place in places]
    for place in places:
        place.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        for place, value in zip(places, before, strict=True):
            place.HF_HUB_OFFLINE = value
