"""Which layers of a classifier are meant: by name, by shell pattern, or by number as UREM's figure 2 counts them.

0 is the input, R − 1 the layer that gives the outputs, R the weights."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase

from brittle.errors import BrittleError
from brittle.registry import did_you_mean

MOST = 12  # layers of a classifier where none are named
_NUMBERS = re.compile(r"(\d+)(?:-(\d+))?")


def chosen_layers(asked: Sequence[str], layers: Sequence[str], classifier: str = "") -> tuple[int, ...]:
    """The numbers, rising, of the layers asked for among `layers`; where none are, of all or of 12, the last of which
    are the weights.

    A number is a place also where layers are named by numbers, as those of `nn.Sequential` are: the pattern [3]
    means the layer named 3."""
    words = [word.strip() for text in asked for word in text.split(",") if word.strip()]
    if not words:
        return _spaced(len(layers))
    return tuple(sorted({number for word in words for number in _meant(word, layers, classifier)}))


def _spaced(count: int) -> tuple[int, ...]:
    """All of them; of many, the weights and others from input to output at equal distances."""
    if count <= MOST:
        return tuple(range(count))
    output = count - 2
    return (*(round(place * output / (MOST - 2)) for place in range(MOST - 1)), count - 1)


def _meant(word: str, layers: Sequence[str], classifier: str) -> list[int]:
    numbers = _NUMBERS.fullmatch(word)
    if numbers is None:
        found = [number for number, name in enumerate(layers) if name == word or fnmatchcase(name, word)]
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
