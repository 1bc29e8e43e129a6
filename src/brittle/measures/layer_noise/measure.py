"""Layer noise: the noise on each layer of a classifier, and on its weights, at which its prediction first changes
(UREM, section 4 and figure 7), with the probability P* of the label that it changes to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from brittle.classifiers.layers import WEIGHTS
from brittle.errors import BrittleError
from brittle.measures import register
from brittle.measures.base import About, MeasureInputs, Pending, RunView, Tables, Task, tabled
from brittle.measures.folds import ImageValues
from brittle.measures.lanes import lane_size
from brittle.measures.layer_choice import ChosenLayers, chosen_layers
from brittle.measures.layer_noise.noise import NoisyLayers
from brittle.measures.layer_noise.options import LayerNoiseOptions
from brittle.measures.layer_noise.summary import summarise_noise
from brittle.measures.layered import LayerMeasure, clean_predictions
from brittle.measures.plan import Unit
from brittle.measures.sweep import Crossings, joined_crossings

KIND = "layer-noise"
KEPT = ("predicted", "log_p_predicted", "log_p_label")
NO_LABEL = np.int32(-1)  # where noise has made the outputs infinite or no numbers at all
MOST_SEVERITIES = 10**5


@register(KIND)
@dataclass(frozen=True)
class LayerNoise(LayerNoiseOptions, LayerMeasure):
    """σ of multiplicative noise on layers, one by one or several at once, at which the prediction changes."""

    @property
    def severities(self) -> Tensor:
        """(K,) float64: every σ that is tried; the last is where paths are censored."""
        return self.step * torch.arange(1, int(self.limit / self.step + 1e-9) + 1, dtype=torch.float64)

    @property
    def end(self) -> float:
        """The last σ, which may lie below the limit."""
        return self.step * len(self.severities)

    def chosen(self, layers: Sequence[str], classifier: str = "") -> tuple[ChosenLayers, ...]:
        return chosen_layers(self.layers, layers, classifier)

    def width(self, classes: int) -> int:
        return self.repeats

    def widths(self, chosen: Sequence[ChosenLayers], layers: Sequence[str], width: int) -> list[int]:
        """Fields of noise, or noisy networks where the weights are among the layers."""
        return [self.networks if WEIGHTS in each.names(layers) else width for each in chosen]

    def check(self, about: About, asked: MeasureInputs) -> None:
        if not 1 <= self.limit / self.step + 1e-9 < MOST_SEVERITIES:
            raise BrittleError(
                f"layer-noise: σ can't rise to {self.limit:g} in steps of {self.step:g}",
                f"Give a step below the limit, and fewer than {MOST_SEVERITIES} of them.",
            )
        super().check(about, asked)

    def calls(self, unit: Unit) -> int:
        return unit.size * len(self.severities)

    @torch.inference_mode()
    def evaluate(self, task: Task) -> Mapping[str, Pending]:
        return {name: partial(_tables, *self._crossed(task, name)) for name in task.classifiers}

    def fold(self, about: About) -> ImageValues:
        """10 bytes per image, layer and repeat."""
        return self.layer_values(about, ("place", "broke", "log_p_predicted"))

    def summarise(self, run: RunView) -> dict[str, Any]:
        return summarise_noise(self, run)

    def _crossed(self, task: Task, name: str) -> tuple[dict[str, Any], Crossings]:
        """The first columns of the rows, and where each pair's path crossed."""

        severities, references = self.severities.float().to(task.device), clean_predictions(task, name)
        answers = replace(task.answers, batch=task.batch, size=lane_size(task.batch_size, task.device))

        def along(layers: tuple[str, ...], rows: Tensor, repeat: Tensor) -> Crossings:
            noise = NoisyLayers(answers, name, layers, references, severities, self.noise == "fresh", task.about.seed)
            return noise.crossings(rows, repeat)

        keys, parts, order = self.by_layer(task, name, along)
        return keys, joined_crossings(parts, order)


def _tables(keys: dict[str, Any], found: Crossings) -> Tables:
    said = found.outcome.columns()
    told = {"broke": found.met, "place": found.place, "severity": found.severity}
    finite = np.isfinite(said["log_p_predicted"])
    predicted = np.where(finite, said["predicted"], NO_LABEL)
    return tabled({**keys, **told, **{name: said[name] for name in KEPT}, "predicted": predicted})
