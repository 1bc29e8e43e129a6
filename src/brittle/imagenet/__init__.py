"""ImageNet's thousand classes: their WordNet ids in the order in which classifiers give them, and WordNet's words for
them. A class is shown as `tench (n01440764)`: the first word alone is not always unique (two classes are cranes)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from importlib import resources

ID = re.compile(r"n\d{8}")
LEADING = re.compile(r"(n\d{8})(?:[\s_:,-].*)?", re.DOTALL)  # n01440764, n01440764_tench, n01440764 tench
SHOWN = re.compile(r".+ \((n\d{8})\)", re.DOTALL)
MATCHING = 0.9  # of a thousand names, at their places: libraries spell some in their own way


@cache
def words() -> dict[str, tuple[str, ...]]:
    """WordNet id → WordNet's words for it, the most usual first; in the order in which classifiers give the classes."""
    text = (resources.files("brittle.imagenet") / "classes.tsv").read_text(encoding="utf-8")
    rows = (line.split("\t") for line in text.splitlines())
    return {key: tuple(said.split(", ")) for key, said in rows}


@cache
def ids() -> tuple[str, ...]:
    """The WordNet ids, in the order in which classifiers give the classes."""
    return tuple(words())


def shown(label: str) -> str:
    """A class name as people read it: one that is a WordNet id, or begins with one, with its word; others as they
    are."""
    found = LEADING.fullmatch(label)
    if found is None or found[1] not in words():
        return label
    return f"{words()[found[1]][0]} ({found[1]})"


def shown_labels(labels: Sequence[str]) -> tuple[str, ...]:
    """A classifier's labels as people read them; ImageNet's thousand, under whatever words, get their ids."""
    if len(labels) == len(ids()):
        right = sum(_means(label, key) for label, key in zip(labels, ids(), strict=True))
        if right >= MATCHING * len(labels):
            return tuple(map(shown, ids()))
    return tuple(map(shown, labels))


def taken_for_imagenets(labels: Sequence[str], named: bool, classes: Sequence[str]) -> bool:
    """Whether a classifier's classes without names are taken for ImageNet's: there are as many, and the classes of the
    images, as they are shown, are all among them."""
    return not named and len(labels) == len(ids()) and len(classes) > 0 and all(map(aliases, classes))


def by_name(labels: Sequence[str]) -> dict[str, int]:
    """The place of each shown label that occurs once, by all that it may be called where that means no other."""
    names = [(name, place) for place, label in enumerate(labels) for name in dict.fromkeys((label, *aliases(label)))]
    counts, own = Counter(name for name, _ in names), Counter(labels)
    return {name: place for name, place in names if counts[name] == 1 or (own[name] == 1 and labels[place] == name)}


def aliases(label: str) -> tuple[str, ...]:
    """What else a shown class may be called: its WordNet id and all of WordNet's words for it."""
    found = SHOWN.fullmatch(label)
    return (found[1], *words()[found[1]]) if found is not None and found[1] in words() else ()


def _means(label: str, key: str) -> bool:
    said = {part.strip().replace("_", " ").casefold() for part in label.split(",")}
    return key in label or any(word.casefold() in said for word in words()[key])
