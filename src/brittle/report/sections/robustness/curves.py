"""Nuisances of one kind that differ in exactly one numeric option: the points of a curve."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from brittle.nuisances import nuisances
from brittle.registry import options_of
from brittle.types import Nuisance

LOG_FROM = 5  # values that span at least this factor are drawn on a logarithmic axis


class Curve(NamedTuple):
    """`points`: option value → the nuisance's name in the study, by rising value."""

    kind: str
    option: str
    about: str  # the option's line of help
    fixed: str  # the other options that are not at their default
    points: dict[float, str]

    @property
    def along_severity(self) -> bool:
        """Whether the option is a severity, whose 0 is the untouched image."""
        return self.option == "level"

    @property
    def logarithmic(self) -> bool:
        values = list(self.points)
        return not self.along_severity and values[0] > 0 and values[-1] / values[0] >= LOG_FROM


def curves(spaces: Mapping[str, Nuisance]) -> list[Curve]:
    """Every family with at least two values; a grid over two options gives a curve for each row and column."""
    families: dict[tuple[str, str, str], dict[float, str]] = {}
    for name, space in spaces.items():
        kind = nuisances.name_of(space)
        values = {key: getattr(space, field.name) for key, field in options_of(type(space)).items()}
        for key, value in values.items():
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                others = repr(sorted((other, repr(v)) for other, v in values.items() if other != key))
                families.setdefault((kind, key, others), {}).setdefault(float(value), name)
    return [
        _curve(kind, key, spaces, dict(sorted(points.items())))
        for (kind, key, _), points in families.items()
        if len(points) >= 2
    ]


def _curve(kind: str, key: str, spaces: Mapping[str, Nuisance], points: dict[float, str]) -> Curve:
    space = spaces[next(iter(points.values()))]
    options = options_of(type(space))
    fixed = [
        f"{other}={getattr(space, field.name)}"
        for other, field in options.items()
        if other != key and getattr(space, field.name) != field.default
    ]
    return Curve(kind, key, options[key].metadata.get("help", ""), ", ".join(fixed), points)
