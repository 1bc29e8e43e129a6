"""What targeted changes of layers say: how large they are beside what the layer gives, and how often none was found.

A search that failed is kept as a failure: it counts as larger than any change that was found. Sizes are therefore
reported as medians, and Adam finds a change, not the smallest there is: they are upper bounds.
"""

from __future__ import annotations

from functools import partial, reduce
from operator import or_
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from brittle.measures.arrays import Array, Mask
from brittle.measures.base import RunView
from brittle.measures.clean.measure import clean_right
from brittle.measures.folds import ImageValues
from brittle.measures.layered import Disturbed, rank_correlation, summed_up
from brittle.statistics.estimate import mean
from brittle.statistics.intervals import simultaneous
from brittle.statistics.survival import named_median

if TYPE_CHECKING:
    from brittle.measures.layer_changes.measure import LayerChanges


class LayerSizes(NamedTuple):
    """One layer of one classifier, or a set of them: M images × T targets; ∞ where the target was not reached."""

    relative: Array  # (M, T) root mean square of the change over that of what the layer gives
    linf: Array  # (M, T)
    linf_relative: Array  # (M, T) over the layer's root mean square

    def of(self, chosen: Mask) -> LayerSizes:
        return LayerSizes(*(each[chosen] for each in self))


def found_of(measure: LayerChanges, run: RunView, classifier: str, images: str) -> Disturbed[LayerSizes]:
    found: ImageValues = run.fold(run.cell(classifier, images)).compute()
    facts = run.classifiers[classifier]
    pairs = {
        each: _sizes_of(found, slice(begin, begin + width))
        for each, begin, width in measure.stretches(facts.layers, max(2, len(facts.labels)))
    }
    return Disturbed(facts.layers, pairs, clean_right(run, classifier, images), int(found["calls"].sum(dtype=np.int64)))


def _sizes_of(found: ImageValues, here: slice) -> LayerSizes:
    reached = found["reached"][:, here].astype(bool)
    relative, linf, rms = (found[name][:, here].astype(np.float64) for name in ("relative", "linf", "rms"))
    with np.errstate(divide="ignore", invalid="ignore"):
        columns = relative, linf, linf / rms
    return LayerSizes(*(np.where(reached, values, np.inf) for values in columns))


def summarise_changes(measure: LayerChanges, run: RunView) -> dict[str, Any]:
    """A result per image set and classifier with all of its layers, and which of two classifiers needs more."""

    def result(images: str, name: str, found: Disturbed[LayerSizes]) -> dict[str, Any]:
        layers = [
            chosen.entry(found.layers) | _sizes(measure, those.of(found.right)) for chosen, those in found.found.items()
        ]
        trend = rank_correlation(layers, "relative")
        return {
            **found.protocol(measure.layers, run, images),
            "targets": measure.width(len(run.classifiers[name].labels)),
            "share": measure.share,
            "rate": measure.rate,
            "steps": measure.steps,
            "confidence": measure.confidence,
            "depth_correlation": None if trend is None else {"relative": trend},
            "layers": layers,
        }

    whole = {images: {name: found_of(measure, run, name, images) for name in run.classifiers} for images in run.images}
    warnings = [said for images in run.images for name in run.classifiers for said in _odd(run, name, images)]
    return summed_up(whole, result, partial(_compared, measure)) | {"warnings": warnings}


def _odd(run: RunView, classifier: str, images: str) -> list[str]:
    """A warning of searches that ended in outputs that were infinite or no numbers."""
    found: ImageValues = run.fold(run.cell(classifier, images)).compute()
    finite = found["finite"][found.seen].astype(bool)
    if finite.all():
        return []
    return [
        f"{int((~finite).sum())} searches on layers of {classifier!r} on {images} ended in infinite or NaN outputs: "
        "they count as failures"
    ]


def _sizes(measure: LayerChanges, pairs: LayerSizes) -> dict[str, Any]:
    """Medians over images, each the median of its targets; ∞, past all that was found, is None."""
    found = mean(np.isfinite(pairs.linf).mean(1), measure.confidence)
    medians = [named_median(key, np.median(each, 1), measure.confidence) for key, each in pairs._asdict().items()]
    return reduce(or_, medians, {"averaged": len(pairs.linf)} | found.named("reached"))


def _compared(measure: LayerChanges, first: LayerSizes, second: LayerSizes, family: int) -> dict[str, Any]:
    """On which share of the images that both get right the first needs the larger relative change; ties count half."""
    one, other = (np.median(each.relative, 1) for each in (first, second))
    wins = mean((one > other) + 0.5 * (one == other), simultaneous(measure.confidence, family))
    about = {"confidence": measure.confidence, "family": family, "images": len(one)}
    return about | wins.named("larger", "interval") | {"better": wins.favours(0.5)}
