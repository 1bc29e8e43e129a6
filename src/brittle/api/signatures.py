"""Functions as source: their parameters, from dataclasses of options, and their text."""

from __future__ import annotations

import textwrap
import types
import typing
from collections.abc import Iterable
from dataclasses import MISSING, dataclass, replace
from typing import Any, Literal

from brittle.registry.options import hints_of, limits_of, options_of
from brittle.registry.values import Limits

WIDTH = 120
ANY = "Any"  # a spec or an object


@dataclass(frozen=True)
class FunctionParameter:
    """One parameter of a function."""

    name: str
    annotation: str
    default: str  # as source; "" where there is none
    help: str

    @property
    def source(self) -> str:
        return f"{self.name}: {self.annotation}" + (f" = {self.default}" if self.default else "")


@dataclass(frozen=True)
class GeneratedFunction:
    """One function: its parameters, the first `positional` of which may be given by place."""

    name: str
    about: str
    more: str  # a paragraph of its own
    parameters: tuple[FunctionParameter, ...]
    positional: int
    returns: str
    body: str

    @property
    def source(self) -> str:
        first = [each.source for each in self.parameters[: self.positional]]
        rest = [each.source for each in self.parameters[self.positional :]]
        listed = "".join(f"    {each},\n" for each in [*first, "*", *rest])
        paragraphs = [
            _wrapped(self.about, 4),
            _wrapped(self.more, 4),
            "    Parameters\n    ----------\n"
            + "\n".join(_wrapped(f"{each.name}: {each.help}", 8)[4:] for each in self.parameters),
        ]
        text = "\n\n".join(filter(None, paragraphs)).lstrip()
        return f'def {self.name}(\n{listed}) -> {self.returns}:\n    """{text}\n    """\n    {self.body}\n'


def parameters(kind: type, without: Iterable[str] = (), **changes: dict[str, str]) -> list[FunctionParameter]:
    """A parameter for every option of a dataclass; `changes` are other annotations, defaults and helps, by name."""
    found, hints = [], hints_of(kind)
    for field in options_of(kind).values():
        if field.name not in without:
            limits = limits_of(field)
            about = field.metadata["help"].replace("; may be repeated", "").replace("--", "")
            about += f" [{limits.range}]" if limits.range else ""
            default = "" if field.default is MISSING else literal(field.default)
            made = FunctionParameter(field.name, annotation(hints[field.name], limits), default, about)
            found.append(replace(made, **changes.get(field.name, {})))
    return found


def annotation(hint: Any, limits: Limits) -> str:
    """A hint as source: a tuple may be any sequence, and one word stands for a list of one."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return " | ".join(annotation(each, limits) for each in inner)
    if origin is Literal:
        return f"Literal[{', '.join(map(literal, inner))}]"
    if origin is tuple:
        one = annotation(inner[0], limits)
        return f"str | Sequence[{one}]" if inner[0] is str else f"Sequence[{one}]"
    return {type(None): "None", Any: ANY}.get(hint) or str(hint.__name__)


def literal(value: Any) -> str:
    """A value as source."""
    if isinstance(value, tuple):
        return f"({', '.join(map(literal, value))}{',' if len(value) == 1 else ''})"
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _wrapped(text: str, indent: int) -> str:
    return textwrap.fill(text, WIDTH, initial_indent=" " * indent, subsequent_indent=" " * indent)
