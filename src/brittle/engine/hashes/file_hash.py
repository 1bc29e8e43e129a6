"""A hash of the files that a classifier's spec names: weights, an ONNX file, the user's own source file. Other contents
behind the same spec are another classifier, however alike its answers to a few images."""

from __future__ import annotations

import hashlib
import mmap
import os
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from brittle.classifiers.adapt import loader_of
from brittle.errors import is_users
from brittle.files import real_path
from brittle.registry import options_of

LOCATION = re.compile(rb"\x0a\x08location\x12")  # a StringStringEntryProto with the key "location", up to its value
LONGEST_PATH = 4096


def files_hash(spec: str) -> str:
    """Depends on contents, not on paths, so that a folder may move; "" where no file is named. The classifier has been
    loaded, so that a module's file is known."""
    files = list(_files(spec))
    return contents_hash(files) if files else ""


def contents_hash(files: Iterable[Path]) -> str:
    """A hash of what some files hold, in this order."""
    found = hashlib.blake2b(digest_size=12)
    for path in files:
        with path.open("rb") as file:
            found.update(hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=32)).digest())
    return found.hexdigest()


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
            yield from with_external_data(value) if value.lower().endswith(".onnx") else [Path(value)]
        elif Path(value).is_dir():  # a model with its configuration
            yield from sorted(each for each in Path(value).iterdir() if each.is_file())
        elif place.endswith(".py") and Path(place).is_file():
            yield Path(place)
        elif source and is_users(source):
            yield Path(source)


def with_external_data(model: str) -> list[Path]:
    """An ONNX file, and those that it says keep its weights: large models have them elsewhere, under any name."""
    path = Path(model)
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        named = {_text_at(content, each.end()) for each in LOCATION.finditer(content)}
    beside = (path.parent / name for name in sorted(named) if name)
    return [path, *(each for each in beside if each.is_file())]


def _text_at(content: mmap.mmap, place: int) -> str:
    """A text of protobuf: its length, seven bits per byte, the lowest first, and its bytes."""
    length, shift = 0, 0
    while place < len(content) and shift < 32:
        byte = content[place]
        length |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if byte < 128:
            break
    text = content[place : place + length] if length <= LONGEST_PATH else b""
    return "" if b"\0" in text else os.fsdecode(text)
