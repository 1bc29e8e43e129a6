"""Suites: many nuisances under one word, such as ImageNet-C's corruptions (Hendrycks & Dietterich 2019) at every level.

Measures that fix a nuisance take a corruption at each of its levels, `fog-1` to `fog-5`; those that walk severities
take the shift that these lie on, `fog`, once (`nuisances.shifts`).

A suite is a table of names and specs: one of those below, or a user's own in a TOML file. It stands wherever a nuisance
may stand in a study or on the command line, and is replaced by its members before anything else looks at it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from brittle.errors import BrittleError
from brittle.files import real_path, size_of
from brittle.nuisances import nuisances
from brittle.registry.spec import parse_named

LEVELS = (1, 2, 3, 4, 5)
_AT_LEVEL = re.compile(r"(.+)-(\d+(?:\.\d+)?)")
# By ImageNet-C's names.
IMAGENET_C = {
    "gaussian_noise": "noise:level={}",
    "shot_noise": "shot:level={}",
    "impulse_noise": "impulse:level={}",
    "defocus_blur": "defocus-blur:level={},spread=0",
    "glass_blur": "glass-blur:level={},spread=0",
    "motion_blur": "motion-blur:level={},spread=0",
    "zoom_blur": "zoom-blur:level={},spread=0",
    "snow": "snow:level={},spread=0",
    "frost": "frost:level={},spread=0",
    "fog": "fog:level={},spread=0",
    "brightness": "brightness:level={}",
    "contrast": "contrast:level={}",
    "elastic_transform": "elastic-transform:level={},spread=0",
    "pixelate": "pixelate:level={},spread=0",
    "jpeg_compression": "jpeg:level={},spread=0",
}


def _at_levels(corruptions: Mapping[str, str]) -> dict[str, str]:
    return {f"{name}-{level}": spec.format(level) for name, spec in corruptions.items() for level in LEVELS}


def _as_they_are(*kinds: str) -> dict[str, str]:
    return {kind: kind for kind in kinds}


SUITES: Mapping[str, Mapping[str, str]] = {
    "imagenet-c": _at_levels(IMAGENET_C),
    "geometry": _as_they_are(
        "translation", "rotation", "scaling", "affine", "projective", "piecewise-affine", "elastic"
    ),
    "noises": _as_they_are("noise", "uniform-noise", "varying-noise", "shot", "impulse", "speckle"),
    "blurs": _as_they_are("gaussian-blur", "defocus-blur", "motion-blur", "zoom-blur", "glass-blur"),
    "light": _as_they_are("brightness", "contrast", "gamma", "saturation", "hue", "white-balance", "shadow"),
    "weather": _as_they_are("rain", "snow", "fog", "frost", "smog", "dust", "sandstorm"),
    "digital": _as_they_are("jpeg", "pixelate"),
}


def expanded(specs: Mapping[str, str]) -> dict[str, str]:
    """name → spec with every suite replaced by its members; those of a suite that was given a name of its own are
    called `name/member`."""
    found: dict[str, str] = {}
    for name, spec in specs.items():
        suite = suite_of(spec)
        members = {name: spec} if suite is None else suite if name == spec else _under(name, suite)
        for member, each in members.items():
            if found.setdefault(member, each) != each:
                raise BrittleError(
                    f"two nuisances are called {member!r}: {found[member]} and {each}",
                    f"Give the suite a name, which goes before its members': mine={spec}.",
                )
    return found


def chosen(names: Sequence[str], among: Mapping[str, str]) -> tuple[str, ...]:
    """Names of nuisances `among` those of a study, in which a suite stands for its members: by its own name, or by the
    one that the study has given it; and a corruption of a suite, such as `fog`, for its levels, `fog-1` to `fog-5`."""
    found: dict[str, None] = {}
    for name in names:
        members = [name]
        if name not in among:
            inside = [member for member in among if member.startswith(f"{name}/") or stem_of(member)[0] == name]
            members = inside or list(suite_of(name) or members)
        found |= dict.fromkeys(members)
    return tuple(found)


def stem_of(name: str) -> tuple[str, str]:
    """`fog-3` → ("fog", "3"), as suites name a corruption at a level; a name without one has none."""
    match = _AT_LEVEL.fullmatch(name)
    return (match[1], match[2]) if match else (name, "")


def by_name(what: Any) -> dict[str, Any]:
    """Nuisances as Python callers give them, by name: a spec, a suite, an object, a list or a mapping of these."""
    if isinstance(what, Mapping):
        pairs = list(what.items())
    else:
        several = what if isinstance(what, (list, tuple)) else [] if what is None else [what]
        pairs = [parse_named(each) if isinstance(each, str) else (nuisances.spec_of(each), each) for each in several]
    found: dict[str, Any] = {}
    for name, each in pairs:
        for member, one in (expanded({name: each}) if isinstance(each, str) else {name: each}).items():
            if found.setdefault(member, one) != one:
                raise BrittleError(
                    f"two nuisances are called {member!r}: {found[member]} and {one}",
                    f"Give one of them another name: other={one}.",
                )
    return found


def suite_of(spec: str) -> Mapping[str, str] | None:
    """The members of a suite, by name; None where a spec names none."""
    if spec.strip().lower().endswith(".toml"):
        return _read(Path(real_path(spec.strip())))
    return SUITES.get(spec.strip())


def _under(name: str, suite: Mapping[str, str]) -> dict[str, str]:
    return {f"{name}/{member}": spec for member, spec in suite.items()}


def _read(path: Path) -> dict[str, str]:
    """A user's own suite: `nuisances` is a table of name = spec, or a list of specs, as in a study."""
    remedy = 'Write nuisances = ["affine:alpha=50", …], or [nuisances] and name = "spec" below.'
    size_of(path)
    try:
        data: Any = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BrittleError(f"the suite {path} can't be read: {error.strerror}", "Check the path.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BrittleError(f"the suite {path} is not TOML: {error}", "Fix that line.") from error
    unknown = next((key for key in data if key != "nuisances"), None)
    if unknown is not None:
        raise BrittleError(f"the suite {path} has a key {unknown!r}", remedy)
    members = data.get("nuisances")
    if isinstance(members, list) and all(isinstance(each, str) for each in members):
        members = dict(map(parse_named, members))
    if not isinstance(members, dict) or not members or not all(isinstance(each, str) for each in members.values()):
        raise BrittleError(f"the suite {path} names no nuisances", remedy)
    inner = next((spec for spec in members.values() if spec.strip().lower().endswith(".toml")), None)
    if inner is not None:
        raise BrittleError(f"the suite {path} names another file, {inner}", "Write its nuisances out.")
    return expanded(members)
