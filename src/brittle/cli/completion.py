"""What a shell completes: the kinds that a spec may begin with. Nothing is imported to find them: a shell does not wait
for torch."""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Callable
from pathlib import Path

import brittle
from brittle.nuisances.suites import SUITES

# By the name of an option: the package whose kinds its spec begins with.
PACKAGES = {
    "classifier": "classifiers",
    "against": "classifiers",
    "images": "images",
    "train": "images",
    "test": "images",
    "nuisance": "nuisances",
    "nuisances": "nuisances",
    "sampler": "samplers",
    "network": "training",
}
SORTS = (
    "classifiers",
    "images",
    "nuisances",
    "measures",
    "samplers",
    "networks",
    "mixes",
    "suites",
)  # of `brittle list`
_REGISTERED = re.compile(r"register\(\s*\"([^\"]+)\"")


def kinds(package: str) -> list[str]:
    """The kinds that the modules of a package of ours register, and those of other packages."""
    folder = Path(brittle.__file__).parent / package
    texts = (file.read_text(encoding="utf-8") for file in folder.rglob("*.py"))
    entered = importlib.metadata.entry_points(group=f"brittle.{package}").names
    return sorted({name for text in texts for name in _REGISTERED.findall(text)} | entered)


def completion_of(option: str) -> Callable[[str], list[str]] | None:
    """What completes the value of an option; None where nobody knows what it may be."""
    if option == "what":
        return lambda incomplete: [word for word in (*SORTS, *kinds("nuisances")) if word.startswith(incomplete)]
    if option not in PACKAGES:
        return None
    suites = SUITES if PACKAGES[option] == "nuisances" else ()
    return lambda incomplete: [word for word in (*kinds(PACKAGES[option]), *suites) if word.startswith(incomplete)]
