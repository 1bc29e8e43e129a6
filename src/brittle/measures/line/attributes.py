"""Does something else about the models, such as their size, explain accuracy under shifts beyond accuracy without?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brittle.measures.line.models import Model
from brittle.statistics.line import FEWEST, Partial, partial

Array = NDArray[np.float64]
FEWEST_SIZES = 5


def partials(
    models: Mapping[str, Model],
    wanted: Sequence[str],
    family: str,
    identical: Array,
    shifted: Array,
    confidence: float,
) -> list[dict[str, Any]]:
    """ρ(attribute, OOD · ID) over all models that have the attribute as a number, and over those of each family; also of
    its logarithm where all are above 0. Those with fewer than five models are left out."""
    found = []
    for attribute in wanted or numeric(models):
        for name, places in _families(models, attribute, family):
            values = np.array([float(list(models.values())[place].attributes[attribute]) for place in places])
            if len(places) < FEWEST or len(set(values)) < 2:
                continue
            logged = np.log(values) if (values > 0).all() else None
            given = shifted[places], identical[places], confidence
            sizes, seeds = len(set(values)), min(len(list(models.values())[place].classifiers) for place in places)
            found.append(
                {
                    "attribute": attribute,
                    "family": name,
                    "models": len(places),
                    "values": sizes,
                    "fewest_trainings": seeds,
                    "about_size": bool(name) and sizes >= FEWEST_SIZES and seeds > 1,
                    **_told("", partial(values, *given)),
                    **_told("log_", None if logged is None else partial(logged, *given)),
                }
            )
    return found


def unsaid(models: Mapping[str, Model], family: str) -> list[str]:
    """What the attributes can't tell, for a warning: an effect of size needs five sizes of one architecture, each trained
    several times."""
    said = []
    for attribute in numeric(models):
        families = [
            places
            for name, places in _families(models, attribute, family)
            if name
            and len({list(models.values())[place].attributes[attribute] for place in places}) >= FEWEST_SIZES
            and all(len(list(models.values())[place].classifiers) > 1 for place in places)
        ]
        if not families:
            said.append(
                f"nothing is said of an effect of {attribute!r} by itself: that needs at least {FEWEST_SIZES} values "
                f"of it within one {family} (an attribute of the classifiers), each trained with several seeds (a group); "
                "its partial correlation mixes it with whatever else differs"
            )
    return said


def numeric(models: Mapping[str, Model]) -> list[str]:
    """The attributes that at least five models have as numbers."""
    names = dict.fromkeys(key for model in models.values() for key in model.attributes)
    return [name for name in names if sum(map(lambda model: _has(model, name), models.values())) >= FEWEST]


def _families(models: Mapping[str, Model], attribute: str, family: str) -> Iterator[tuple[str, list[int]]]:
    """All models with that attribute, under "", and those of each family."""
    there = [place for place, model in enumerate(models.values()) if _has(model, attribute)]
    yield "", there
    of = {place: list(models.values())[place].attributes.get(family) for place in there}
    for name in dict.fromkeys(value for value in of.values() if isinstance(value, str)):
        yield name, [place for place in there if of[place] == name]


def _has(model: Model, attribute: str) -> bool:
    value = model.attributes.get(attribute)
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _told(prefix: str, found: Partial | None) -> dict[str, Any]:
    if found is None:
        return {f"{prefix}{key}": None for key in ("correlation", "p_value", "interval")}
    return {
        f"{prefix}correlation": found.correlation,
        f"{prefix}p_value": found.p_value,
        f"{prefix}interval": None if found.interval is None else list(found.interval),
    }
