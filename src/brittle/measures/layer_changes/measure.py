"""Layer changes: the change of what layers give that is searched for until a target is predicted (UREM, figure 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import torch
from torch import Tensor

from brittle.classifiers.layers import WEIGHTS
from brittle.measures import register
from brittle.measures.base import About, Pending, RunView, Task, tabled
from brittle.measures.folds import ImageValues
from brittle.measures.layer_changes.options import LayerChangesOptions
from brittle.measures.layer_changes.search import EXPECTED_CALLS, LayerChangeResult, LayerSearch
from brittle.measures.layer_changes.summary import summarise_changes
from brittle.measures.layer_choice import ChosenLayers, chosen_layers
from brittle.measures.layered import LayerMeasure, clean_predictions
from brittle.measures.plan import Unit
from brittle.types import Differentiable, Layered

KIND = "layer-changes"


@register(KIND)
@dataclass(frozen=True)
class LayerChanges(LayerChangesOptions, LayerMeasure):
    """Size of the targeted change of layers, one by one or several at once, at which a target is predicted."""

    needs: ClassVar = (Layered, Differentiable)

    def chosen(self, layers: Sequence[str], classifier: str = "") -> tuple[ChosenLayers, ...]:
        """The same as for noise, without the weights, which are last, unless they are named."""
        found = chosen_layers(self.layers, layers, classifier, by_name_only=(WEIGHTS,))
        return found if self.layers else found[:-1]

    def width(self, classes: int) -> int:
        return min(self.targets, classes - 1)

    def calls(self, unit: Unit) -> int:
        return unit.size * EXPECTED_CALLS

    def evaluate(self, task: Task) -> Mapping[str, Pending]:
        return {name: partial(tabled, self._searched(task, name)) for name in task.classifiers}

    def fold(self, about: About) -> ImageValues:
        """19 bytes per image, layer and target."""
        return self.layer_values(about, ("relative", "linf", "rms", "reached", "finite", "calls"))

    def summarise(self, run: RunView) -> dict[str, Any]:
        return summarise_changes(self, run)

    def _searched(self, task: Task, name: str) -> dict[str, Any]:
        """The columns of the rows: the change that was found for each pair."""

        answers, origin = task.answers.of(task.batch), clean_predictions(task, name)

        def search(layers: tuple[str, ...], rows: Tensor, slot: Tensor) -> LayerChangeResult:
            of = LayerSearch(self, answers, task.classifiers[name], layers, origin, task.about.seed)
            return of.changes(rows, slot)

        keys, parts, order = self.by_layer(task, name, search)
        return keys | LayerChangeResult(*(torch.cat(each)[order] for each in zip(*parts, strict=True)))._asdict()
