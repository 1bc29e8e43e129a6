"""Results of measures of their own, with the rows behind them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from brittle.errors import BrittleError
from brittle.imagenet import by_name
from brittle.measures.connectedness.tables import kept_paths
from brittle.measures.perturbation.sizes import Sizes, matrix
from brittle.registry import did_you_mean
from brittle.results.base import WithRows


class BreakingPoints(WithRows):
    """The severity at which predictions change: `mean`, `interval`, `unbroken` and what stands beside them."""


class FailurePoints(WithRows):
    """The severity at which predictions become wrong: `mean`, `never`, `severities` and what stands beside them."""

    @property
    def refined(self) -> pa.Table:
        """Failure points that were narrowed down: an image is right at `low` and wrong at `high`."""
        return self._table("refined")


class Shuffling(WithRows):
    """Accuracy on shuffled patches: `shuffled`, an entry per grid, and what stands beside them."""


class Occlusions(WithRows):
    """Accuracy as images are hidden: `points`, one entry per hidden share, and what stands beside them."""

    @property
    def rows(self) -> pa.Table:
        """Every row: classifier, image set and nuisance, then the image, its mask and share, and what was said."""
        (measure,) = self.done.summary["measures"]
        view, parts = self.done.view(measure), []
        points = {each["nuisance"]: each["points"] for each in self["results"]}
        for cell in view.cells():
            table = view.table(cell).drop_columns("unit")
            shares = pa.array([point["share"] for point in points[cell.nuisance]], pa.float64())
            place = table.column_names.index("place")
            table = table.set_column(place, "share", shares.take(table["place"].combine_chunks()))
            names = {"nuisance": cell.nuisance, "image_set": cell.images, "classifier": cell.classifier}
            for name, value in names.items():
                table = table.add_column(0, name, pa.repeat(value, table.num_rows))
            parts.append(table)
        return pa.concat_tables(parts)

    def curve(self, key: str = "accuracy", classifier: str | None = None, nuisance: str | None = None) -> Any:
        """Two lists: the hidden shares, and what was found there, such as "accuracy" or "iocclusion"; of the first
        classifier or group, and of the first nuisance, unless one is named."""
        for row in (*self["results"], *self["groups"]):
            meant = classifier in (None, row.get("classifier", row["group"])) and nuisance in (None, row["nuisance"])
            if meant and key in row["points"][0]:
                return [point["share"] for point in row["points"]], [point[key] for point in row["points"]]
        known = sorted({key for row in (*self["results"], *self["groups"]) for key in row["points"][0]})
        raise BrittleError(f"there is no {key!r} of {classifier!r} under {nuisance!r}", f"Known: {', '.join(known)}.")


class Augmentation(WithRows):
    """Affinity of augmentations: `affinity`, `accuracy_augmented` of the first, and `results` of all of them."""


class OfLayers(WithRows):
    """What was found layer by layer: `layers`, one entry each, and what stands beside them."""

    def layer(self, layer: str | int, classifier: str | None = None) -> dict[str, Any]:
        """What was found of one layer, by its name or number; of the first classifier unless one is named."""
        own = next((each for each in self["results"] if each["classifier"] == classifier), self["results"][0])
        for found in own["layers"]:
            if layer in (found["layer"], found["number"]):
                return dict(found)
        known = ", ".join(f"{each['number']} {each['layer']}" for each in own["layers"])
        raise BrittleError(f"there is no layer {layer!r} among those that were disturbed", f"Known: {known}.")


class LayerNoise(OfLayers):
    """Noise on layers at which predictions change."""


class LayerChanges(OfLayers):
    """Targeted changes of what layers give at which a target is predicted."""


class Connectedness(WithRows):
    """The bubbles of each class: `classes`, an entry each, `straight_share` and what stands beside them."""

    @property
    def images(self) -> pa.Table:
        """A row per image: its margin, and the first image of its bubble, −1 where it is misclassified."""
        return self._table("images")

    def bubbles(self, label: str, classifier: str | None = None) -> list[list[int]]:
        """The ids of the images in each bubble of a class, the largest first; of the first classifier unless one is
        named."""
        name = classifier or self["results"][0]["classifier"]
        labels = self.done.job.facts[name].labels
        places = by_name(labels)
        if label not in places:
            raise BrittleError(f"the classifier {name!r} has no class {label!r}", did_you_mean(label, labels))
        found: dict[int, list[int]] = {}
        for row in self.images.to_pylist():
            if row["label"] == places[label] and row["component"] >= 0 and row.get("classifier", name) == name:
                found.setdefault(row["component"], []).append(row["image"])
        return sorted(found.values(), key=len, reverse=True)

    @property
    def paths(self) -> list[dict[str, Any]]:
        """The connecting paths that were kept: `image`, `other`, `how`, `margin` (F,) and `frames` (F, C, H, W)."""
        return kept_paths(self._table("pictures"))


class Perturbations(WithRows):
    """Changes at which a classifier sees another class: `mean`, `failures`, `smallest` and what stands beside them."""

    @property
    def pictures(self) -> pa.Table:
        """Of some images the least and the greatest change, as bytes of float16 (C, H, W)."""
        return self._table("pictures")

    @property
    def transfer(self) -> pa.Table:
        """What the other classifiers say of every change that was found."""
        return self._table("transfer")

    def matrix(self, classifier: str | None = None) -> NDArray[np.float64]:
        """The perturbation matrix (K, K) in units of the value range: the change that the first right image of each
        class (row) needs towards every other (column). Infinite where the search failed, NaN where there was none."""
        (measure,) = self.done.summary["measures"]
        view = self.done.view(measure)
        name = self["classifier"] if classifier is None else classifier
        if name not in view.classifiers:
            raise BrittleError(f"there is no classifier {name!r}", f"Known: {', '.join(view.classifiers)}.")
        found, _ = matrix(Sizes(view, view.cell(name, self["image_set"])), len(view.classifiers[name].labels))
        return found
