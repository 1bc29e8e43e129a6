"""Shifts: nuisances that lie on one path of rising severity, which a measure that walks severities takes only once.

`fog:level=1` to `fog:level=5` are five nuisances where the level is fixed. Where severity rises by itself it multiplies
the level, so that all five lead through the same images.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from brittle.nuisances.suites import stem_of
from brittle.types import Nuisance, OnPath, Scaled


class StudyShifts(NamedTuple):
    """What the nuisances of a study are to a measure that walks severities itself."""

    of: Mapping[str, str]  # nuisance → the shift that stands for it and at least one other
    made: Mapping[str, Nuisance]  # shifts that are not nuisances of the study: those of a suite, at level 1


def shifts_of(nuisances: Mapping[str, Nuisance], taken: set[str]) -> StudyShifts:
    """Gathers nuisances that differ in their level alone. They go by what their names share, as in `fog-1` to `fog-5`,
    unless that is `taken`; and otherwise by the first."""
    alike: dict[Nuisance, list[str]] = {}
    for name, nuisance in nuisances.items():
        if (shift := _path_of(nuisance)) is not None:
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
    return StudyShifts(of, made)


def _path_of(nuisance: Nuisance) -> Nuisance | None:
    """None where severity is counted from what the nuisance draws, or options can't be compared."""
    found = nuisance.whole_path() if isinstance(nuisance, OnPath) else None
    try:
        hash(found)
    except TypeError:
        return None
    return found


def _shared_stem(nuisances: Mapping[str, Nuisance]) -> str | None:
    stems = set()
    for name, nuisance in nuisances.items():
        stem, level = stem_of(name)
        if not level or not isinstance(nuisance, Scaled) or float(level) != nuisance.severity_scale.per_severity:
            return None
        stems.add(stem)
    return stems.pop() if len(stems) == 1 else None
