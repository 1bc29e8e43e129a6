"""Names and labels that are collected one by one and kept without an object for each: a million are a few runs of
bytes."""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np
import torch
from torch import Tensor

from brittle.errors import BrittleError
from brittle.files import printable
from brittle.images.base import MOST_CLASSES, LazyNames
from brittle.types import UNLABELLED


class PackedNames(LazyNames):
    """Names that lie one after another in one run of bytes, in the given order."""

    def __init__(self, text: bytes, starts: np.ndarray[Any, Any], order: np.ndarray[Any, Any]) -> None:
        self.text, self.starts, self.order = text, starts, order

    def __len__(self) -> int:
        return len(self.order)

    def word(self, place: int) -> str:
        first = int(self.order[place])
        return self.text[self.starts[first] : self.starts[first + 1]].decode()

    def at(self, order: np.ndarray[Any, Any]) -> PackedNames:
        return PackedNames(self.text, self.starts, self.order[order])


class NameList:
    """Names as they come."""

    def __init__(self) -> None:
        self._text, self._starts = bytearray(), array("q", [0])

    def add(self, name: str) -> None:
        self._text += printable(name).encode()
        self._starts.append(len(self._text))

    def packed(self) -> PackedNames:
        return PackedNames(bytes(self._text), np.array(self._starts), np.arange(len(self._starts) - 1))


class LabelList:
    """Labels as they come: numbers, words, or None where there is none."""

    def __init__(self) -> None:
        self._codes, self._known = array("q"), dict[Any, int]()

    def add(self, label: int | str | None) -> None:
        self._codes.append(self._known.setdefault(label, len(self._known)))

    def numbers(self, where: str) -> tuple[Tensor, tuple[str, ...]]:
        """Labels (n,), and the class names if they were words: sorted, as for folders."""
        known = list(self._known)
        if known == [None]:
            return torch.full((len(self._codes),), UNLABELLED, dtype=torch.int64), ()
        if None in known:
            raise BrittleError(f"some images of {where} have a label and others have none", "Leave the labels out.")
        words: tuple[str, ...] = ()
        if not all(isinstance(each, int) for each in known):
            words = tuple(sorted(set(map(str, known))))
            number = {word: place for place, word in enumerate(words)}
            known = [number[str(each)] for each in known]
        beyond = next((each for each in known if abs(each) >= MOST_CLASSES), None)
        if beyond is not None:
            raise BrittleError(
                f"{where} has the label {beyond}, and labels count classes from 0", "Number them 0, 1, …."
            )
        return torch.from_numpy(np.array(known, dtype=np.int64)[np.array(self._codes)]), words
