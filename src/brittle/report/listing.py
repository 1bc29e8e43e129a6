"""Every kind there is, with its options, as `brittle list` shows them."""

from __future__ import annotations

import dataclasses
import inspect
import re
import textwrap
import types
import typing
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from brittle.classifiers import classifiers
from brittle.errors import BrittleError
from brittle.images import image_sets
from brittle.measures import measures
from brittle.mixing import mixes
from brittle.nuisances import nuisances
from brittle.nuisances.suites import SUITES
from brittle.registry import Registry, options_of
from brittle.registry.options import allowed, hint_of, is_required
from brittle.registry.values import nearest
from brittle.samplers import samplers
from brittle.training import trainable

SUITES_ARE = "suites"


def _registries() -> dict[str, Registry[Any]]:
    return {
        "classifiers": classifiers,
        "images": image_sets,
        "nuisances": nuisances,
        "measures": measures,
        "samplers": samplers,
        "networks": trainable,
        "mixes": mixes,
    }


def names_by_sort() -> dict[str, list[str]]:
    """What every kind is called; nothing is imported to find out."""
    return {sort: registry.names() for sort, registry in _registries().items()} | {SUITES_ARE: list(SUITES)}


def listing(what: str = "") -> dict[str, list[dict[str, Any]]]:
    """Kinds by sort: name, one line about it, parameters (of nuisances) and options with type, default and help. `what`
    is a sort, or the name of a kind, which several sorts may have."""
    registries, names = _registries(), names_by_sort()
    if not what or what in names:
        chosen = {sort: there for sort, there in names.items() if what in ("", sort)}
    else:
        chosen = {sort: [what] for sort, there in names.items() if what in there}
    if not chosen:
        known = sorted({name for there in names.values() for name in there})
        remedy = nearest(what, [*names, *known]) or f"Known: {', '.join(names)}, or one kind of them."
        raise BrittleError(f"there is nothing called {what!r} to list", remedy)
    return {
        sort: [_suite(name) if sort == SUITES_ARE else _kind(registries[sort], name) for name in there]
        for sort, there in chosen.items()
    }


def _suite(name: str) -> dict[str, Any]:
    members = SUITES[name]
    return {"name": name, "about": f"{len(members)} nuisances.", "options": {}, "members": dict(members)}


def _kind(registry: Registry[Any], name: str) -> dict[str, Any]:
    try:
        kind = registry.get(name)
    except BrittleError as error:
        return {"name": name, "about": f"unusable: {error}", "options": {}}
    options = {
        key: {
            "type": type_of(hint_of(kind, field)),
            "required": is_required(field),
            "default": None if field.default is dataclasses.MISSING else field.default,
            "help": field.metadata.get("help", ""),
            "allowed": allowed(kind, field),
            "positional": bool(field.metadata.get("positional")),
        }
        for key, field in options_of(kind).items()
    }
    about = (inspect.getdoc(kind) or "").split("\n\n")[0].replace("\n", " ")
    found: dict[str, Any] = {"name": name, "about": about, "options": options}
    parameters = getattr(kind, "parameters", None)
    if isinstance(parameters, tuple):
        found["parameters"] = list(parameters)
    return found


def type_of(hint: Any) -> str:
    """The type of an option in a word or two, as JSON has them: "number", "string or null", "list of integer"."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        words = dict.fromkeys(type_of(each) for each in inner if each is not type(None))
        return " or ".join([*words, *(["null"] if type(None) in inner else [])])
    if origin is typing.Literal:
        return " or ".join(dict.fromkeys(type_of(type(each)) for each in inner))
    if origin is tuple:
        return f"list of {type_of(inner[0])}"
    return {bool: "boolean", int: "integer", float: "number", str: "string"}.get(hint, "string")


def print_names() -> None:
    """The names of all kinds, sort by sort, and where the rest is."""
    console = _console()
    for sort, names in names_by_sort().items():
        console.print(Text(sort, style="bold underline"))
        console.print(Text(textwrap.fill(", ".join(names), console.width, break_on_hyphens=False)))
    console.print(Text("\nbrittle list nuisances: a line about each; brittle list affine: its options"))


def print_listing(what: str, found: dict[str, list[dict[str, Any]]]) -> None:
    """A line for each kind of a sort, or all of the kinds that are called `what`."""
    console = _console()
    for sort, kinds in found.items():
        console.print(Text(sort, style="bold underline"))
        if what == sort:
            _print_lines(console, kinds)
            its = "members" if sort == SUITES_ARE else "options"
            console.print(Text(f"\nbrittle list {kinds[0]['name']}: its {its}"))
        else:
            _print_kinds(console, kinds)


def _print_lines(console: Console, kinds: list[dict[str, Any]]) -> None:
    width = max(len(kind["name"]) for kind in kinds)
    for kind in kinds:
        about = re.split(r"(?<=\.) ", kind["about"])[0]
        text = Text.assemble((kind["name"].ljust(width), "bold"), f"  {about}")
        text.truncate(console.width, overflow="ellipsis")
        console.print(text)


def _print_kinds(console: Console, kinds: list[dict[str, Any]]) -> None:
    for kind in kinds:
        console.print(Text.assemble((kind["name"], "bold"), "  ", kind["about"]))
        if kind.get("parameters"):
            console.print(Text("    θ: " + ", ".join(kind["parameters"])))
        for name, spec in kind.get("members", {}).items():
            console.print(Text.assemble("    ", (name, "cyan"), "" if name == spec else f"  {spec}"))
        for key, option in kind["options"].items():
            shown = "" if option["default"] is None else f"={_written(option['default'])}"
            within = f"  [{option['allowed']}]" if option["allowed"] else ""
            text = Text.assemble((f"{key}{shown}", "cyan"), f"  {option['help']}", (within, "dim"))
            console.print(Padding(text, (0, 0, 0, 4)))


def _console() -> Console:
    return Console(highlight=False, markup=False, emoji=False)


def _written(value: Any) -> str:
    return "/".join(map(str, value)) if isinstance(value, tuple) else str(value)
