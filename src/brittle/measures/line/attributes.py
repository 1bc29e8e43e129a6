"""Does something else about the models, such as their size, explain accuracy under shifts beyond accuracy without?"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from brittle.measures.arrays import Array
from brittle.measures.line.models import ModelTrainings
from brittle.statistics.line import FEWEST, PartialCorrelation, partial


def partials(
    models: Sequence[ModelTrainings],
    wanted: Sequence[str],
    family: str,
    identical: Array,
    shifted: Array,
    confidence: float,
) -> list[dict[str, Any]]:
    """ρ(attribute, OOD · ID) over all models that have the attribute as a number, and over those of each family.

    Also of its logarithm, where all are above 0. What fewer than five models have is left out."""
    found = []
    for attribute in wanted or numeric(models):
        for name, places in _families(models, attribute, family):
            values = np.array([float(models[place].attributes[attribute]) for place in places])
            if len(places) < FEWEST or len(set(values)) < 2:
                continue
            given = shifted[places], identical[places], confidence
            found.append(
                {
                    "attribute": attribute,
                    "family": name,
                    "models": len(places),
                    "values": len(set(values)),
                    "fewest_trainings": min(len(models[place].classifiers) for place in places),
                    "by_itself": bool(name) and _by_itself([models[place] for place in places], attribute),
                    **_as_row("", partial(values, *given)),
                    **_as_row(
                        "log_",
                        partial(np.log(values), *given) if (values > 0).all() else PartialCorrelation(len(places)),
                    ),
                }
            )
    return found


def untested_attributes(models: Sequence[ModelTrainings], wanted: Sequence[str], family: str) -> list[str]:
    """For warnings: the attributes about which nothing can be said, or no effect by itself."""
    counted = {name: sum(_has(model, name) for model in models) for name in wanted or _named(models)}
    few = {name: there for name, there in counted.items() if 0 < there < FEWEST}
    return [
        f"{there} of {len(models)} models {'has' if there == 1 else 'have'} {attribute!r} as a number: a partial "
        f"correlation needs {FEWEST}"
        for attribute, there in few.items()
    ] + [
        f"nothing is said of an effect of {attribute!r} by itself: that needs at least {FEWEST} values of it within "
        f"one {family} (an attribute of the classifiers), each trained with several seeds (a group); its partial "
        "correlation mixes it with whatever else differs"
        for attribute in wanted or numeric(models)
        if attribute not in few
        and not any(
            name and _by_itself([models[place] for place in places], attribute)
            for name, places in _families(models, attribute, family)
        )
    ]


def numeric(models: Sequence[ModelTrainings]) -> list[str]:
    """The attributes that at least five models have as numbers."""
    return [name for name in _named(models) if sum(_has(model, name) for model in models) >= FEWEST]


def _named(models: Sequence[ModelTrainings]) -> list[str]:
    return list(dict.fromkeys(key for model in models for key in model.attributes))


def _by_itself(models: Sequence[ModelTrainings], attribute: str) -> bool:
    """Whether models of one family differ enough in an attribute, and are each trained several times."""
    return len({each.attributes[attribute] for each in models}) >= FEWEST and all(
        len(each.classifiers) > 1 for each in models
    )


def _families(models: Sequence[ModelTrainings], attribute: str, family: str) -> Iterator[tuple[str, list[int]]]:
    """All models with that attribute, under "", unless they are of one family, and those of each family."""
    there = [place for place, model in enumerate(models) if _has(model, attribute)]
    of = {place: models[place].attributes.get(family) for place in there}
    if len(set(of.values())) > 1 or not all(isinstance(value, str) for value in of.values()):
        yield "", there
    for name in dict.fromkeys(value for value in of.values() if isinstance(value, str)):
        yield name, [place for place in there if of[place] == name]


def _has(model: ModelTrainings, attribute: str) -> bool:
    return is_number(model.attributes.get(attribute))


def is_number(value: Any) -> bool:
    """Neither NaN nor infinite: such a model lacks the attribute."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _as_row(prefix: str, found: PartialCorrelation) -> dict[str, Any]:
    return found.correlation.named(f"{prefix}correlation", f"{prefix}interval") | {f"{prefix}p_value": found.p_value}
