"""What a classifier's labels are called in the report: the one place that decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from brittle.class_names import displayed_classes


@dataclass(frozen=True)
class LabelNames:
    """The classifier's own words, or the image set's where its classes go by number."""

    labels: Sequence[str]  # as the classifier has them
    classes: Sequence[str]  # of the image set
    named: bool = True  # False where the labels are numbers for want of names

    @cached_property
    def names(self) -> tuple[str, ...]:
        return displayed_classes([str(label) for label in self.labels], self.classes, self.named)

    def __call__(self, label: str | int) -> str:
        """The name of a class, given by its number; what a summary calls it is its name already."""
        return self.names[label] if isinstance(label, int) else label
