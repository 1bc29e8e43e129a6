"""What people call a nuisance: Rotation, σ 15°; Fog, level 3. The one place that says so.

The words are those of `types.Titled`, or the kind's. Options follow: those declared with `shown` as they ask for, and
others where they are not at their default. In a study a nuisance may also have a name of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from brittle.nuisances import nuisances
from brittle.nuisances.base.compose import Compose
from brittle.nuisances.suites import stem_of
from brittle.registry import options_of
from brittle.registry.spec import in_words
from brittle.types import InScales, Nuisance, Titled

LEVEL = "level"  # takes the place of the strength that stands before it


def named_title(name: str, spec: str, nuisance: Nuisance | None) -> str:
    """What a nuisance that a study calls `name` is called: by its options where the study gives no other name than its
    spec, or that of a suite (`gaussian_noise-3`); the study's own name otherwise."""
    if isinstance(nuisance, InScales):
        return in_words(name)
    if name == spec:
        return name if nuisance is None else title_of(nuisance)
    stem, level = stem_of(name)
    return f"{in_words(stem)}, level {level}" if level else name


def title_of(nuisance: Nuisance) -> str:
    """The title of a nuisance, with its options."""
    if isinstance(nuisance, Compose):
        return " + ".join(map(title_of, nuisance.parts))
    words = nuisance.title if isinstance(nuisance, Titled) else in_words(nuisances.name_of(nuisance))
    return ", ".join([words, *_options(nuisance)])


def _options(nuisance: Nuisance) -> Iterator[str]:
    fields = options_of(type(nuisance))
    values = {key: getattr(nuisance, field.name) for key, field in fields.items()}
    levelled = values.get(LEVEL) is not None
    for key, value in values.items():
        form = fields[key].metadata.get("shown")
        if form and value is not None and (key == LEVEL or not levelled):
            yield form.format(_written(value))
        elif not form and value != fields[key].default:
            yield _written(value) if fields[key].metadata.get("positional") else f"{key} {_written(value)}"


def _written(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, (tuple, list)):
        return "/".join(map(_written, value))
    return str(getattr(value, "name", value))
