"""webdataset's shards: tar files in which an image and its label lie side by side under one key (`0017.jpg`,
`0017.cls`). The files are indexed once, from their headers, and images are then read where they lie."""

from __future__ import annotations

import glob
import io
import json
import os
import re
import tarfile
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from brittle.class_names import class_names
from brittle.contained_files import ContainedFiles
from brittle.errors import BrittleError
from brittle.files import real_path, size_of
from brittle.images import register
from brittle.images.base import ImageSet
from brittle.images.encoded import MOST_BYTES, EncodedOptions, EncodedReader, Extents
from brittle.images.folder import EXTENSIONS, path_id
from brittle.images.items import LABEL_KEYS
from brittle.images.limits import reason
from brittle.images.packed import LabelList, NameList
from brittle.registry import did_you_mean, option

RANGE = re.compile(r"\{(\d+)\.\.(\d+)\}")
LABELS = ("cls", "label", "json")  # what a label may lie under, the first that is there
LONGEST_LABEL = 1 << 20
LONGEST_HEADER = 1 << 16  # of one member, with what extends it: paths have 4,096 bytes at most
MOST_SHARDS = 100_000
AUTO, NONE = "auto", "none"


class ShardMember(NamedTuple):
    """A file within a shard: `photos/0017.jpg` has the key photos/0017 and the kind jpg."""

    key: str
    kind: str
    start: int
    length: int


@register("shards")
@dataclass(frozen=True, kw_only=True)
class Shards(EncodedOptions):
    """webdataset's shards: tar files of images and labels, which are read where they lie; an image's id is a hash of
    its shard's name and its key."""

    path: str = option(MISSING, "a .tar file, a folder of them, photos-{000..011}.tar or photos-*.tar", positional=True)
    image: str = option(AUTO, "what an image lies under, such as jpg or left.png; auto: any image format")
    label: str = option(
        AUTO, "what a label lies under, such as cls or json; none: unlabelled; auto: cls, label or json"
    )
    classes: str | None = option(None, "class names in label order: a text file with one per line, or a/b/c")

    def load(self) -> ImageSet:
        files = shard_files(self.path, self.outside)
        extents, ids, labels, keys = Extents(), array("q"), LabelList(), NameList()
        for number, file in enumerate(files):
            for key, image, label in self._samples(file):
                name = f"{file.name}/{key}"
                extents.add(number, image.start, image.length)
                ids.append(path_id(name))
                labels.add(label)
                keys.add(name)
        if not ids:
            raise BrittleError(f"there are no images in {self.path}", f"Images are {', '.join(sorted(EXTENSIONS))}.")
        found, words = labels.numbers(self.path)
        names = keys.packed()
        reader = EncodedReader(files, extents, names, self).settled()
        title = files[0].name if len(files) == 1 else f"{files[0].name} and {len(files) - 1} more"
        numbers = torch.from_numpy(np.array(ids, dtype=np.int64))
        return ImageSet(title, numbers, found, class_names(self.classes) or words, names, {}, reader)

    def _samples(self, file: Path) -> Iterator[tuple[str, ShardMember, Any]]:
        """Key, image and label of each sample: members that follow one another and share a key."""
        with file.open("rb") as stream:
            for key, members in _keyed(members_of(file)):
                name = f"{file.name}/{key}"
                image = _only([each for each in members if self._is_image(each.kind)], name, "image")
                if image is None:
                    continue
                if image.length > MOST_BYTES:
                    raise BrittleError(f"{file.name}/{key} is larger than {MOST_BYTES >> 30} GB", "Leave it out.")
                label = None if self.label == NONE else self._label(members, name)
                value = None
                if label is not None:
                    stream.seek(label.start)
                    value = _value(stream.read(min(label.length, LONGEST_LABEL)), label, file)
                elif self.label not in (AUTO, NONE):
                    kinds = [each.kind for each in members]
                    raise BrittleError(f"{file.name}/{key} has no {self.label!r}", did_you_mean(self.label, kinds))
                yield key, image, value

    def _is_image(self, kind: str) -> bool:
        return f".{kind.lower()}" in EXTENSIONS if self.image == AUTO else kind == self.image

    def _label(self, members: list[ShardMember], name: str) -> ShardMember | None:
        wanted = LABELS if self.label == AUTO else (self.label,)
        kind = next((kind for kind in wanted if any(each.kind == kind for each in members)), None)
        return _only([each for each in members if each.kind == kind], name, "label")


def shard_files(path: str, outside: str = "refuse") -> list[Path]:
    """The tar files that are meant, in order of their names as they are written. One that is named itself may be a link
    to anywhere."""
    text = real_path(path)
    if os.path.isdir(text):
        found = sorted(Path(text).glob("*.tar"))
    else:
        found = [Path(each) for part in _ranged(text) for each in (sorted(glob.glob(part)) or [part])]
    for file in found:
        if os.path.isdir(text) or glob.has_magic(text):
            ContainedFiles(file.parent, outside=outside).path(file.name)
    if not found:
        raise BrittleError(f"there are no .tar files in {path}", "Name shards, such as photos-{000..011}.tar.")
    for file in found:
        size_of(file)
        if file.suffix != ".tar":
            raise BrittleError(f"{file} is not a .tar file", "Unpack compressed shards first: gzip -d FILE.")
    names = [file.name for file in found]
    if len(set(names)) < len(names):
        raise BrittleError(f"two of the shards {path} have the same name", "Give every shard a name of its own.")
    return found


def _ranged(text: str) -> list[str]:
    """photos-{000..002}.tar → photos-000.tar, photos-001.tar, photos-002.tar"""
    match = RANGE.search(text)
    if match is None:
        return [text]
    first, last = int(match[1]), int(match[2])
    if not 0 <= last - first < MOST_SHARDS:
        raise BrittleError(f"{match[0]} is not a range of shards", "Write {000..011}.")
    numbers = (f"{number:0{len(match[1])}}" for number in range(first, last + 1))
    return [each for number in numbers for each in _ranged(text[: match.start()] + number + text[match.end() :])]


class HeaderStream(io.FileIO):
    """A tar file whose headers are read. Some declare their own length, and tarfile would read any length whole."""

    left = LONGEST_HEADER

    def read(self, size: int | None = -1, /) -> bytes:
        wanted = -1 if size is None else size
        self.left -= wanted
        if wanted < 0 or self.left < 0:
            raise tarfile.ReadError(f"a header is longer than {LONGEST_HEADER >> 10} KB")
        return super().read(wanted) or b""


def members_of(file: Path) -> Iterator[ShardMember]:
    """The regular files within a tar file, in order, from its headers."""
    try:
        with HeaderStream(file) as headers, tarfile.open(fileobj=headers, mode="r:") as archive:
            while (info := archive.next()) is not None:
                if info.size < 0:  # the next header would lie before this one, and so on for ever
                    raise tarfile.ReadError(f"{info.name} has a negative size")
                headers.left = LONGEST_HEADER
                archive.members = []  # type: ignore[attr-defined]  # it would keep every header that was read
                archive.pax_headers = {}
                if info.isreg() and not info.issparse():
                    folder, _, name = info.name.rpartition("/")
                    stem, _, kind = name.partition(".")
                    if stem and kind:
                        yield ShardMember(f"{folder}/{stem}" if folder else stem, kind, info.offset_data, info.size)
    except (tarfile.TarError, OSError, ValueError, EOFError, RecursionError) as error:
        raise BrittleError(f"{file} can't be read as a tar file: {reason(error)}", "Copy or make it again.") from error


def _keyed(members: Iterator[ShardMember]) -> Iterator[tuple[str, list[ShardMember]]]:
    together: list[ShardMember] = []
    for member in members:
        if together and member.key != together[0].key:
            yield together[0].key, together
            together = []
        together.append(member)
    if together:
        yield together[0].key, together


def _only(members: Sequence[ShardMember], name: str, sort: str) -> ShardMember | None:
    """The one image or label of a sample; None where there is none."""
    if len(members) > 1:
        kinds = [each.kind for each in members[:2]]
        remedy = f"Say which: {sort}={kinds[0]}." if kinds[0] != kinds[1] else "Leave one of them out."
        raise BrittleError(f"{name} has two {sort}s, {kinds[0]} and {kinds[1]}", remedy)
    return members[0] if members else None


def _value(content: bytes, label: ShardMember, file: Path) -> int | str:
    """A label: a number, or a word."""
    try:
        text = content.decode().strip()
        found = json.loads(text) if label.kind.rpartition(".")[2] == "json" else text
        if isinstance(found, Mapping):
            found = found[next(key for key in LABEL_KEYS if key in found)]
        if isinstance(found, int) or (isinstance(found, str) and found):
            return int(found) if re.fullmatch(r"-?\d{1,18}", str(found)) else str(found)
    except (ValueError, StopIteration, RecursionError):
        pass
    raise BrittleError(
        f"{file.name}/{label.key}.{label.kind} holds no label",
        "Give a number, a word, or JSON with `label`; or label=none.",
    )
