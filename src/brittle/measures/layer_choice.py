"""Which layers of a classifier are meant: by name, by shell pattern, or by number as UREM's figure 2 counts them; one
by one, or a set of them at once.

0 is the input, R − 1 the layer that gives the outputs, R the weights."""

from __future__ import annotations

import re
import zlib
from collections.abc import Collection, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from brittle.errors import BrittleError
from brittle.registry import did_you_mean

MOST = 12  # layers of a classifier where none are named
AT_ONCE = "+"  # between layers that are disturbed at once
_NUMBERS = re.compile(r"(\d+)(?:-(\d+))?")


class ChosenLayers(NamedTuple):
    """One layer, or several that are disturbed at once."""

    number: int  # of the one layer; of several, one below 0 that their names decide, so that rows tell sets apart
    members: tuple[int, ...]  # numbers of the layers, rising

    @property
    def together(self) -> bool:
        return len(self.members) > 1

    def names(self, layers: Sequence[str]) -> tuple[str, ...]:
        return tuple(layers[member] for member in self.members)

    def entry(self, layers: Sequence[str]) -> dict[str, object]:
        """What a summary says of it; a set has no number, and says those of its members."""
        named = {"layer": AT_ONCE.join(self.names(layers))}
        return named | ({"number": None, "members": [*self.members]} if self.together else {"number": self.number})


def chosen_layers(
    asked: Sequence[str], layers: Sequence[str], classifier: str = "", by_name_only: Collection[str] = ()
) -> tuple[ChosenLayers, ...]:
    """The layers asked for among `layers`, rising, then the sets; what the last layer, the weights, is part of comes
    after all others. Where none are asked for, all or 12, the last of which are the weights. No pattern matches what
    is meant `by_name_only`.

    A number is a place also where layers are named by numbers, as those of `nn.Sequential` are: the pattern [3]
    means the layer named 3."""
    words = [word.strip() for text in asked for word in text.split(",") if word.strip()]
    if not words:
        return tuple(ChosenLayers(number, (number,)) for number in _spaced(len(layers)))
    found = set()
    for word in words:
        parts = [word] if word in layers else [part.strip() for part in word.split(AT_ONCE)]
        meant = [_meant(part, layers, classifier, by_name_only) for part in parts]
        if len(parts) > 1:
            found.add(_together(sorted({number for numbers in meant for number in numbers}), layers))
        else:
            found |= {ChosenLayers(number, (number,)) for number in meant[0]}
    return tuple(sorted(found, key=lambda each: (len(layers) - 1 in each.members, each.together, each.members)))


def _together(members: Sequence[int], layers: Sequence[str]) -> ChosenLayers:
    if len(members) == 1:
        return ChosenLayers(members[0], (members[0],))
    names = AT_ONCE.join(layers[member] for member in members)
    return ChosenLayers(-1 - zlib.crc32(names.encode()) % (2**31 - 1), tuple(members))


def _spaced(count: int) -> tuple[int, ...]:
    """All of them; of many, the weights and others from input to output at equal distances."""
    if count <= MOST:
        return tuple(range(count))
    output = count - 2
    return (*(round(place * output / (MOST - 2)) for place in range(MOST - 1)), count - 1)


def _meant(word: str, layers: Sequence[str], classifier: str, by_name_only: Collection[str]) -> list[int]:
    numbers = _NUMBERS.fullmatch(word)
    if numbers is None:
        found = [
            number
            for number, name in enumerate(layers)
            if name == word or (fnmatchcase(name, word) and name not in by_name_only)
        ]
        if not found:
            raise BrittleError(f"classifier {classifier!r} has no layer {word!r}", did_you_mean(word, layers))
        return found
    first, last = int(numbers[1]), int(numbers[2] or numbers[1])
    if last >= len(layers) or first > last:
        raise BrittleError(
            f"classifier {classifier!r} has no layers {word}"
            if numbers[2]
            else f"classifier {classifier!r} has no layer number {word}",
            f"They are numbered from 0, the input, to {len(layers) - 1}, {layers[-1]!r}.",
        )
    return list(range(first, last + 1))
