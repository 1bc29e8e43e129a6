"""What noise on layers says: σ* and P* per layer, with spread and intervals, and classifiers side by side.

Means are over a classifier's own correct images, and over those that all classifiers of the study get right;
differences of two are over the images that both get right, whatever other classifiers there are. A path that does not
change up to the limit counts with the limit: a mean of σ* is the restricted mean of min(σ*, limit).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from brittle.classifiers.layers import WEIGHTS
from brittle.measures.arrays import Array, Mask, probability
from brittle.measures.base import RunView
from brittle.measures.clean.measure import clean_right
from brittle.measures.folds import ImageValues
from brittle.measures.layered import Disturbed, rank_correlation, summed_up
from brittle.statistics.estimate import mean
from brittle.statistics.intervals import simultaneous

if TYPE_CHECKING:
    from brittle.measures.layer_noise.measure import LayerNoise

OVER_IMAGES = "images, for the population that they were drawn from"
OVER_DRAWS = "draws of the noise, for these images: every draw is one noisy network for all of them"


class LayerPaths(NamedTuple):
    """One layer of one classifier, or a set of them: M images × R repeats."""

    sigma: Array  # (M, R) where the prediction first changed, or the last σ that was tried
    broke: Mask  # (M, R) whether it changed
    p_star: Array  # (M, R) probability of the label there; NaN where the outputs were no numbers
    clustered: bool  # a repeat is one network for all images

    def of(self, chosen: Mask) -> LayerPaths:
        return self._replace(sigma=self.sigma[chosen], broke=self.broke[chosen], p_star=self.p_star[chosen])

    def means(self, values: Array, known: Mask | None = None) -> Array:
        """The mean of values (M, R), of those that are known, of every image, or of every draw for the weights, that
        has any."""
        there = np.ones(values.shape, bool) if known is None else known
        axis = 0 if self.clustered else 1
        counts, sums = there.sum(axis), np.where(there, values, 0).sum(axis)
        return np.asarray(sums[counts > 0] / counts[counts > 0], np.float64)


def found_of(measure: LayerNoise, run: RunView, classifier: str, images: str) -> Disturbed[LayerPaths]:
    found: ImageValues = run.fold(run.cell(classifier, images)).compute()
    facts = run.classifiers[classifier]
    paths = {
        each: _paths(measure, found, slice(begin, begin + width), WEIGHTS in each.names(facts.layers))
        for each, begin, width in measure.stretches(facts.layers, max(2, len(facts.labels)))
    }
    calls = int((found["place"][found.seen].astype(np.int64) + 1).sum())
    return Disturbed(facts.layers, paths, clean_right(run, classifier, images), calls)


def _paths(measure: LayerNoise, found: ImageValues, here: slice, clustered: bool) -> LayerPaths:
    sigma: Array = (found["place"][:, here].astype(np.float64) + 1) * measure.step
    p_star = probability(found["log_p_predicted"][:, here])
    return LayerPaths(sigma, found["broke"][:, here].astype(bool), p_star, clustered)


def summarise_noise(measure: LayerNoise, run: RunView) -> dict[str, Any]:
    """A result per image set and classifier, with all of its layers; differences between classifiers where they have
    the same layer."""
    whole = {images: {name: found_of(measure, run, name, images) for name in run.classifiers} for images in run.images}
    several = len(run.classifiers) > 1  # averages over a classifier's own correct images, and over the common ones
    family = (2 if several else 1) * sum(len(each.found) for found in whole.values() for each in found.values())
    common = {images: np.logical_and.reduce([each.right for each in found.values()]) for images, found in whole.items()}

    def result(images: str, name: str, found: Disturbed[LayerPaths]) -> dict[str, Any]:
        layers = [
            chosen.entry(found.layers)
            | _averages(measure, paths.of(found.right), family)
            | {"common": _averages(measure, paths.of(common[images]), family) if several else None}
            for chosen, paths in found.found.items()
        ]
        return {
            **found.protocol(measure.layers, run, images),
            "noise": measure.noise,
            "step": measure.step,
            "limit": measure.end,
            "confidence": measure.confidence,
            "depth_correlation": _trends(layers),
            "layers": layers,
        }

    warnings = [said for images, found in whole.items() for name in found for said in _odd(name, images, found[name])]
    return summed_up(whole, result, partial(_difference, measure)) | {"warnings": warnings}


def _trends(layers: Sequence[Mapping[str, Any]]) -> dict[str, float | None] | None:
    """Whether σ* and P* rise or fall from input to output (rank correlation with the number)."""
    trends = {key: rank_correlation(layers, key) for key in ("mean", "p_star")}
    return None if trends["mean"] is None else trends


def _averages(measure: LayerNoise, paths: LayerPaths, family: int) -> dict[str, Any]:
    """Of one layer over some images. For the weights an interval is over draws, otherwise over images."""
    sigma, broke, count = paths.sigma, paths.broke, len(paths.sigma)
    known = broke & np.isfinite(paths.p_star)
    sigmas, median = paths.means(sigma), np.median(np.where(broke, sigma, np.inf)) if sigma.size else np.inf
    of = partial(mean, sigmas, support=(0.0, measure.end))
    return {
        "averaged": count,
        "repeats": sigma.shape[1],
        **of(measure.confidence).named("mean", "interval"),
        "interval_simultaneous": of(simultaneous(measure.confidence, family)).interval,
        "interval_over": OVER_DRAWS if paths.clustered else OVER_IMAGES,
        "spread": _deviation(sigma),
        "spread_of_repeats": _within(sigma, paths.clustered),
        "median": float(median) if np.isfinite(median) else None,  # over all images and repeats
        "unbroken": float(1 - broke.mean()) if count else None,
        **mean(paths.means(paths.p_star, known), measure.confidence).named("p_star"),
        "p_star_spread": _deviation(paths.p_star[known]),
    }


def _deviation(values: Array) -> float | None:
    """Over all images and repeats: figure 7's error bars."""
    return float(values.std(ddof=1)) if values.size > 1 else None


def _within(sigma: Array, clustered: bool) -> float | None:
    """How far repeats lie apart: those of an image, or the means of whole networks."""
    if sigma.shape[1] < 2 or not len(sigma):
        return None
    return float(sigma.mean(0).std(ddof=1)) if clustered else float(np.sqrt(sigma.var(1, ddof=1).mean()))


def _difference(measure: LayerNoise, first: LayerPaths, second: LayerPaths, family: int) -> dict[str, Any]:
    """First minus second over the images that both get right, image by image or draw by draw."""
    apart, together = first.means(first.sigma - second.sigma), simultaneous(measure.confidence, family)
    found = mean(apart, together, support=(-measure.end, measure.end))
    about = {"confidence": measure.confidence, "family": family, "images": len(first.sigma)}
    return about | found.named("difference", "interval") | {"better": found.favours()}


def _odd(classifier: str, images: str, found: Disturbed[LayerPaths]) -> list[str]:
    said = []
    for chosen, paths in found.found.items():
        odd = int((paths.broke & ~np.isfinite(paths.p_star)).sum())
        if odd:
            said.append(
                f"noise on the layer {chosen.entry(found.layers)['layer']!r} of {classifier!r} made outputs infinite "
                f"or NaN on {odd} of {paths.broke.size} paths on {images}: they count as changed there, and have no P*"
            )
    return said
