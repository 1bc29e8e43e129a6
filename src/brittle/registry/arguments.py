"""Arguments of a user's own function, as a spec gives them: `arguments=classes=10/width=2`."""

from __future__ import annotations

from brittle.errors import BrittleError

WORDS = {"true": True, "false": False, "none": None}


def argument(text: str) -> tuple[str, int | float | bool | str | None]:
    """`name=value` → name and value: a number, true, false or none where it is written like one, and text otherwise."""
    name, equals, value = (part.strip() for part in text.partition("="))
    if not equals or not name.isidentifier():
        raise BrittleError(f"{text!r} is not an argument", "Write name=value, and / between two of them.")
    if value.lower() in WORDS:
        return name, WORDS[value.lower()]
    for kind in (int, float):
        try:
            return name, kind(value)
        except ValueError:
            pass
    return name, value
