"""Text for a terminal. Names come from other people's files and must not command it; and not every terminal has the
signs that formulas are made of."""

from __future__ import annotations

import codecs
import io
import re
import unicodedata
from typing import Any, TextIO

# C0 and C1, line and paragraph separators, and what turns the direction of reading.
_COMMANDS = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_RAISED = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ", "0123456789+-n", strict=True))
_SIGNS = {
    "−": "-", "–": "-", "→": "->", "←": "<-", "·": "|", "…": "...", "×": "x", "±": "+/-", "≤": "<=", "≥": ">=",
    "≠": "!=", "°": " deg", "µ": "mu", "ℓ": "l", "∞": "inf", "√": "sqrt ", "’": "'", "‘": "'", "“": '"', "”": '"',
    "′": "'", "‖": "||", "\u0302": "-hat", "\u0304": "-bar", "\xa0": " ",
}  # fmt: skip
_SUBSTITUTES, _ASCII = "brittle-substitutes", "brittle_ascii"


def visible(text: str) -> str:
    """The text with every character that a terminal would obey written out, as \\x1b."""
    return _COMMANDS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def visible_values(value: Any) -> Any:
    """The same for all text in plain values."""
    if isinstance(value, dict):
        return {visible_values(key): visible_values(each) for key, each in value.items()}
    if isinstance(value, list):
        return list(map(visible_values, value))
    return visible(value) if isinstance(value, str) else value


def in_ascii(text: str) -> str:
    """Signs in words, as ρ = rho; letters that have none as \\xe9."""
    raised = re.sub(f"[{''.join(_RAISED)}]+", lambda run: "^" + "".join(_RAISED[each] for each in run[0]), text)
    return "".join(map(_substitute, raised)).encode("ascii", "backslashreplace").decode()


def use_substitutes(stream: TextIO) -> None:
    """What a stream can't encode is no reason to fail: it is written `in_ascii`."""
    if isinstance(stream, io.TextIOWrapper):
        codecs.register_error(_SUBSTITUTES, _encoded)
        codecs.register(_ascii_codec)
        is_ascii = codecs.lookup(stream.encoding).name == "ascii"
        stream.reconfigure(encoding=_ASCII if is_ascii else None, errors=_SUBSTITUTES)


def _ascii_codec(name: str) -> codecs.CodecInfo | None:
    """ASCII by another name: where Typer prints help, it takes the usual one for a mistake and writes UTF-8 instead."""
    if name != _ASCII:
        return None
    own = codecs.lookup("ascii")
    return codecs.CodecInfo(
        own.encode,
        own.decode,
        own.streamreader,
        own.streamwriter,
        own.incrementalencoder,
        own.incrementaldecoder,
        _ASCII,
    )


def _encoded(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return in_ascii(error.object[error.start : error.end]), error.end


def _substitute(sign: str) -> str:
    if sign in _SIGNS:
        return _SIGNS[sign]
    name = unicodedata.name(sign, "")
    word = re.fullmatch(r"GREEK (SMALL|CAPITAL) LETTER (\w+)", name)
    return sign if word is None else word[2].lower() if word[1] == "SMALL" else word[2].capitalize()
