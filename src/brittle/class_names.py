"""Names of classes: from a text file with one per line, or written a/b/c."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from brittle.errors import BrittleError
from brittle.files import real_path

LONGEST_FILE = 16 << 20
PATH_LIKE = re.compile(r"[/~.]|.*\.[A-Za-z]\w{0,4}$", re.DOTALL)  # begins as a path does, or ends in an extension


def class_names(names: str | os.PathLike[str] | Sequence[str] | None, option: str = "classes") -> tuple[str, ...]:
    """The names that an option gives; a sequence is taken as it is. Text that looks like the path of a missing file is
    refused, so that a mistyped path does not become names."""
    if names is None:
        return ()
    if not isinstance(names, str | os.PathLike):
        return tuple(map(str, names))
    text = real_path(os.fspath(names))
    if os.path.isfile(text):
        return _lines(text, option)
    parts = text.split("/")
    folder = os.path.dirname(text)
    if len(parts) < 2 or not all(part.strip() for part in parts) or PATH_LIKE.match(text) or os.path.isdir(folder):
        shown = text if len(text) <= 80 else text[:79] + "…"
        raise BrittleError(
            f"{option}={shown}: there is no such file, and these are not names",
            f"Write {option}=a/b/c, or name a text file with one per line.",
        )
    return tuple(parts)


def _lines(file: str, option: str) -> tuple[str, ...]:
    try:
        with open(file, "rb") as stream:
            content = stream.read(LONGEST_FILE + 1)
        text = content.decode("utf-8-sig")
    except OSError as error:
        raise BrittleError(f"{option}={file} can't be read: {error.strerror}", "Name a readable file.") from error
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise BrittleError(f"{option}={file} is not UTF-8 text: see line {line}", "Save it as UTF-8.") from error
    found = tuple(line.strip() for line in text.splitlines() if line.strip())
    if not found or len(content) > LONGEST_FILE or "\0" in text:
        raise BrittleError(f"{option}={file} is not a list of names", "Give a text file with one name per line.")
    return found


def displayed_classes(labels: Sequence[str], classes: Sequence[str], named: bool) -> tuple[str, ...]:
    """A classifier's own words for its classes, or the image set's where they go by number."""
    numbered = all(label == str(place) for place, label in enumerate(labels))
    by_number = not named or (numbered and not set(classes) <= set(labels))
    return (*classes[: len(labels)], *labels[len(classes) :]) if by_number else tuple(labels)
