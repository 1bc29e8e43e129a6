"""What noise on layers says: σ* and P* per layer, with spread and intervals, and classifiers side by side.

Means are over a classifier's own correct images, and over those that all classifiers of the study get right;
differences of two are over the images that both get right, whatever other classifiers there are. A path that does not
change up to the limit counts with the limit: a mean of σ* is the restricted mean of min(σ*, limit).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from brittle.classifiers.layers import INPUT, WEIGHTS
from brittle.measures.base import RunView
from brittle.measures.clean.measure import clean_columns
from brittle.measures.layered import protocol, rank_correlation
from brittle.statistics.intervals import betting_bounds, simultaneous

if TYPE_CHECKING:
    from brittle.measures.layer_noise.measure import LayerNoise

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
OVER_IMAGES = "images, for the population that they were drawn from"
OVER_DRAWS = "draws of the noise, for these images: every draw is one noisy network for all of them"


class Paths(NamedTuple):
    """One layer of one classifier: M images × R repeats."""

    sigma: Array  # (M, R) where the prediction first changed, or the last σ that was tried
    broke: Mask  # (M, R) whether it changed
    p_star: Array  # (M, R) probability of the label there; NaN where the outputs were no numbers
    clustered: bool  # a repeat is one network for all images

    def of(self, chosen: Mask) -> Paths:
        return self._replace(sigma=self.sigma[chosen], broke=self.broke[chosen], p_star=self.p_star[chosen])


class Found(NamedTuple):
    """All layers of one classifier on one image set."""

    layers: tuple[str, ...]  # all that it has
    paths: dict[int, Paths]  # by number, those that were disturbed
    right: Mask  # (M,)
    calls: int


def found_of(measure: LayerNoise, run: RunView, classifier: str, images: str) -> Found:
    subject, rows = run.images[images], run.table(run.cell(classifier, images))
    layers = run.classifiers[classifier].layers
    paths = {
        number: _paths(measure, rows, subject.places, number, len(subject), layers)
        for number in measure.chosen(layers, classifier)
    }
    right = clean_columns(run, classifier, images)["rank"] == 0
    return Found(layers, paths, right, int((rows["place"].to_numpy() + 1).sum()))


def _paths(measure: LayerNoise, rows: pa.Table, places: Any, number: int, images: int, layers: Sequence[str]) -> Paths:
    here = rows.filter(rows["layer"].to_numpy() == number)
    clustered = layers[number] == WEIGHTS
    at = places(here["image"].to_numpy()), here["repeat"].to_numpy()

    def spread(values: NDArray[Any]) -> NDArray[Any]:
        made = np.zeros((images, measure.networks if clustered else measure.repeats), values.dtype)
        made[at] = values
        return made

    return Paths(
        spread((here["place"].to_numpy() + 1) * measure.step),
        spread(here["broke"].to_numpy(zero_copy_only=False)),
        spread(np.exp(here["log_p_predicted"].to_numpy().astype(np.float64))),
        clustered,
    )


def summarise_noise(measure: LayerNoise, run: RunView) -> dict[str, Any]:
    """A result per image set and classifier, with all of its layers; differences between classifiers where they have
    the same layer."""
    results, warnings, calls = [], [], dict.fromkeys(run.classifiers, 0)
    pairs: list[tuple[dict[str, Any], Paths, Paths]] = []
    whole = {images: {name: found_of(measure, run, name, images) for name in run.classifiers} for images in run.images}
    averages = 2 if len(run.classifiers) > 1 else 1  # over a classifier's own correct images, and over the common ones
    family = averages * sum(len(each.paths) for found in whole.values() for each in found.values())
    for images, found in whole.items():
        common = np.logical_and.reduce([each.right for each in found.values()])
        for name, each in found.items():
            calls[name] += each.calls
            results.append(
                {"classifier": name, "image_set": images}
                | _protocol(measure, run, images, each)
                | _told(_per_layer(measure, each, common if len(found) > 1 else None, family), each)
            )
            warnings += _not_finite(name, images, each)
        pairs += [({"image_set": images} | names, one, other) for names, one, other in _alike(found)]
    comparisons = [names | _difference(measure, one, other, len(pairs)) for names, one, other in pairs]
    return {"results": results, "comparisons": comparisons, "warnings": warnings, "calls": calls}


def _protocol(measure: LayerNoise, run: RunView, images: str, found: Found) -> dict[str, Any]:
    """How the numbers came about, which belongs to each of them."""
    return {
        **protocol(measure.layers, found.layers, run, images, found.right),
        "noise": measure.noise,
        "step": measure.step,
        "limit": measure.end,
        "confidence": measure.confidence,
    }


def _per_layer(measure: LayerNoise, found: Found, common: Mask | None, family: int) -> list[dict[str, Any]]:
    return [
        {"layer": found.layers[number], "number": number}
        | _averages(measure, paths.of(found.right), family)
        | {"common": None if common is None else _averages(measure, paths.of(common), family)}
        for number, paths in found.paths.items()
    ]


def _told(layers: list[dict[str, Any]], found: Found) -> dict[str, Any]:
    """All layers, and whether σ* and P* rise or fall from input to output (rank correlation with the number)."""
    inner = [each for each in layers if found.layers[each["number"]] != WEIGHTS]
    trends = {key: rank_correlation([(each["number"], each[key]) for each in inner]) for key in ("mean", "p_star")}
    return {"depth_correlation": None if trends["mean"] is None else trends, "layers": layers}


def _averages(measure: LayerNoise, paths: Paths, family: int) -> dict[str, Any]:
    """Of one layer over some images. For the weights an interval is over draws, otherwise over images."""
    sigma, broke = paths.sigma, paths.broke
    count, together = len(sigma), simultaneous(measure.confidence, family)
    known = broke & np.isfinite(paths.p_star)
    p_star = paths.p_star[known]
    return {
        "averaged": count,
        "repeats": sigma.shape[1],
        "mean": float(sigma.mean()) if count else None,
        "interval": _interval(measure, paths, measure.confidence),
        "interval_simultaneous": _interval(measure, paths, together),
        "interval_over": OVER_DRAWS if paths.clustered else OVER_IMAGES,
        "spread": _deviation(sigma),
        "spread_of_repeats": _within(sigma, paths.clustered),
        "median": _median(sigma, broke),
        "unbroken": float(1 - broke.mean()) if count else None,
        "p_star": float(_per_cluster(paths, known).mean()) if len(p_star) else None,
        "p_star_interval": _p_star_interval(measure, paths, known),
        "p_star_spread": _deviation(p_star),
    }


def _interval(measure: LayerNoise, paths: Paths, confidence: float) -> list[float] | None:
    if not len(paths.sigma):
        return None
    means = paths.sigma.mean(0 if paths.clustered else 1)
    return list(betting_bounds(means, confidence, planned=len(means), support=(0.0, measure.end)).pair())


def _per_cluster(paths: Paths, known: Mask) -> Array:
    """Mean P* of every image, or of every draw for the weights, that has any."""
    axis = 0 if paths.clustered else 1
    counts = known.sum(axis)
    sums = np.where(known, paths.p_star, 0).sum(axis)
    return np.asarray(sums[counts > 0] / counts[counts > 0], np.float64)


def _p_star_interval(measure: LayerNoise, paths: Paths, known: Mask) -> list[float] | None:
    means = _per_cluster(paths, known)
    return list(betting_bounds(means, measure.confidence, planned=len(means)).pair()) if len(means) else None


def _deviation(values: Array) -> float | None:
    """Over all images and repeats: figure 7's error bars."""
    return float(values.std(ddof=1)) if values.size > 1 else None


def _within(sigma: Array, clustered: bool) -> float | None:
    """How far repeats lie apart: those of an image, or the means of whole networks."""
    if sigma.shape[1] < 2 or not len(sigma):
        return None
    return float(sigma.mean(0).std(ddof=1)) if clustered else float(np.sqrt(sigma.var(1, ddof=1).mean()))


def _median(sigma: Array, broke: Mask) -> float | None:
    """Over all images and repeats; None where it lies past the limit."""
    if not sigma.size:
        return None
    found = float(np.median(np.where(broke, sigma, np.inf)))
    return found if np.isfinite(found) else None


def _alike(found: Mapping[str, Found]) -> Iterator[tuple[dict[str, Any], Paths, Paths]]:
    """Pairs of classifiers with the layers that mean the same in both, on the images that both get right: all layers
    where they have the same ones, otherwise the input and the weights."""
    for (first, one), (second, other) in itertools.combinations(found.items(), 2):
        both = one.right & other.right
        for number, paths in one.paths.items():
            layer = one.layers[number]
            same = one.layers == other.layers or layer in (INPUT, WEIGHTS)
            there = other.paths.get(other.layers.index(layer)) if same else None
            if there is not None:
                names = {"first": first, "second": second, "layer": layer, "number": number}
                yield names, paths.of(both), there.of(both)


def _difference(measure: LayerNoise, first: Paths, second: Paths, family: int) -> dict[str, Any]:
    """First minus second over the images that both get right, image by image or draw by draw."""
    said: dict[str, Any] = {"confidence": measure.confidence, "family": family, "images": len(first.sigma)}
    if not len(first.sigma):
        return said | {"difference": None, "interval": None, "better": "tie"}
    apart = (first.sigma - second.sigma).mean(0 if first.clustered else 1)
    together, support = simultaneous(measure.confidence, family), (-measure.end, measure.end)
    low, high = betting_bounds(apart, together, planned=len(apart), support=support).pair()
    better = "first" if low > 0 else "second" if high < 0 else "tie"
    return said | {"difference": float(apart.mean()), "interval": [low, high], "better": better}


def _not_finite(classifier: str, images: str, found: Found) -> list[str]:
    said = []
    for number, paths in found.paths.items():
        odd = int((paths.broke & ~np.isfinite(paths.p_star)).sum())
        if odd:
            said.append(
                f"noise on the layer {found.layers[number]!r} of {classifier!r} made outputs infinite or NaN on {odd} "
                f"of {paths.broke.size} paths on {images}: they count as changed there, and have no P*"
            )
    return said
