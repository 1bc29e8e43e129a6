"""What changed between two tables of plain values, as a user reads it."""

from __future__ import annotations

from typing import Any

LONGEST = 240  # characters of a value that are shown


def differences(old: dict[str, Any], new: dict[str, Any], prefix: str = "") -> list[str]:
    """What changed from the old to the new, one line per value."""
    lines = []
    for key in sorted({*old, *new}):
        before, after, name = old.get(key), new.get(key), f"{prefix}{key}"
        if isinstance(before, dict) and isinstance(after, dict):
            lines += differences(before, after, f"{name}.")
        elif before != after:
            lines.append(f"{name}: {_shown(before)} → {_shown(after)}")
    return lines


def _shown(value: Any) -> str:
    text = "nothing" if value is None else repr(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
