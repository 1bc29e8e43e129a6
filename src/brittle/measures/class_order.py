"""Whether classes are matched in the wrong order, reported before all else: nothing else about right and wrong means
anything then. See `statistics.class_order`; it is derived from clean predictions that are there anyway."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from brittle.measures.base import ClassifierFacts, RunView
from brittle.statistics.class_order import Reordering, reordering

ORDER = "class_order"  # the key of a run's summary
CLEAN = "clean"
SHOWN = 3  # pairs of classes
LONGEST = 200  # characters of the names that are given to be copied


class SuspectedReordering(NamedTuple):
    """What is known of a classifier that seems to count its classes in another order than an image set does."""

    classifier: str
    image_set: str
    accuracy_clean: float
    accuracy_reordered: float  # on images that the order was not fitted to
    classes: dict[str, str]  # of the images → of the classifier, where they are moved
    said: str


def class_orders(run: RunView, kind: str) -> Iterator[SuspectedReordering]:
    """Of every classifier and image set of a measure that reads clean predictions, or is about them."""
    clean = run if kind == CLEAN else run.read(CLEAN)
    if clean is None:
        return
    for cell in clean.cells():
        subject = clean.images[cell.images]
        said = clean.fold(cell).compute() if subject.origin else None
        if said is not None and said.seen.any():
            places = np.flatnonzero(said.seen[:, 0])
            labels = run.references(cell.classifier, cell.images)[places]
            found = reordering_of(labels, *(said[name][places, 0] for name in ("predicted", "log_p_predicted")))
            if found is not None:
                numbers = dict(zip(labels.tolist(), subject.labels[places].tolist(), strict=True))
                words = {label: subject.class_name(number) for label, number in numbers.items()}
                yield _suspected(found, clean.classifiers[cell.classifier], cell.images, words)


def reordering_of(
    labels: NDArray[np.int64], predicted: NDArray[Any], log_p_predicted: NDArray[Any]
) -> Reordering | None:
    """Another order of classes that explains clean predictions (n,); None where some images have no label."""
    if (labels < 0).any():
        return None
    confidence = float(np.exp(log_p_predicted.astype(np.float64)).mean())
    return reordering(labels, predicted.astype(np.int64), confidence)


def _suspected(found: Reordering, facts: ClassifierFacts, images: str, words: Mapping[int, str]) -> SuspectedReordering:
    """`words` are what the images call the classes that are the classifier's by number."""
    moved = {words[label]: facts.labels[to] for label, to in found.answers.items() if label != to}
    pairs = ", ".join(f"{word} is its class {label}" for word, label in list(moved.items())[:SHOWN])
    said = (
        f"{facts.name!r} seems to count its classes in another order than {images!r}: clean accuracy is "
        f"{found.accuracy:.3f} as they are matched and {found.reordered:.3f} in the order that fits best, judged on "
        f"images that it was not fitted to ({pairs}{', …' if len(moved) > SHOWN else ''}); name its classes in its own "
        f"order: labels={_names(found, words, len(facts.labels))}"
    )
    return SuspectedReordering(facts.name, images, found.accuracy, found.reordered, moved, said)


def _names(found: Reordering, words: Mapping[int, str], count: int) -> str:
    """The names in the classifier's order, where all of them are known and short enough to be copied."""
    names = {to: words[label] for label, to in found.answers.items()}
    text = "/".join(names[place] for place in range(count)) if len(names) == count else ""
    return text if 0 < len(text) <= LONGEST and not any("/" in name for name in names.values()) else "…"
