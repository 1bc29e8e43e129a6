"""Decisions of people and models in the format of model-vs-human (github.com/bethgelab/model-vs-human).

A CSV file with a row per trial: subj,session,trial,rt,object_response,category,condition,imagename. Only who decided
(subj), what they said (object_response) and about which image (imagename) are read. Files of people have subjects named
subject-01, subject-02, …; an answer that is none of the classes ("na") is an error.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path, PurePosixPath

from brittle.errors import BrittleError
from brittle.files import real_path

COLUMNS = ("subj", "session", "trial", "rt", "object_response", "category", "condition", "imagename")
NEEDED = ("subj", "object_response", "imagename")
PERSON = "subject"  # how the names of people begin

Decisions = Mapping[str, Mapping[str, str]]  # who → image → what they said


def is_person(name: str) -> bool:
    return name.startswith(PERSON)


@lru_cache(maxsize=64)
def read_decisions(file: str) -> Decisions:
    """Who said what of which image; of several trials with one image, the first."""
    path = Path(real_path(file))
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            rows = csv.DictReader(stream)
            lacking = [name for name in NEEDED if name not in (rows.fieldnames or ())]
            if lacking:
                raise BrittleError(
                    f"the decisions {file} lack the column{'s' * (len(lacking) > 1)} {', '.join(lacking)}",
                    f"Give a CSV file with the columns {', '.join(COLUMNS)}.",
                )
            found: dict[str, dict[str, str]] = {}
            for row in rows:
                who, said, image = ((row[name] or "").strip() for name in NEEDED)
                if not who or not image:
                    raise BrittleError(
                        f"line {rows.line_num} of the decisions {file} names no subject or no image", "Fix that line."
                    )
                found.setdefault(who, {}).setdefault(stem(image), said)
    except FileNotFoundError:
        raise BrittleError(f"there is no file {file} of decisions", "Check the path.") from None
    except OSError as error:
        raise BrittleError(f"the decisions {file} can't be read: {error.strerror}", "Name a readable file.") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise BrittleError(f"the decisions {file} are not a CSV file: {error}", "Save it as UTF-8 text.") from error
    if not found:
        raise BrittleError(f"the decisions {file} hold no trial", "Give a file with a row per trial.")
    return found


def together(files: Sequence[str]) -> dict[str, dict[str, str]]:
    """Several files as one; sessions of one subject may be apart."""
    found: dict[str, dict[str, str]] = {}
    for file in files:
        for who, said in read_decisions(file).items():
            found.setdefault(who, {})
            found[who] = dict(said) | found[who]
    return found


def stem(name: str) -> str:
    """cat7-elephant1, of any folder and extension."""
    return PurePosixPath(name.replace("\\", "/")).stem


def matched(said: Mapping[str, str], names: Sequence[str]) -> list[str | None]:
    """What was said of each image of a set, None where nothing was. Files from the laboratory put session and trial
    before an image's name, with underscores."""
    later = {image.rpartition("_")[2]: answer for image, answer in said.items()}
    return [said.get(each, later.get(each)) for each in map(stem, names)]
