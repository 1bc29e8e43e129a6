"""The points that a line is drawn through: classifiers, trainings of one model being one point."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from brittle.measures.base import ClassifierFacts, members


class ModelTrainings(NamedTuple):
    """One classifier, or several trainings of one model: a group, whose attributes are those that all share."""

    classifiers: tuple[str, ...]
    attributes: Mapping[str, Any]


def grouped(classifiers: Mapping[str, ClassifierFacts]) -> dict[str, ModelTrainings]:
    return {
        name: ModelTrainings(tuple(of), _shared([classifiers[each].attributes for each in of]))
        for name, of in members(classifiers).items()
    }


def _shared(attributes: list[Mapping[str, Any]]) -> dict[str, Any]:
    first, *others = attributes
    return {key: value for key, value in first.items() if all(other.get(key) == value for other in others)}
