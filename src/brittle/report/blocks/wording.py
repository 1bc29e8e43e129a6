"""Spans in words: the one place that says how a count, an interval, a share or a censored value is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from brittle.report.blocks.text import ClassifierName, Count, Estimate, Link, Name, Span, Styled, Text, Verdict, spans
from brittle.report.page import words

TIE = "tie"


class SpanWords(NamedTuple):
    """A span in words, and the range that may stand apart from it."""

    text: str
    range: str = ""

    def __str__(self) -> str:
        return f"{self.text} {self.range}" if self.range else self.text


def span_words(span: Span) -> SpanWords:
    match span:
        case str():
            return SpanWords(span)
        case Styled() | Link() | Name():
            return SpanWords(span.text)
        case ClassifierName():
            return SpanWords(span.text or span.classifier)
        case Verdict():
            return SpanWords(span.classifier or TIE)
        case Count():
            return SpanWords(_count(span))
        case Estimate():
            return _estimate(span)


def plain(text: Text) -> str:
    """Text without its looks."""
    return "".join(str(span_words(span)) for span in spans(text))


def number_of(span: Span) -> float | None:
    """What a column is sorted by; None where there is no number."""
    return span.value if isinstance(span, (Count, Estimate)) else None


def _count(count: Count) -> str:
    if count.value is None:
        return "–"
    number = f"{count.value:,}" if count.of is None else f"{count.value:,} of {count.of:,}"
    many = count.value if count.of is None else count.of
    return f"{number} {count.noun}{'' if many == 1 else 's'}" if count.noun else number


def _estimate(found: Estimate) -> SpanWords:
    unit = " %" if found.format == "percent" else f" {found.unit}" if found.unit else ""
    value = found.missing
    if found.value is not None:
        value = f"{'> ' * found.censored}{_number(found.value, found)}{unit}"
    if found.low is None:
        return SpanWords(value)
    high = "∞" if found.high is None else _number(found.high, found)
    return SpanWords(value, "exact" if found.low == found.high else f"[{_number(found.low, found)}, {high}]")


def _number(value: float, found: Estimate) -> str:
    match found.format:
        case "p":
            return words.p_value(value)
        case "significant":
            return f"{value:{'+' * found.signed}.{found.places}g}".replace("-", "−")
        case "percent":
            value *= 100
    return words.number(value, found.places, "+" if found.signed else "-")


def estimate(row: Mapping[str, Any], key: str, interval: str = "", **more: Any) -> Estimate:
    """The estimate of a summary's row: row[key], and its bounds row[key_interval], or those of another key."""
    return bounded(row[key], row.get(interval or f"{key}_interval"), **more)


def share(row: Mapping[str, Any], key: str, interval: str = "", places: int = 0, **more: Any) -> Estimate:
    """The same of a share, in percent."""
    return estimate(row, key, interval, places=places, format="percent", **more)


def points(row: Mapping[str, Any], key: str, interval: str = "", **more: Any) -> Estimate:
    """The same of a difference of shares, in points: −0.7 [−6.4, +5.3]"""
    found = estimate(row, key, interval)
    value, low, high = (None if each is None else 100 * each for each in (found.value, found.low, found.high))
    return Estimate(value, low, high, places=1, **more)


def p_value(value: float | None) -> Estimate:
    return Estimate(value, format="p")


def bounded(value: float | None, bounds: Sequence[float] | None, **more: Any) -> Estimate:
    """An estimate and its interval, where it has one."""
    low, high = bounds or (None, None)
    return Estimate(value, low, high, **more)


def median(row: Mapping[str, Any], limit: float, places: int) -> Estimate:
    """Of values that may lie past a limit; nothing where there is no mean either."""
    if row["mean"] is None:
        return Estimate(None)
    return exceeded(limit) if row["median"] is None else Estimate(row["median"], places=places)


def exceeded(limit: float) -> Estimate:
    """What is only known to lie beyond a limit: > 255"""
    return Estimate(limit, places=6, format="significant", censored=True)
