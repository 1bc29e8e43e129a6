"""Results of measures of their own, with the rows behind them."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from brittle.errors import BrittleError
from brittle.imagenet import by_name
from brittle.measures.connectedness.tables import kept_paths
from brittle.measures.perturbation.change_sizes import ChangeSizes, matrix
from brittle.registry import did_you_mean
from brittle.results.base import Result


class CleanResult(Result, kind="clean"):
    """Untouched images: `accuracy`, its interval and what stands beside them."""


class BreakingPointsResult(Result, kind="breaking-points"):
    """The severity at which predictions change: `mean`, `interval`, `unbroken` and what stands beside them."""


class FailurePointsResult(Result, kind="failure-points"):
    """The severity at which predictions become wrong: `mean`, `never`, `severities` and what stands beside them."""

    @property
    def refined(self) -> pa.Table:
        """Failure points that were narrowed down: an image is right at `low` and wrong at `high`."""
        return self._table("refined")


class ShufflingResult(Result, kind="shuffling"):
    """Accuracy on shuffled patches: `shuffled`, an entry per grid, and what stands beside them."""


class OcclusionResult(Result, kind="occlusion"):
    """Accuracy as images are hidden: `points`, one entry per hidden share, and what stands beside them."""

    @cached_property
    def rows(self) -> pa.Table:
        """Every row: classifier, image set and nuisance, then the image, its mask and share, and what was said."""
        rows, points = super().rows, {each["nuisance"]: each["points"] for each in self["results"]}
        shares = [
            points[row["nuisance"]][row["place"]]["share"] for row in rows.select(["nuisance", "place"]).to_pylist()
        ]
        return rows.set_column(rows.column_names.index("place"), "share", pa.array(shares, pa.float64()))

    def curve(self, key: str = "accuracy", classifier: str | None = None, nuisance: str | None = None) -> Any:
        """Two lists: the hidden shares, and what was found there, such as "accuracy" or "iocclusion"; of a
        classifier or group and a nuisance, which are named where there are several."""
        rows = [*self["results"], *self["groups"]]
        found = [
            row
            for row in rows
            if classifier in (None, row.get("classifier", row["group"]))
            and nuisance in (None, row["nuisance"])
            and key in row["points"][0]
        ]
        if not found:
            known = sorted({key for row in rows for key in row["points"][0]})
            raise BrittleError(
                f"there is no {key!r} of {classifier!r} under {nuisance!r}", f"Known: {', '.join(known)}."
            )
        names = dict.fromkeys((row.get("classifier", row["group"]), row["nuisance"]) for row in found)
        if len(names) > 1:
            several = ", ".join(f"{who} under {what}" for who, what in names)
            raise BrittleError(
                f"there are {len(names)} curves of {key!r}: {several}", "Name one: classifier, nuisance."
            )
        return [point["share"] for point in found[0]["points"]], [point[key] for point in found[0]["points"]]


class AugmentationResult(Result, kind="augmentation"):
    """Affinity of augmentations: `affinity`, `accuracy_augmented`, a result per classifier and augmentation."""


class LayerResult(Result):
    """What was found layer by layer: `layers`, one entry each, and what stands beside them."""

    def layer(self, layer: str | int) -> dict[str, Any]:
        """What was found of one layer, by its name or number, or of layers that were disturbed at once: "1+4"."""
        numbers = ["+".join(map(str, each.get("members", ()))) or each["number"] for each in self["layers"]]
        for found, number in zip(self["layers"], numbers, strict=True):
            if layer in (found["layer"], number):
                return dict(found)
        known = ", ".join(f"{number} {each['layer']}" for each, number in zip(self["layers"], numbers, strict=True))
        raise BrittleError(f"there is no layer {layer!r} among those that were disturbed", f"Known: {known}.")


class LayerNoiseResult(LayerResult, kind="layer-noise"):
    """Noise on layers at which predictions change: `layers`, one entry each, and what stands beside them."""


class LayerChangesResult(LayerResult, kind="layer-changes"):
    """Changes of what layers give at which a target is predicted: `layers`, one entry each, and what stands beside."""


class ConnectednessResult(Result, kind="connectedness"):
    """The bubbles of each class: `classes`, an entry each, `straight_share` and what stands beside them."""

    @property
    def images(self) -> pa.Table:
        """A row per image: its margin, and the first image of its bubble, −1 where it is misclassified."""
        return self._table("images")

    def bubbles(self, label: str) -> list[list[int]]:
        """The ids of the images in each bubble of a class, the largest first."""
        name = self["classifier"]
        labels = self.run.job.facts[name].labels
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


class PerturbationResult(Result, kind="perturbation"):
    """Changes at which a classifier sees another class: `mean`, `failures`, `smallest` and what stands beside them."""

    @property
    def pictures(self) -> pa.Table:
        """Of some images the least and the greatest change, as bytes of float16 (C, H, W)."""
        return self._table("pictures")

    @property
    def transfer(self) -> pa.Table:
        """What the other classifiers say of every change that was found."""
        return self._table("transfer")

    def matrix(self) -> NDArray[np.float64]:
        """The perturbation matrix (K, K) in units of the value range: the change that the first right image of each
        class (row) needs towards every other (column). Infinite where the search failed, NaN where there was none."""
        view = self.run.view(str(self._measure))
        name = self["classifier"]
        found, _ = matrix(ChangeSizes(view, view.cell(name, self["image_set"])), len(view.classifiers[name].labels))
        return found
