"""Decisions of people and models in the format of model-vs-human (github.com/bethgelab/model-vs-human).

A CSV file with a row per trial: subj,session,trial,rt,object_response,category,condition,imagename. Only who decided
(subj), what they said (object_response) and about which image (imagename) are read. Files of people have subjects named
subject-01, subject-02, …; an answer that is none of the classes ("na") is an error.

The same image has several names: 0001_cl_s01_cr_oven_40_n04111531_14126 as the first trial of the first person,
0001_cl_dnn_cr_oven_40_n04111531_14126 in the folder that is shown to networks, n04111531_14126 before the experiment.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path, PurePosixPath

from brittle.errors import BrittleError
from brittle.files import real_path, size_of

COLUMNS = ("subj", "session", "trial", "rt", "object_response", "category", "condition", "imagename")
NEEDED = ("subj", "object_response", "imagename")
PERSON = "subject"  # how the names of people begin
MOST_BYTES = 1 << 30
TRIAL = re.compile(r"\d+_[^_]+_(?:s\d+|dnn)_(?P<shown>.+)")  # trial, experiment, observer; condition, class and image

Decisions = Mapping[str, Mapping[str, str]]  # who → image → what they said


def is_person(name: str) -> bool:
    return name.startswith(PERSON)


@lru_cache(maxsize=64)
def read_decisions(file: str) -> Decisions:
    """Who said what of which image; of several trials with one image, the first."""
    path = Path(real_path(file))
    if size_of(path) > MOST_BYTES:
        raise BrittleError(
            f"the decisions {file} are larger than {MOST_BYTES >> 30} GB", "Leave out what is not needed."
        )
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            rows = csv.DictReader(stream)
            rows.fieldnames = [name.strip().lower() for name in rows.fieldnames or ()]
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
                found.setdefault(who, {}).setdefault(file_stem(image), said)
    except OSError as error:
        raise BrittleError(f"the decisions {file} can't be read: {error.strerror}", "Name a readable file.") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise BrittleError(f"the decisions {file} are not a CSV file: {error}", "Save it as UTF-8 text.") from error
    if not found:
        raise BrittleError(f"the decisions {file} hold no trial", "Give a file with a row per trial.")
    return found


def merged(files: Sequence[str]) -> dict[str, dict[str, str]]:
    """Several files as one; sessions of one subject may be apart."""
    found: dict[str, dict[str, str]] = {}
    for file in files:
        for who, said in read_decisions(file).items():
            found.setdefault(who, {})
            found[who] = dict(said) | found[who]
    return found


def file_stem(name: str) -> str:
    """cat7-elephant1, of any folder and extension."""
    return PurePosixPath(name.replace("\\", "/")).stem


def stimulus_name(name: str) -> str:
    """cr_oven_40_n04111531_14126: what was shown, without trial and observer."""
    found = TRIAL.fullmatch(name)
    return name if found is None else found["shown"]


def source_image(name: str) -> str:
    """n04111531_14126, cat7-elephant1: the image that was made into a stimulus."""
    parts = name.split("_")
    return "_".join(parts[-2:]) if re.fullmatch(r"n\d{8}", "".join(parts[-2:-1])) else parts[-1]


def decisions_by_image(said: Mapping[str, str], names: Sequence[str]) -> list[str | None]:
    """What was said of each image of a set, None where nothing was. An image that was shown in several conditions is
    found by the whole of its name alone."""
    stimuli = {stimulus_name(image): answer for image, answer in said.items()}
    often = Counter(map(source_image, stimuli))
    plain = {source_image(image): answer for image, answer in stimuli.items() if often[source_image(image)] == 1}
    found = []
    for name in map(file_stem, names):
        other = (
            stimuli.get(stimulus_name(name), said.get(source_image(name))) if TRIAL.fullmatch(name) else plain.get(name)
        )
        found.append(said.get(name, other))
    return found
