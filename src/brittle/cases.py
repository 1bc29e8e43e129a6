"""Named cases: single pictures that classifiers must get right, kept in a file beside the study.

`cases.toml` has a table `[[case]]` for each. The explorer adds one, people write them, and `brittle check` shows each
to the study's classifiers. docs/gate.md describes the file.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli_w

from brittle.errors import BrittleError, located
from brittle.files import read_toml, write_durably
from brittle.registry import did_you_mean

NAME = "cases.toml"  # beside a study file
VERSION = 1
NOUN = "file of named cases"
TEXTS = ("name", "images", "nuisance", "expected", "spec")
REQUIRED = ("name", "images", "image", "nuisance", "expected")
ABOUT = "Pictures that classifiers must get right: `brittle check STUDY` shows them to each. Keep it beside the study."


@dataclass(frozen=True)
class NamedCase:
    """One image under one nuisance, at θ itself or at one of the run's draws of it, and the class that must come out.

    `images` and `nuisance` are names in the study. `spec` is the nuisance's own, and `seed` the study's, as they were
    when the case was saved: where the study has another one now, the picture would be another one, which is refused."""

    name: str
    images: str
    image: int  # its id
    nuisance: str
    expected: str  # a class by its name, as reports have it
    theta: tuple[float, ...] | None = None
    draw: int | None = None
    seed: int | None = None
    severity: float | None = None  # along the path of θ or of the draw; as drawn where it is left out
    spec: str = ""

    def __post_init__(self) -> None:
        with located(f"the case {self.name!r}"):
            _check(self)

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> NamedCase:
        """From a table of the file."""
        known = [field.name for field in dataclasses.fields(cls)]
        where = f"the case {values['name']!r}" if isinstance(values.get("name"), str) else "a case"
        for key in values:
            if key not in known:
                raise BrittleError(f"{where}: unknown key {key!r}", did_you_mean(key, known))
        for key in REQUIRED:
            if key not in values:
                raise BrittleError(f"{where}: {key!r} is missing", f"Add {key} = … to it.")
        theta = values.get("theta")
        return cls(**{**values, "theta": tuple(theta) if isinstance(theta, list) else theta})

    @property
    def values(self) -> dict[str, Any]:
        """As a table of the file."""
        said = {key: value for key, value in vars(self).items() if value not in (None, "")}
        return said | ({"theta": list(self.theta)} if self.theta is not None else {})


def _check(case: NamedCase) -> None:
    for key in TEXTS:
        value = getattr(case, key)
        if not isinstance(value, str) or (key in REQUIRED and not value.strip()):
            raise BrittleError(f"{key} is {value!r}", f'Write {key} = "…".')
    for key in ("image", "draw", "seed"):
        value = getattr(case, key)
        if type(value) is not int and not (value is None and key not in REQUIRED):
            raise BrittleError(f"{key} is {value!r}", "Write a whole number.")
    if case.severity is not None and not _is_number(case.severity):
        raise BrittleError(f"severity is {case.severity!r}", "Write a number.")
    if (case.theta is None) == (case.draw is None):
        raise BrittleError("it needs either theta or draw", "Write theta = [0.1, …], or draw = 12 and seed = 0.")
    given: Any = case.theta
    if given is not None and not (isinstance(given, tuple) and given and all(map(_is_number, given))):
        raise BrittleError(f"theta is {given!r}", "Write a list of numbers: theta = [0.1, …].")
    if case.draw is not None and (case.draw < 0 or case.seed is None):
        raise BrittleError("a draw is known by its number and the study's seed", "Write draw = 12 and seed = 0.")


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)


def read_cases(path: Path) -> tuple[NamedCase, ...]:
    """The cases of a file, each of another name."""
    found = read_toml(path, NOUN)
    if found.get("version") != VERSION:
        raise BrittleError(f"{path} is not a {NOUN} of version {VERSION}", f"Begin it with version = {VERSION}.")
    for key in found:
        if key not in ("version", "case"):
            raise BrittleError(f"{path}: unknown key {key!r}", did_you_mean(key, ("version", "case")))
    tables = found.get("case", [])
    if not isinstance(tables, list) or not all(isinstance(each, dict) for each in tables):
        raise BrittleError(f"{path}: case is not a list of tables", "Write [[case]] above each.")
    with located(str(path)):
        cases = tuple(map(NamedCase.of, tables))
        _refuse_same_names(cases)
    return cases


def write_cases(path: Path, cases: Iterable[NamedCase]) -> None:
    """Writes the file anew: whole, or not at all."""
    several = tuple(cases)
    _refuse_same_names(several)
    text = f"# {ABOUT}\n" + tomli_w.dumps({"version": VERSION, "case": [each.values for each in several]})
    write_durably(path, lambda to: to.write_text(text, encoding="utf-8"))


def add_case(path: Path, case: NamedCase) -> None:
    """Adds a case to a file, which is made where there is none."""
    write_cases(path, [*(read_cases(path) if path.exists() else ()), case])


def _refuse_same_names(cases: tuple[NamedCase, ...]) -> None:
    names = [each.name for each in cases]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise BrittleError(f"two cases are called {twice!r}", "Give one of them another name.")
