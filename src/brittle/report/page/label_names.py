"""What a classifier's labels are called in the report: the one place that decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class LabelNames:
    """The classifier's own words, or the image set's where its classes go by number."""

    labels: Sequence[str]  # as the classifier has them
    classes: Sequence[str]  # of the image set
    named: bool = True  # False where the labels are numbers for want of names

    @cached_property
    def names(self) -> tuple[str, ...]:
        labels, classes = [str(label) for label in self.labels], list(self.classes)
        numbered = all(label == str(place) for place, label in enumerate(labels))
        if not self.named or (numbered and not set(classes) <= set(labels)):
            return (*classes[: len(labels)], *labels[len(classes) :])
        return tuple(labels)

    @cached_property
    def _by_label(self) -> dict[str, str]:
        return dict(zip(map(str, self.labels), self.names, strict=True))

    def __call__(self, label: str | int) -> str:
        """The name of a class, given by its number or by the classifier's own word; a summary has names already."""
        return self.names[label] if isinstance(label, int) else self._by_label.get(label, label)
