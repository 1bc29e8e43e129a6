"""A hash of the files that a classifier's spec names: weights, an ONNX file, the user's own source file. Other contents
behind the same spec are another classifier, however alike its answers to a few images."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path

from brittle.classifiers.adapt import loader_of
from brittle.errors import is_users
from brittle.files import real_path
from brittle.registry import options_of


def files_hash(spec: str) -> str:
    """Depends on contents, not on paths, so that a folder may move; "" where no file is named. The classifier has been
    loaded, so that a module's file is known."""
    found = hashlib.blake2b(digest_size=12)
    files = list(_files(spec))
    for path in files:
        with path.open("rb") as file:
            found.update(hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=32)).digest())
    return found.hexdigest() if files else ""


def _files(spec: str) -> Iterator[Path]:
    loader = loader_of(spec)
    for field in options_of(type(loader)).values():
        value = getattr(loader, field.name)
        if not isinstance(value, str):
            continue
        value = real_path(value)
        place, colon, _ = value.rpartition(":")
        module = sys.modules.get(place) if colon else None
        source = getattr(module, "__file__", None) or ""
        if Path(value).is_file():
            yield Path(value)
            if value.lower().endswith(".onnx"):  # large ones keep their weights in files beside them
                name = Path(value).name
                yield from sorted(each for each in Path(value).parent.iterdir() if _beside(name, each))
        elif Path(value).is_dir():  # a model with its configuration
            yield from sorted(each for each in Path(value).iterdir() if each.is_file())
        elif place.endswith(".py") and Path(place).is_file():
            yield Path(place)
        elif source and is_users(source):
            yield Path(source)


def _beside(name: str, file: Path) -> bool:
    """model.onnx.data, model.onnx_data."""
    return file.is_file() and file.name in (f"{name}.data", f"{name}_data")
