"""Labels of generated images: a file per labeller, to which lines are only ever added.

The first line says who labels: a person, or what stands in for people and is called a proxy wherever its labels are
used. Each further line is one answer, on disk before the next image is shown. A later answer to the same image replaces
an earlier one. What a kill left of a line is removed when the file is next opened.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from brittle.errors import BrittleError
from brittle.files import read_whole, unusable, write_durably

Label = Literal["class", "partly", "not"]
LABELS: tuple[str, ...] = get_args(Label)
EXAMPLE = "example:"  # what the name of a real example begins with; a class's index follows
SUFFIX = ".jsonl"
PERSON = re.compile(r"[\w-]{1,40}")


@dataclass(frozen=True)
class ImageLabel:
    """What one labeller says of one image."""

    image: str  # its path below the benchmark's folder, or that of a real example
    label: str
    shift_visible: bool | None = None  # None: not asked


@dataclass
class Labeller:
    """A person, or a proxy, with all answers so far."""

    name: str
    proxy: str = ""  # what it is, where it is not a person
    answers: dict[str, ImageLabel] = field(default_factory=dict)

    @property
    def generated(self) -> dict[str, ImageLabel]:
        """Answers about generated images, without real examples."""
        return {image: each for image, each in self.answers.items() if not image.startswith(EXAMPLE)}


class LabelFile:
    """The open file of one person."""

    def __init__(self, folder: Path, person: str) -> None:
        if not PERSON.fullmatch(person):
            raise BrittleError(f"{person!r} can't be a person's name", "Use up to 40 letters, digits, - and _.")
        self.path = folder / f"{person}{SUFFIX}"
        if not self.path.exists():
            write_header(self.path, {"person": person})
        self.labeller = read_labeller(self.path)
        if self.labeller.proxy:
            raise BrittleError(f"{self.path} holds labels of a proxy", "Choose another name.")
        try:
            self._file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW)
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(self._file, _whole_lines(self.path.read_bytes()))
        except BlockingIOError:
            os.close(self._file)
            raise BrittleError(f"{self.path} is in use by another process", "End the other `brittle label`.") from None
        except OSError as error:
            raise unusable(self.path, "written", error) from error

    def add(self, answer: ImageLabel) -> None:
        """Returns once the answer is on disk."""
        line = _line(answer)
        try:
            before = os.fstat(self._file).st_size
            try:
                _write_all(self._file, line)
                os.fsync(self._file)
            except OSError:
                os.ftruncate(self._file, before)  # half a line of a full disk must not precede a whole one
                raise
        except OSError as error:
            raise unusable(self.path, "written", error) from error
        self.labeller.answers[answer.image] = answer

    def close(self) -> None:
        os.close(self._file)


def write_labels(path: Path, proxy: str, answers: Iterable[ImageLabel]) -> None:
    """All labels of a proxy at once."""
    lines = b"".join(map(_line, answers))
    write_header(path, {"proxy": proxy}, lines)


def write_header(path: Path, header: Mapping[str, Any], rest: bytes = b"") -> None:
    write_durably(path, lambda to: to.write_bytes(json.dumps(header).encode() + b"\n" + rest))


def read_labeller(path: Path) -> Labeller:
    content = read_whole(path)
    lines, number = content[: _whole_lines(content)].splitlines(), 1
    try:
        header = json.loads(lines[0])
        found = Labeller(path.stem, str(header.get("proxy", "")))
        for text in lines[1:]:
            number += 1
            answer = _answer(json.loads(text))
            found.answers[answer.image] = answer
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise BrittleError(
            f"{path} does not hold labels: see line {number}", "Restore it, or move it elsewhere."
        ) from error
    return found


def read_labels(folder: Path) -> list[Labeller]:
    """All labellers of a folder. People and proxies are never mixed."""
    if not folder.is_dir():
        raise BrittleError(f"there is no folder {folder}", "Name the folder that `brittle label` wrote labels to.")
    found = [read_labeller(path) for path in sorted(folder.glob(f"*{SUFFIX}"))]
    if not found:
        raise BrittleError(f"{folder} holds no labels", "Label some images first: brittle label.")
    if len({bool(each.proxy) for each in found}) > 1:
        raise BrittleError(
            f"{folder} holds labels of people and of proxies", "Keep them in two folders: they mean different things."
        )
    return found


def _answer(record: Mapping[str, Any]) -> ImageLabel:
    if record["label"] not in LABELS:
        raise ValueError(record["label"])
    seen = record.get("shift_visible")
    return ImageLabel(str(record["image"]), record["label"], None if seen is None else bool(seen))


def _line(answer: ImageLabel) -> bytes:
    record: dict[str, Any] = {"image": answer.image, "label": answer.label}
    if answer.shift_visible is not None:
        record["shift_visible"] = answer.shift_visible
    return json.dumps(record).encode() + b"\n"


def _write_all(file: int, content: bytes) -> None:
    while content:
        content = content[os.write(file, content) :]


def _whole_lines(content: bytes) -> int:
    """How many bytes of a file are whole lines."""
    return content.rfind(b"\n") + 1
