"""Live objects in a run folder, which no spec names: what a study file says of them."""

from __future__ import annotations

from typing import Any

from brittle.classifiers.base import AdaptedClassifier
from brittle.engine.hashes.object_hash import object_hash
from brittle.errors import BrittleError
from brittle.images.base import ImageSet
from brittle.nuisances import nuisance, nuisances
from brittle.types import Nuisance

LIVE = "live:"
UNKNOWN = "?"  # in place of a hash


def spec_text(what: Any) -> str:
    """What a study file says of a classifier or an image set: its spec, or what a live object is called."""
    if isinstance(what, str):
        return what
    named = what.name if isinstance(what, (AdaptedClassifier, ImageSet)) else getattr(what, "__name__", "")
    return f"{LIVE}{named or type(what).__name__}"


def nuisance_text(what: Any) -> str:
    """The same of a nuisance: a spec where one makes the same nuisance again."""
    if isinstance(what, str):
        return what
    spec = nuisances.spec_of(what)
    if _spec_makes(spec, what):
        return spec
    found = object_hash(what)
    return f"{LIVE}{spec}#{f'{UNKNOWN}{found.unknown}' if found.unknown else found.whole}"


def why_unknown(text: str) -> str:
    """Why the live object that a study names can't be known again; "" where it can, or is none."""
    _, marked, why = text.partition(f"#{UNKNOWN}") if is_live(text) else ("", "", "")
    return why if marked else ""


def _spec_makes(spec: str, what: Nuisance) -> bool:
    try:
        return bool(nuisance(spec) == what)
    except (BrittleError, ValueError, TypeError, RuntimeError):  # no such kind; options that can't be compared
        return False


def is_live(text: str) -> bool:
    return text.startswith(LIVE)


def refuse_live(text: Any) -> None:
    """Where a study names what only the program that began its run had."""
    if isinstance(text, str) and is_live(text):
        called = text.removeprefix(LIVE).partition("#")[0]
        raise BrittleError(
            f"{called} was a live Python object, which no spec names",
            "Give the object itself again, from Python.",
        )
