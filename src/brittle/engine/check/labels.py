"""The one place where an image set's classes meet a classifier's."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from brittle.errors import BrittleError
from brittle.imagenet import by_name
from brittle.measures.base import ClassifierFacts, ImageSetFacts

SHOWN = 3  # pairs of classes


def reference_labels(classifier: ClassifierFacts, subject: ImageSetFacts) -> NDArray[np.int64]:
    """Labels (n,) of the images as the classifier counts its classes: by name where every class of the set is one of
    the classifier's labels (a class without a name goes by its number), by number otherwise, and always where the
    classifier has no names of its own. −1 stays."""
    labels, name = classifier.labels, classifier.name
    places = by_name(labels) if classifier.named else {}
    given = subject.labels
    if goes_by_name(classifier, subject):
        there, where = np.unique(given, return_inverse=True)
        own = [places[subject.class_name(label)] if label >= 0 else label for label in there.tolist()]
        return np.array(own, dtype=np.int64)[where]
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
        lacking = next(word for word in subject.classes if word not in places)
        raise BrittleError(
            f"the image set {subject.name!r} and the classifier {name!r} count their classes differently"
            f" ({moved!r} is {list(subject.classes).index(moved)} and {places[moved]}), "
            f"and the classifier has no {lacking!r}",
            "Name the classes alike in both: labels=… for the classifier, classes=… or folder names for the images.",
        )
    return given


def goes_by_name(classifier: ClassifierFacts, subject: ImageSetFacts) -> bool:
    """Whether every class that the images have is one of the classifier's labels."""
    places = by_name(classifier.labels) if classifier.named else {}
    return classifier.named and all(subject.class_name(each) in places for each in set(subject.labels.tolist()) - {-1})


def matching_warning(classifier: ClassifierFacts, subject: ImageSetFacts) -> str:
    """Where classes with names go by number, or are named by numbers, and matching by name and by number disagree: what
    was done; "" elsewhere."""
    given = subject.labels
    present = sorted(set(given[given >= 0].tolist()))
    names = {label: subject.class_name(label) for label in present}
    moved = [
        label for label, name in names.items() if not name.isdecimal() or name.lstrip("0") != str(label).lstrip("0")
    ]
    if not all(name.isdecimal() for name in names.values()):
        return "" if goes_by_name(classifier, subject) else _by_number(classifier, subject)
    if not classifier.named:
        if not moved:
            return ""
        label = moved[0]
        return (
            f"the classes of {subject.name!r} are named by numbers and go to those of {classifier.name!r}, which has "
            f"no names, by their place ({names[label]!r} to {label}): if they mean its classes of these numbers, name "
            "those with labels=…"
        )
    found = reference_labels(classifier, subject)
    others = np.flatnonzero((found != given) & (given < len(classifier.labels)))
    if not len(others):
        return ""
    first = others[given[others].argmin()]
    label, to = int(given[first]), int(found[first])
    return (
        f"the classes of {subject.name!r} go to those of {classifier.name!r} by their names, which are numbers "
        f"({names[label]!r} to the one in place {to}, not {label}): if they mean places, give the classifier no labels"
    )


def _by_number(classifier: ClassifierFacts, subject: ImageSetFacts) -> str:
    """The first few pairs of classes that go by number."""
    pairs = ", ".join(f"{number} = {word}" for number, word in enumerate(subject.classes[:SHOWN]))
    lacks = "lacks some of these names" if classifier.named else "has no names"
    return (
        f"the classes of {subject.name!r} are matched by number with the {len(classifier.labels)} classes of "
        f"{classifier.name!r}, which {lacks}: {pairs}{', …' if len(subject.classes) > SHOWN else ''}; "
        "if it counts them in another order, name them in that order with labels=…"
    )
