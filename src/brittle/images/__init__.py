"""Image sets: (image, label, id) items from folders, idx and npz files, arrays, datasets, the bundled sample."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from brittle.registry import Registry, parse_spec

if TYPE_CHECKING:
    from brittle.images.base import ImageSet


class Loader(Protocol):
    """What a spec builds: options that say where an image set is loaded from."""

    def load(self) -> ImageSet: ...


image_sets: Registry[Loader] = Registry("image set", __name__)
register = image_sets.register


def in_scales(spec: str) -> bool:
    """Whether the image sets of a spec's kind come in scales, so that they bring their own shifts."""
    return bool(getattr(image_sets.get(parse_spec(spec).kind), "in_scales", False))


def image_set(what: Any, **options: Any) -> ImageSet:
    """Opens an image set.

    `what` is a spec ("sample", "folder:photos,size=256,crop=224"), an ImageSet, a tuple (images, labels) where images
    are an array or a list of arrays of any shapes, an array of images alone, or a sequence, Dataset or DataLoader whose
    items are pairs (image, label), or dictionaries with the usual names, such as image and label, or pixel_values
    and labels. With a spec, `options` are the options of its kind; otherwise they are `name`, `classes`, `ids` and
    `columns`.
    """
    from brittle.images.source import open_source  # `brittle --help` must not import torch

    return open_source(what, options)
