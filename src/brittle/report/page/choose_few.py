"""What is shown of many classifiers: some in full, so that a report of forty stays as short as one of eight."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

MOST_CLASSIFIERS = 8  # with figures and pictures


def some_of(names: Sequence[str], scores: Mapping[str, float], most: int = MOST_CLASSIFIERS) -> list[str]:
    """At most so many of the names, in their own order: by turns the first, those of the highest and those of the
    lowest score."""
    if len(names) <= most:
        return list(names)
    falling = sorted(names, key=lambda name: -scores[name])
    turns = itertools.chain.from_iterable(zip(names, falling, reversed(falling), strict=True))
    chosen = set(itertools.islice(dict.fromkeys(turns), most))
    return [name for name in names if name in chosen]
