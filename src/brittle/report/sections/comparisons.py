"""What sections that compare classifiers in pairs share: who is better, which pairs are shown, and lines of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from brittle.report.blocks import Sentence, Text

Pair = Mapping[str, Any]
MOST_PAIRS = 45  # past this many, differences are shown against one classifier
MOST_PRINTED = 10
EVERYTHING = "--json or --out has them all"


def better(pair: Pair, key: str = "better") -> str | None:
    """The classifier that a pair says is better; None: a tie."""
    return {"first": pair["first"], "second": pair["second"]}.get(pair[key])


def at_once(pair: Pair) -> str:
    """What the interval of a pair promises beyond its own."""
    return f" (simultaneous over {pair['family']} comparisons)" if pair["family"] > 1 else ""


def printed(
    pairs: Sequence[Pair], say: Callable[[Pair], Text], noun: str, most: int = MOST_PRINTED
) -> Iterator[Sentence]:
    """The first of them as lines, and how many more there are."""
    yield from (Sentence(say(pair)) for pair in pairs[:most])
    if (more := len(pairs) - most) > 0:
        yield Sentence(f"… and {more} more {noun}s ({EVERYTHING})")


def against(pairs: Sequence[Pair], best: str) -> Sequence[Pair]:
    """All pairs, or of many those of the best classifier."""
    if len(pairs) <= MOST_PAIRS:
        return pairs
    return [pair for pair in pairs if best in (pair["first"], pair["second"])]
