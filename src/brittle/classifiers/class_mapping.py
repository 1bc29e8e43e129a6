"""Class mappings: coarser classes made of a classifier's own, such as 16 of ImageNet's 1,000.

    p(C | x) ∝ mean of p(c | x) over the c that make up C    (or their sum)

normalised over the mapped classes: what the classifier gives to classes outside the mapping is left out. The mean keeps
a class of a hundred breeds from winning by its number alone (Geirhos et al. 2019, section 2).
"""

from __future__ import annotations

import csv
import json
import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor

from brittle.errors import BrittleError
from brittle.files import real_path
from brittle.imagenet import ID, ids
from brittle.registry import did_you_mean, option

BUILT_IN = ("imagenet-16",)
LARGEST_FILE = 16 << 20
LONGEST_NUMBER = 18  # digits: Python itself refuses to convert thousands
FORMATS = "Give a .json or .toml file of class = [members], or a .csv file with the columns class and member."

Within = Literal["mean", "sum"]


@dataclass(frozen=True, kw_only=True)
class ClassMappingOptions:
    """The options of every classifier that its classes may be mapped by."""

    classes: Any = option(
        None,
        "coarser classes made of its own: imagenet-16, or a .json, .toml or .csv file of class and members (numbers, "
        "label names or WordNet ids)",
    )
    within: Literal["mean", "sum"] = option(
        "mean", "how the probabilities that make up one of these classes are joined; then normalised over them"
    )

    def mapping(self) -> ClassMapping | None:
        return None if self.classes is None else class_mapping(self.classes, self.within)


@dataclass(frozen=True)
class ClassMapping:
    """Names of classes, and what each is made of: numbers, label names or WordNet ids."""

    names: tuple[str, ...]
    members: tuple[tuple[str | int, ...], ...]
    within: Within = "mean"

    def resolved(self, labels: Sequence[str] | None, count: int, who: str) -> Pooling:
        """For a classifier with `count` classes, and their names where there are some."""
        numbers = _numbers(labels or (), count)
        found: dict[int, str] = {}
        rows = []
        for name, members in zip(self.names, self.members, strict=True):
            row = [_number(member, numbers, count, who) for member in members]
            for member, place in zip(members, row, strict=True):
                if found.get(place) == name:
                    raise BrittleError(f"class {place} of {who} ({member}) stands twice in {name!r}", "Name it once.")
                if place in found:
                    raise BrittleError(
                        f"class {place} of {who} ({member}) belongs to {found[place]!r} and {name!r}",
                        "Let it belong to one class of the mapping.",
                    )
                found[place] = name
            rows.append(row)
        return Pooling.of(rows, self.within, count)


@dataclass(frozen=True)
class Pooling:
    """Places (C, M) of the members of C classes among K, padded, and which of them are real."""

    places: Tensor
    there: Tensor
    within: Within
    whole: bool  # whether every class belongs to one of these
    _on: dict[torch.device, tuple[Tensor, Tensor]] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]], within: Within, count: int) -> Pooling:
        longest = max(map(len, rows))
        places = torch.tensor([[*row, *[0] * (longest - len(row))] for row in rows])
        there = torch.arange(longest) < torch.tensor([[len(row)] for row in rows])
        return cls(places, there, within, sum(map(len, rows)) == count)

    def __call__(self, log_probs: Tensor) -> Tensor:
        """log p(c | x) (B, K) → log p(C | x) (B, C)."""
        device = log_probs.device
        if device not in self._on:
            self._on[device] = self.places.to(device), self.there.to(device)
        places, there = self._on[device]
        joined = log_probs[:, places].masked_fill(~there, -torch.inf).logsumexp(-1)
        if self.within == "mean":
            joined = joined - there.sum(1).log()
        return joined.log_softmax(1)


def class_mapping(what: Any, within: Within = "mean") -> ClassMapping:
    """The mapping that is built in under a name, stands in a file, or is a dictionary of class → members."""
    if isinstance(what, ClassMapping):
        return what
    if isinstance(what, Mapping):
        return _made(what, "classes", within)
    if not isinstance(what, (str, os.PathLike)):
        raise BrittleError(f"classes is of type {type(what).__name__}", "Give a dictionary, a file or a built-in name.")
    text = os.fspath(what)
    if text in BUILT_IN:
        file = resources.files("brittle.classifiers") / "data" / f"{text}.json"
        return _made(json.loads(file.read_text(encoding="utf-8")), text, within)
    path = Path(real_path(text))
    if not path.is_file():
        raise BrittleError(f"classes={text}: there is no such file", did_you_mean(text, BUILT_IN))
    return _made(_read(path), f"classes={text}", within)


def _read(path: Path) -> Any:
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise BrittleError(f"classes={path} is too large for a mapping of classes", FORMATS)
        text = path.read_text(encoding="utf-8-sig")
        if path.suffix.lower() == ".json":
            return json.loads(text)
        if path.suffix.lower() == ".toml":
            return tomllib.loads(text)
        if path.suffix.lower() == ".csv":
            return _from_csv(text, path)
    except OSError as error:
        raise BrittleError(f"classes={path} can't be read: {error.strerror}", "Name a readable file.") from error
    except (ValueError, RecursionError, csv.Error) as error:
        raise BrittleError(f"classes={path} is not a mapping of classes: {error}", FORMATS) from error
    raise BrittleError(f"classes={path} is not a .json, .toml or .csv file", FORMATS)


def _from_csv(text: str, path: Path) -> dict[str, list[str]]:
    rows = csv.DictReader(text.splitlines())
    if not {"class", "member"} <= set(rows.fieldnames or ()):
        raise BrittleError(f"classes={path} lacks the columns class and member", FORMATS)
    found: dict[str, list[str]] = {}
    for row in rows:
        found.setdefault(row["class"] or "", []).append(row["member"] or "")
    return found


def _made(table: Any, where: str, within: Within) -> ClassMapping:
    if not isinstance(table, Mapping) or len(table) < 2:
        raise BrittleError(f"{where} does not name at least two classes", FORMATS)
    for name, members in table.items():
        fine = isinstance(members, (list, tuple)) and len(members) > 0
        if not str(name) or not fine or not all(type(each) in (int, str) and each != "" for each in members):
            raise BrittleError(
                f"{where}: the class {name!r} is not a list of members",
                "List numbers, label names or WordNet ids, at least one.",
            )
    return ClassMapping(tuple(map(str, table)), tuple(tuple(members) for members in table.values()), within)


def _numbers(labels: Sequence[str], count: int) -> dict[str, int]:
    """The class that each name means: a label, the WordNet id that a label is or holds, and where labels hold no
    ids, the id's place among ImageNet's thousand."""
    held = {found[0]: place for place, label in enumerate(labels) if (found := ID.search(label))}
    if not held and count == len(ids()):
        held = {each: place for place, each in enumerate(ids())}
    return held | {label: place for place, label in enumerate(labels)}


def _number(member: str | int, numbers: Mapping[str, int], count: int, who: str) -> int:
    if isinstance(member, str) and member in numbers:
        return numbers[member]
    if isinstance(member, int) or member.isdecimal():
        digits = str(member)
        if len(digits) <= LONGEST_NUMBER and 0 <= int(digits) < count:
            return int(digits)
        raise BrittleError(f"{who} has no class {digits[:LONGEST_NUMBER]}", f"Its classes are 0 to {count - 1}.")
    if ID.fullmatch(member):
        raise BrittleError(
            f"{who} has {count} classes and none with the WordNet id {member}",
            "Name its classes by their ids with labels=…, or give numbers; of 1,000 the order is known.",
        )
    raise BrittleError(f"{who} has no class {member!r}", did_you_mean(member, numbers))
