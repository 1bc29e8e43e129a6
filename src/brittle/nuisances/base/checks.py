"""Options that make no sense are refused where a nuisance is made, not where it is used."""

from __future__ import annotations

import math

from brittle.errors import BrittleError


def check_positive(thing: object, *names: str) -> None:
    """Refuses options that are no positive number; None is an option that is not given."""
    for name in names:
        value: float | None = getattr(thing, name)
        if value is not None and not 0 < value < math.inf:
            raise BrittleError(f"option {name!r} is {value:g}", "It must be a positive number.")
