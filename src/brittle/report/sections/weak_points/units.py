"""What a number of θ is measured in, for the axes of figures."""

from __future__ import annotations

from brittle.types import Nuisance, ParameterUnits


def with_unit(nuisance: Nuisance, parameter: str) -> str:
    """shift x (share of the width); the name alone where there is no unit, or none that is known."""
    unit = "degrees" if parameter in ("angle", "direction") else ""
    if isinstance(nuisance, ParameterUnits):
        unit = nuisance.parameter_units.get(parameter, unit)
    return f"{parameter} ({unit})" if unit else parameter
