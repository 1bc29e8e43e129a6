"""Image sets: (image, label, id) items from folders, idx and npz files, arrays, datasets, the bundled sample."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from brittle.errors import BrittleError
from brittle.files import real_path
from brittle.registry import Registry, Spec
from brittle.registry.spec import before_comma, write_spec
from brittle.registry.values import nearest

if TYPE_CHECKING:
    from brittle.images.base import ImageSet


class Loader(Protocol):
    """What a spec builds: options that say where an image set is loaded from."""

    def load(self) -> ImageSet: ...


class ImageSetRegistry(Registry[Loader]):
    """A registry in which a path alone is a spec too: `photos` or `photos,size=256` for a folder, `digits.npz`."""

    def parsed(self, text: str) -> Spec:
        spec = super().parsed(text)
        if spec.kind in self.names():
            return spec
        path, options = before_comma(text.strip())
        is_path = os.path.exists(real_path(path)) or (":" not in path and not nearest(path, self.names()))
        return super().parsed(path_spec(path) + options) if is_path else spec


image_sets = ImageSetRegistry("image set", __name__)
register = image_sets.register


def path_spec(path: str) -> str:
    """The spec of what lies at a path: a folder of images, or an .npz file."""
    place = Path(real_path(path))
    if place.is_dir():
        return write_spec("folder", path, {})
    if not place.exists():
        near = place.parent.iterdir() if place.parent.is_dir() else ()
        remedy = "Check the path; `brittle list images` has every kind of image set."
        raise BrittleError(f"there is no folder or file {path}", nearest(path, near) or remedy)
    if place.suffix.lower() == ".npz":
        return write_spec("npz", path, {})
    raise BrittleError(f"{path!r} does not say what kind of image set it is", f"Did you mean 'idx:{path}'?")


def in_scales(spec: str) -> bool:
    """Whether the image sets of a spec's kind come in scales, so that they bring their own shifts."""
    return bool(getattr(image_sets.get(image_sets.parsed(spec).kind), "in_scales", False))


def image_set(what: Any, **options: Any) -> ImageSet:
    """Opens an image set.

    `what` is a spec ("sample", "folder:photos,size=256,crop=224"), the path of a folder, an ImageSet, a tuple
    (images, labels) where images are an array or a list of arrays of any shapes, an array of images alone, or a
    sequence, Dataset or DataLoader whose items are pairs (image, label), or dictionaries with the usual names, such as
    image and label, or pixel_values and labels. With a spec or a path, `options` are the options of its kind;
    otherwise they are `name`, `classes`, `ids` and `columns`.
    """
    from brittle.images.source import open_source  # `brittle --help` must not import torch

    return open_source(what, options)
