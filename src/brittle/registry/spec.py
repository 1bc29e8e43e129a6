"""The grammar of specs: `kind:what,option=value,…`, as in `affine:alpha=50`, `onnx:model.onnx,output=logits`, `sample`.

A backslash before a comma or a plus sign keeps it. Specs may be joined by plus signs where that means something
(`affine+brightness`), and may be given a name: `mine=onnx:model.onnx`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from brittle.errors import BrittleError
from brittle.files import printable

# Before a kind's name or a Python file's, not inside a number such as 1e+3, and not escaped as \+ in a path.
_PLUS = re.compile(r"\s*(?<!\\)\+\s*(?=[a-z][a-z0-9-]*(?:[:+\s]|$)|[^+,:\s]+\.py:)")
_COMMA = re.compile(r"(?<!\\),")
_NAMED = re.compile(r"([\w.-]+)=(.+)", re.DOTALL)  # a spec has its colon before any equals sign


class Spec(NamedTuple):
    """A spec taken apart; values are still text."""

    kind: str
    parts: tuple[str, ...]

    def options(self, known: Collection[str], positional: str | None) -> Iterator[tuple[str, str]]:
        """Option and text of each part; the first may be the positional option's text alone."""
        for place, part in enumerate(self.parts):
            key, equals, value = part.partition("=")
            key = key.strip().replace("_", "-")
            if place == 0 and positional is not None and not (equals and key in known):
                key, value = positional, part
            elif not equals:
                names = ", ".join(known)
                remedy = f"Its options are: {names}." if names else "It has no options."
                raise BrittleError(f"{self.kind}: {part!r} is not option=value", remedy)
            yield key, value


def parse_spec(text: str) -> Spec:
    """`kind:part,part,…` taken apart."""
    kind, _, rest = text.strip().partition(":")
    parts = (_unescaped(part).strip() for part in _COMMA.split(rest)) if rest else ()
    return Spec(kind.strip(), tuple(parts))


def before_comma(text: str) -> tuple[str, str]:
    """`path,option=value` → path and ",option=value"; a comma that is part of the path is escaped."""
    first = _COMMA.split(text, maxsplit=1)[0]
    return _unescaped(first), text[len(first) :]


def parse_named(text: str) -> tuple[str, str]:
    """`name=spec` → (name, spec); a spec alone is its own name."""
    text = printable(text.strip())  # it is written into study files
    match = _NAMED.fullmatch(text)
    return (match[1], match[2]) if match else (text, text)


def summands(text: str) -> list[str]:
    """`spec+spec+…` → the specs."""
    return _PLUS.split(text.strip())


def write_spec(kind: str, positional: Any, options: Mapping[str, Any]) -> str:
    """The spec with these options; `positional` is None where there is none."""
    parts = [] if positional is None else [written(positional)]
    parts += [f"{key}={written(value)}" for key, value in options.items()]
    return f"{kind}:{','.join(parts)}" if parts else kind


def written(value: Any) -> str:
    """A value as a spec has it."""
    if isinstance(value, tuple):
        return "/".join(written(item) for item in value)
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    if isinstance(value, functools.partial):
        return written(value.func)
    if callable(value):  # which no spec makes again: its name is all there is to say
        return str(getattr(value, "__name__", type(value).__name__))
    return str(value).replace(",", "\\,").replace("+", "\\+")


def in_words(name: str) -> str:
    """A kind's name as one would say it: defocus-blur → Defocus blur"""
    words = name.replace("-", " ").replace("_", " ").strip()
    return words[:1].upper() + words[1:]


def _unescaped(text: str) -> str:
    return text.replace("\\,", ",").replace("\\+", "+")
