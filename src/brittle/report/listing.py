"""Every kind there is, with its options, as `brittle list` shows them."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any

from rich.console import Console
from rich.text import Text

from brittle.classifiers import classifiers
from brittle.errors import BrittleError
from brittle.images import image_sets
from brittle.measures import measures
from brittle.mixing import mixes
from brittle.nuisances import nuisances
from brittle.registry import Registry, did_you_mean, options_of
from brittle.registry.options import allowed
from brittle.samplers import samplers
from brittle.training import trainable


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


def listing(what: str = "") -> dict[str, list[dict[str, Any]]]:
    """Kinds by sort: name, one line about it, parameters (of nuisances) and options with default and help."""
    registries = _registries()
    if what and what not in registries:
        raise BrittleError(f"there is nothing called {what!r} to list", did_you_mean(what, registries))
    chosen = {what: registries[what]} if what else registries
    return {sort: [_kind(registry, name) for name in registry.names()] for sort, registry in chosen.items()}


def _kind(registry: Registry[Any], name: str) -> dict[str, Any]:
    try:
        kind = registry.get(name)
    except BrittleError as error:
        return {"name": name, "about": f"unusable: {error}", "options": {}}
    options = {
        key: {
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


def print_listing(found: dict[str, list[dict[str, Any]]]) -> None:
    console = Console()
    for sort, kinds in found.items():
        console.print(Text(sort, style="bold underline"))
        for kind in kinds:
            console.print(Text.assemble((kind["name"], "bold"), "  ", kind["about"]))
            if kind.get("parameters"):
                console.print(Text("    θ: " + ", ".join(kind["parameters"])))
            for key, option in kind["options"].items():
                shown = "" if option["default"] is None else f"={_written(option['default'])}"
                within = f"  [{option['allowed']}]" if option["allowed"] else ""
                console.print(Text.assemble("    ", (f"{key}{shown}", "cyan"), f"  {option['help']}", (within, "dim")))
        console.print()


def _written(value: Any) -> str:
    return "/".join(map(str, value)) if isinstance(value, tuple) else str(value)
