"""Items of other people's datasets: pairs (image, label), or dictionaries in which both go by usual names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from brittle.errors import BrittleError

IMAGE_KEYS = ("image", "img", "pixel_values", "picture", "photo", "jpg", "jpeg", "png", "webp")
LABEL_KEYS = ("label", "labels", "fine_label", "target", "class", "cls", "y")


def pair(items: Any, place: int) -> tuple[Any, Any]:
    """Item `place` as (image, label); the label is None where a dictionary has none."""
    return paired(items[place], place)


def paired(item: Any, place: int) -> tuple[Any, Any]:
    """An item as (image, label)."""
    if isinstance(item, tuple | list) and len(item) == 2:
        return item[0], item[1]
    if isinstance(item, Mapping):
        return item[_key(item, IMAGE_KEYS, place)], item.get(label_key(item))
    raise BrittleError(
        f"item {place} is {type(item).__name__}, not a pair",
        "Make every item a pair (image, label), or a dictionary with image and label.",
    )


def one_by_one(items: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
    """Items as pairs; batches among them, as loaders give, as the pairs that they hold."""
    for place, item in enumerate(items):
        image, label = paired(item, place)
        if getattr(image, "ndim", 0) == 4:
            yield from zip(image, [None] * len(image) if label is None else label, strict=True)
        else:
            yield image, label


def label_key(names: Mapping[str, Any]) -> str:
    """What the label is called among some names; "" where there is none."""
    return next((key for key in LABEL_KEYS if key in names), "")


def _key(item: Mapping[str, Any], usual: Sequence[str], place: int) -> str:
    for key in usual:
        if key in item:
            return key
    raise BrittleError(
        f"item {place} is a dictionary with {', '.join(map(repr, item)) or 'nothing'}, none of which is an image",
        f"Name the image one of {', '.join(usual)}.",
    )


def class_names_of(items: Any) -> tuple[str, ...]:
    """The class names that a dataset brings: torchvision's `classes`, or the features of a Hugging Face dataset."""
    known = getattr(items, "classes", None)
    features = getattr(items, "features", None)
    if known is None and isinstance(features, Mapping):
        known = getattr(features.get(label_key(features)), "names", None)
    return tuple(map(str, known)) if isinstance(known, list | tuple) else ()


def labels_at_once(items: Any) -> Any:
    """All labels where a dataset has them apart from its images, so that no image is read: torchvision's `targets`, or
    a column of a Hugging Face dataset; None otherwise."""
    if getattr(items, "targets", None) is not None and getattr(items, "target_transform", None) is None:
        return items.targets
    columns = getattr(items, "column_names", None)
    key = label_key(dict.fromkeys(columns)) if isinstance(columns, list | tuple) else ""
    return items[key] if key else None
