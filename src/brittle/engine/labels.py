"""The one place where an image set's classes meet a classifier's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from brittle.errors import BrittleError
from brittle.measures.base import Subject


def reference_labels(labels: Sequence[str], name: str, subject: Subject) -> NDArray[np.int64]:
    """Labels (n,) of the images as the classifier `name` with these `labels` counts its classes: by name where every
    class of the set is one of the classifier's labels (a class without a name goes by its number), by number
    otherwise. −1 stays."""
    counts = Counter(labels)
    places = {label: place for place, label in enumerate(labels) if counts[label] == 1}
    given = subject.labels
    named = tuple(subject.classes) or tuple(map(str, range(int(given.max()) + 1)))
    if all(named[label] in places for label in set(given.tolist()) if label >= 0):
        by_name = np.array([places.get(label, -1) for label in named], dtype=np.int64)
        return np.where(given >= 0, by_name[np.maximum(given, 0)], given) if len(named) else given
    outside = np.flatnonzero(given >= len(labels))
    if len(outside):
        place = int(outside[0])
        raise BrittleError(
            f"{subject.names[place]} of the image set {subject.name!r} has label {int(given[place])}, "
            f"but the classifier {name!r} knows {len(labels)} classes (0 to {len(labels) - 1})",
            "Give the images this classifier was made for, or name its classes with labels=….",
        )
    moved = next((word for place, word in enumerate(subject.classes) if places.get(word, place) != place), None)
    if moved is not None:
        lacking = next(word for word in named if word not in places)
        raise BrittleError(
            f"the image set {subject.name!r} and the classifier {name!r} count their classes differently"
            f" ({moved!r} is {list(subject.classes).index(moved)} and {places[moved]}), "
            f"and the classifier has no {lacking!r}",
            "Name the classes alike in both: labels=… for the classifier, classes=… or folder names for the images.",
        )
    return given
