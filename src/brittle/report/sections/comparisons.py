"""What sections that compare classifiers in pairs share: who is better, by how much, and which pairs are shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from brittle.report.blocks import Block, Group, Sentence, Weighted
from brittle.report.blocks.text import Estimate, Text, Verdict
from brittle.report.blocks.wording import estimate, plain, points
from brittle.report.page.section import Row, compared
from brittle.report.page.words import EVERYTHING, percent
from brittle.report.sections.tables import Titled, table, text

MOST_PAIRS = 45  # past this many, differences are shown against one classifier
MOST_PRINTED = 10
FIRST, SECOND = ("first", text("first")), ("second", text("second"))


def better(pair: Row, key: str = "better") -> str | None:
    """The classifier that a pair says is better; None: a tie."""
    return {"first": pair["first"], "second": pair["second"]}.get(pair[key])


def both(pair: Row, key: str = "better") -> tuple[str, str]:
    """The better one, and the other."""
    return (pair["second"], pair["first"]) if pair[key] == "second" else (pair["first"], pair["second"])


def verdict(title: str, key: str = "better") -> Titled:
    """A column that says who is better."""
    return title, lambda pair: Verdict(better(pair, key))


def minus(pair: Row) -> str:
    return f"{pair['first']} − {pair['second']}"


def difference(pair: Row, key: str = "difference", interval: str = "interval", **more: object) -> Estimate:
    """First minus second."""
    return estimate(pair, key, interval, signed=True, simultaneous=pair["family"], **more)


def at_once(pair: Row) -> str:
    """What the interval of a pair promises beyond its own."""
    return f" (simultaneous over {pair['family']} comparisons)" if pair["family"] > 1 else ""


def tie_or(pair: Row, verb: str, key: str = "better") -> str:
    """a tie; plain breaks later"""
    more = better(pair, key)
    return "a tie" if more is None else f"{more} {verb}"


def capped(said: Sequence[Text], noun: str = "", most: int = MOST_PRINTED) -> list[Block]:
    """The first of some lines for the console, and how many more there are."""
    more = len(said) - most
    rest = f"… and {more} more{noun and f' {noun}s'} ({EVERYTHING})"
    return [*map(Sentence, said[:most]), *([Sentence(rest)] if more > 0 else [])]


def against(pairs: Sequence[Row], best: str, verb: str, *columns: Titled) -> list[Block]:
    """A table of all pairs, or of many those of the best classifier."""
    if len(pairs) <= MOST_PAIRS:
        return [table(pairs, FIRST, SECOND, *columns)]
    shown = [pair for pair in pairs if best in (pair["first"], pair["second"])]
    note = f"Against {best}, which {verb} last; all pairs are in summary.json."
    return [Sentence(note, "note"), table(shown, FIRST, SECOND, *columns)]


def higher(pairs: Iterable[Row], what: Callable[[Row], str], weight: float, most: int) -> list[Weighted]:
    """Findings: of which classifier a share is higher, as far as that is not a tie."""
    apart = [pair for pair in pairs if better(pair, "larger") is not None][:most]
    return [Weighted(Sentence(_higher(pair, what(pair)), "finding"), weight, _about(pair)) for pair in apart]


def _about(pair: Row) -> tuple[str, ...]:
    return compared(pair["image_set"], pair["first"], pair["second"])


def _higher(pair: Row, what: str) -> str:
    more, less = both(pair, "larger")
    return (
        f"{what.capitalize()} is higher for {more} than for {less}: by {100 * abs(pair['difference']):.1f} points "
        f"({percent(pair['confidence'])} interval of the difference {_points(pair)})."
    )


def _points(pair: Row) -> str:
    return plain((points(pair, "difference", "interval", signed=True),))


def in_points(pair: Row, what: str) -> str:
    """A difference of shares as a line for the console."""
    larger = better(pair, "larger")
    verdict = "a tie" if larger is None else f"{larger}’s is larger"
    return f"{what}, {minus(pair)} in points: {_points(pair)}{at_once(pair)}, {verdict}"


def differences(pairs: Sequence[Row], what: Callable[[Row], str]) -> list[Block]:
    """The first pairs of classifiers with their differences of shares; nothing without pairs."""
    if not pairs:
        return []
    at_once = f" hold for all {pairs[0]['family']} comparisons at once" if pairs[0]["family"] > 1 else ""
    shown = table(
        pairs[:MOST_PAIRS],
        ("of", what),
        ("first − second", minus),
        ("points", lambda pair: points(pair, "difference", "interval", signed=True)),
        verdict("larger", "larger"),
    )
    note = Sentence(f"Paired over images; intervals{at_once}.", "note")
    return [Group("Differences between classifiers", (shown, note))]
