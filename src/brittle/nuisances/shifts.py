"""Shifts: nuisances that lie on one path of rising severity, which a measure that walks severities takes only once.

`fog:level=1` to `fog:level=5` are five nuisances where the level is fixed. Where severity rises by itself it multiplies
the level, so that all five lead through the same images.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import NamedTuple

from brittle.nuisances.noise.gaussian import Noise
from brittle.nuisances.suites import stem_of
from brittle.types import Nuisance


class Shifts(NamedTuple):
    """What the nuisances of a study are to a measure that walks severities itself."""

    of: Mapping[str, str]  # nuisance → the shift that stands for it and at least one other
    made: Mapping[str, Nuisance]  # shifts that are not nuisances of the study: those of a suite, at level 1


def level_of(nuisance: Nuisance) -> float | None:
    """The level at which a nuisance is fixed and that severity multiplies; None where it has none."""
    level = getattr(nuisance, "level", None)
    return float(level) if isinstance(level, (int, float)) and level > 0 else None


def shifts_of(nuisances: Mapping[str, Nuisance], taken: set[str]) -> Shifts:
    """Gathers nuisances that differ in their level alone. They go by what their names share, as in `fog-1` to `fog-5`,
    unless that is `taken`; and otherwise by the first."""
    alike: dict[Nuisance, list[str]] = {}
    for name, nuisance in nuisances.items():
        if (shift := _from_one(nuisance)) is not None:
            alike.setdefault(shift, []).append(name)
    of: dict[str, str] = {}
    made = {}
    for shift, names in ((shift, names) for shift, names in alike.items() if len(names) > 1):
        called = _shared_stem({name: nuisances[name] for name in names})
        if called is None or called in taken:
            called = names[0]
        else:
            made[called] = shift
        of |= dict.fromkeys(names, called)
    return Shifts(of, made)


def _from_one(nuisance: Nuisance) -> Nuisance | None:
    """The same nuisance with severity counted from level 1, or as noise without a level is counted, in σ; None where
    severity is counted from what the nuisance draws, or options can't be compared."""
    if not dataclasses.is_dataclass(nuisance) or isinstance(nuisance, type):
        return None
    fields = {field.name for field in dataclasses.fields(nuisance)}
    changed = {"level": 1.0} if "level" in fields and level_of(nuisance) is not None else {}
    if isinstance(nuisance, Noise) and nuisance.level is None:
        changed = {"sigma": Noise.sigma}
    found = dataclasses.replace(nuisance, **changed) if changed else None
    try:
        hash(found)
    except TypeError:
        return None
    return found


def _shared_stem(nuisances: Mapping[str, Nuisance]) -> str | None:
    stems = set()
    for name, nuisance in nuisances.items():
        stem, level = stem_of(name)
        if not level or float(level) != level_of(nuisance):
            return None
        stems.add(stem)
    return stems.pop() if len(stems) == 1 else None
