"""Numbers, intervals and lists in words, the same in every section."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Shape = Sequence[int]  # (C, H, W)
MOST_WARNINGS = 10  # printed
EVERYTHING = "--json or --out has them all"


def number(value: float | None, places: int = 3, sign: str = "-") -> str:
    """0.589; a real minus sign, and with `sign` "+" a plus; – where there is none."""
    return "–" if value is None else f"{value:{sign}.{places}f}".replace("-", "−")


def interval(bounds: Sequence[float] | None, sign: str = "-", places: int = 3) -> str:
    """[0.568, 0.619]; a number with nothing random in it is exact."""
    if bounds is None:
        return ""
    low, high = (number(bound, places, sign) for bound in bounds)
    return "exact" if bounds[0] == bounds[1] else f"[{low}, {high}]"


def estimate(value: float | None, bounds: Sequence[float] | None, sign: str = "-") -> str:
    """0.589 [0.568, 0.619]"""
    return f"{number(value, sign=sign)} {interval(bounds, sign)}".strip()


def p_value(value: float | None) -> str:
    """0.03; < 0.001"""
    return "–" if value is None else "< 0.001" if value < 0.001 else f"{value:.2g}"


def intervals_hold(confidence: float, at_once: int = 1, what: str = "comparisons") -> str:
    """What intervals promise: each on its own, or all at once."""
    holding = f"that hold for all {at_once:,} {what} at once" if at_once > 1 else "each holding on its own"
    return f"{percent(confidence)} intervals{',' * (at_once <= 1)} {holding}"


def percent(share: float) -> str:
    """95 %; 99.9 %"""
    return f"{100 * share:.6g} %"


def listed(names: Sequence[str], most: int = 5) -> str:
    """a, b and c; a long list is cut."""
    shown = list(names[:most])
    if len(names) > most:
        return f"{', '.join(shown)} and {len(names) - most} more"
    return "".join(shown) if len(shown) < 2 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def warned(warnings: Sequence[str]) -> list[str]:
    """A line each; many classifiers have many, of which the first are said."""
    lines = [f"warning: {text}" for text in warnings[:MOST_WARNINGS]]
    more = len(warnings) - MOST_WARNINGS
    return [*lines, f"warning: {more} more are not printed ({EVERYTHING})"] if more > 0 else lines


def counted(count: int, noun: str) -> str:
    """1 image, 2 images, 3 classes"""
    return f"{count:,} {noun}{'' if count == 1 else 'es' if noun.endswith('s') else 's'}"


def unreadable(count: int) -> str:
    """2 images can't be read and were"""
    return f"{counted(count, 'image')} can't be read and {'was' if count == 1 else 'were'}"


def span(values: Iterable[int]) -> str:
    """120; 120 to 500 where they differ."""
    low, high = min(found := list(values)), max(found)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def sentence(text: str) -> str:
    """With a capital and a full stop."""
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "?", "!")) else ".")


def pixels(shapes: Iterable[Shape]) -> str:
    """28 × 28 pixels; 120–500 × 90–375 pixels where images differ."""
    found = list(shapes)
    heights, widths = ([shape[axis] for shape in found] for axis in (1, 2))
    across, down = (
        f"{min(sides)}–{max(sides)}" if min(sides) < max(sides) else str(sides[0]) for sides in (widths, heights)
    )
    return f"{across} × {down} pixels"


def size(shapes: Iterable[Shape]) -> str:
    """The pixels, how many shapes there are of them, and the channels."""
    found = list(shapes)
    channels = sorted({shape[0] for shape in found})
    several = f" in {len(found)} shapes" if len(found) > 1 else ""
    return f"{pixels(found)}{several}, {' or '.join(map(str, channels))} channel{'s' * (channels != [1])}"


def short(name: str, most: int = 32) -> str:
    """Long names are cut, so that a figure has room."""
    return name if len(name) <= most else name[: most - 1] + "…"
