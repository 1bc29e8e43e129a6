"""What `image_set` accepts: a spec, a path, an image set, arrays, a sequence or Dataset of items, or a DataLoader."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, IterableDataset

from brittle.class_names import class_names
from brittle.errors import BrittleError
from brittle.files import printable
from brittle.images import image_sets, path_spec
from brittle.images.arrays import from_arrays, label_numbers, whole_numbers
from brittle.images.base import ImageSet, IndexNames
from brittle.images.compared_reader import ComparedReader, read_twice, spread
from brittle.images.hf_dataset import from_hugging_face, is_hugging_face
from brittle.images.items import class_names_of, labels_at_once, pair
from brittle.images.loader import LoaderItems, items_of
from brittle.images.pixels import Array, Shape, from_anything
from brittle.images.stream import from_stream
from brittle.registry import did_you_mean

FREE_OPTIONS = ("name", "classes", "ids", "columns")


def open_source(what: Any, options: Mapping[str, Any]) -> ImageSet:
    """The image set that `what` names or holds; see `brittle.images.image_set`."""
    if isinstance(what, (str, os.PathLike)):
        text = what if isinstance(what, str) else path_spec(printable(os.fspath(what)))
        return image_sets.build(text, {key: value for key, value in options.items() if value is not None}).load()
    unknown = next((key for key in options if key not in FREE_OPTIONS), None)
    if unknown is not None:
        raise BrittleError(
            f"an image set from {type(what).__name__} has no option {unknown!r}", did_you_mean(unknown, FREE_OPTIONS)
        )
    if isinstance(what, ImageSet):
        if options:
            raise BrittleError("options were given for an image set that is already open", "Leave them out.")
        return what
    settings = {key: value for key, value in options.items() if value is not None}
    if "classes" in settings:
        settings["classes"] = class_names(settings["classes"])
    if _is_array(what):
        return from_arrays(what, **settings)
    if isinstance(what, tuple) and len(what) == 2 and _is_array(what[0]):
        return from_arrays(*what, **settings)
    if isinstance(what, tuple) and len(what) == 2 and _are_arrays(what[0]):
        what = _zipped(*what)
    if isinstance(what, DataLoader):
        settings.setdefault("name", type(what.dataset).__name__)
        if not is_stream(what.dataset):
            what = items_of(what)
        if isinstance(what, LoaderItems):
            settings.setdefault("ids", what.places)
    if is_hugging_face(what) and not settings.keys() - {"name", "classes"}:
        return from_hugging_face(what, **settings)
    if is_stream(what):
        further = next((key for key in settings if key not in ("name", "classes")), None)
        if further is not None:
            raise BrittleError(f"images that are read as a stream take no {further}", "Give them by index instead.")
        return from_stream(what, **({"name": type(what).__name__} | settings))
    if isinstance(what, Mapping) and what and all(map(is_hugging_face, what.values())):
        raise BrittleError(
            f"the dataset has splits: {', '.join(what)}", f"Give one of them: dataset[{next(iter(what))!r}]."
        )
    if not (hasattr(what, "__len__") and hasattr(what, "__getitem__")) or isinstance(what, Mapping):
        raise BrittleError(
            f"{type(what).__name__} is not an image set: its items can't be read by index",
            "Give a spec such as 'folder:photos', (images, labels), or a list, Dataset or DataLoader of pairs.",
        )
    return from_sequence(what, **settings)


def is_stream(what: Any) -> bool:
    """Whether items only come one after another. A DataLoader has a length, and so may an IterableDataset."""
    if isinstance(what, DataLoader):
        return is_stream(what.dataset)
    return isinstance(what, IterableDataset) or (isinstance(what, Iterable) and not hasattr(what, "__len__"))


def _is_array(what: Any) -> bool:
    return isinstance(what, np.ndarray | Tensor)


def _are_arrays(what: Any) -> bool:
    """Whether this is a list of images, possibly of different shapes; a pair (image, label) is not."""
    return isinstance(what, list) and len(what) > 0 and all(_is_array(each) and each.ndim in (2, 3) for each in what)


def _zipped(images: list[Any], labels: Any) -> list[tuple[Any, Any]]:
    labels = [None] * len(images) if labels is None else labels
    if len(labels) != len(images):
        raise BrittleError(
            f"there are {len(images)} images but {len(labels)} labels", "Give one for each image, in the same order."
        )
    return list(zip(images, labels, strict=True))


class SequenceReader:
    """Reads the items of a sequence of (image, label), one at a time."""

    shape_samples = 200  # an item must be read, and perhaps decoded, to know its shape

    def __init__(self, items: Any, labels: Array | None) -> None:
        self.items, self.labels = items, labels

    def __call__(self, positions: Sequence[int]) -> list[Array]:
        return [from_anything(self._image(place), f"index {place}") for place in positions]

    def _image(self, place: int) -> Any:
        image, label = pair(self.items, place)
        if self.labels is not None and not _is_label(label, self.labels[place]):
            raise BrittleError(
                f"index {place} has the label {label}, and had the label {self.labels[place]} before",
                "Let the dataset give each image one label.",
            )
        return image

    def shapes(self, positions: Sequence[int]) -> list[Shape]:
        return [image.shape for image in self(positions)]


def from_sequence(
    items: Any,
    *,
    name: str | None = None,
    classes: Sequence[str] = (),
    ids: Any = None,
    columns: Mapping[str, Sequence[Any]] | None = None,
) -> ImageSet:
    """A sequence or map-style Dataset of items (`brittle.images.items`); a label of None means unlabelled."""
    title, count = name or type(items).__name__, len(items)
    if count == 0:
        raise BrittleError(f"the image set {title!r} is empty", "Choose a source with at least one image.")
    SequenceReader(items, None)([0])  # what is not an image is refused before all labels are read
    values = _labels(items, count)
    reader = ComparedReader(SequenceReader(items, values), title, count)
    read_twice(reader, np.arange(count))
    labels, found = label_numbers(values, count, title)
    keys = torch.arange(count) if ids is None else whole_numbers(ids, f"{title}: ids")
    names = tuple(classes) or found or _class_names(items, labels)
    return ImageSet(title, keys, labels, names, IndexNames(keys.numpy()), dict(columns or {}), reader)


def _labels(items: Any, count: int) -> Array | None:
    """All labels: those that the dataset has apart if they agree with some items; otherwise every item is read."""
    apart = labels_at_once(items)
    if apart is not None and len(apart) == count:
        values = np.asarray(apart)
        if values.ndim == 1 and all(_is_label(pair(items, place)[1], values[place]) for place in spread(count)):
            return values
    labels = [pair(items, place)[1] for place in range(count)]
    if all(label is None for label in labels):
        return None
    if any(label is None for label in labels):
        raise BrittleError("some images have a label and others have none", "Use −1 for images without a label.")
    return np.asarray(labels)


def _is_label(label: Any, known: Any) -> bool:
    return bool(np.array_equal(np.asarray(label), known))


def _class_names(items: Any, labels: Tensor) -> tuple[str, ...]:
    known = class_names_of(items)
    return known if len(known) > int(labels.max()) else ()
