"""What a shell completes: the kinds that a spec may begin with. Nothing is imported to find them: a shell does not wait
for torch."""

from __future__ import annotations

from collections.abc import Callable

from brittle.cli.specs import REGISTRIES
from brittle.nuisances import nuisances
from brittle.nuisances.suites import SUITES

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


def completion_of(option: str) -> Callable[[str], list[str]] | None:
    """What completes the value of an option; None where that is not known."""
    if option == "what":
        return lambda incomplete: [word for word in (*SORTS, *nuisances.names()) if word.startswith(incomplete)]
    registry = REGISTRIES.get(option)
    if registry is None:
        return None
    suites = SUITES if registry is nuisances else ()
    return lambda incomplete: [word for word in (*registry.names(), *suites) if word.startswith(incomplete)]
