"""What targeted changes of layers say: how large they are beside what the layer gives, and how often none was found.

A search that failed is kept as a failure: it counts as larger than any change that was found. Sizes are therefore told
as medians, and Adam finds a change, not the smallest there is: they are upper bounds.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from brittle.measures.base import RunView
from brittle.measures.clean.measure import clean_columns
from brittle.measures.layered import protocol, rank_correlation
from brittle.statistics.intervals import betting_bounds, simultaneous
from brittle.statistics.survival import median_interval

if TYPE_CHECKING:
    from brittle.measures.layer_changes.measure import LayerChanges

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


class Pairs(NamedTuple):
    """One layer of one classifier: M images × T targets; ∞ where the target was not reached."""

    relative: Array  # (M, T) root mean square of the change over that of what the layer gives
    linf: Array  # (M, T)
    linf_relative: Array  # (M, T) over the layer's root mean square

    def of(self, chosen: Mask) -> Pairs:
        return Pairs(*(each[chosen] for each in self))


class Found(NamedTuple):
    layers: tuple[str, ...]
    pairs: dict[int, Pairs]
    right: Mask
    calls: int
    odd: int  # searches that ended in outputs that were infinite or no numbers


def found_of(measure: LayerChanges, run: RunView, classifier: str, images: str) -> Found:
    subject, rows, facts = run.images[images], run.table(run.cell(classifier, images)), run.classifiers[classifier]
    width = measure.width(len(facts.labels))
    number = rows["layer"].to_numpy()
    at = subject.places(rows["image"].to_numpy()), rows["repeat"].to_numpy()
    reached = rows["reached"].to_numpy(zero_copy_only=False)
    linf, rms = (rows[name].to_numpy().astype(np.float64) for name in ("linf", "rms"))
    with np.errstate(divide="ignore", invalid="ignore"):
        columns = rows["relative"].to_numpy().astype(np.float64), linf, linf / rms

    def spread(values: NDArray[Any], here: Mask) -> Array:
        made = np.full((len(subject), width), np.inf)
        made[at[0][here], at[1][here]] = values[here]
        return made

    pairs = {
        each: Pairs(*(spread(values, reached & (number == each)) for values in columns))
        for each in measure.chosen(facts.layers, classifier)
    }
    right = clean_columns(run, classifier, images)["rank"] == 0
    odd = int((~rows["finite"].to_numpy(zero_copy_only=False)).sum())
    return Found(facts.layers, pairs, right, int(rows["calls"].to_numpy().sum()), odd)


def summarise_changes(measure: LayerChanges, run: RunView) -> dict[str, Any]:
    """A result per image set and classifier with all of its layers, and which of two classifiers needs more."""
    results, warnings, calls = [], [], dict.fromkeys(run.classifiers, 0)
    pairs: list[tuple[dict[str, Any], Pairs, Pairs]] = []
    for images in run.images:
        found = {name: found_of(measure, run, name, images) for name in run.classifiers}
        for name, each in found.items():
            calls[name] += each.calls
            layers = [
                {"layer": each.layers[number], "number": number, **_sizes(measure, those.of(each.right))}
                for number, those in each.pairs.items()
            ]
            trend = rank_correlation([(one["number"], one["relative"]) for one in layers])
            results.append(
                {"classifier": name, "image_set": images}
                | _protocol(measure, run, images, each)
                | {"depth_correlation": None if trend is None else {"relative": trend}, "layers": layers}
            )
            if each.odd:
                warnings.append(
                    f"{each.odd} searches on layers of {name!r} on {images} ended in infinite or NaN outputs: they "
                    "count as failures"
                )
        for (first, one), (second, other) in itertools.combinations(found.items(), 2):
            alike = [
                number for number in one.pairs if number in other.pairs and (one.layers == other.layers or not number)
            ]
            names, both = {"image_set": images, "first": first, "second": second}, one.right & other.right
            pairs += [
                (names | {"layer": one.layers[number], "number": number}, one.pairs[number].of(both),
                 other.pairs[number].of(both))
                for number in alike
            ]  # fmt: skip
    comparisons = [names | _compared(measure, one, other, len(pairs)) for names, one, other in pairs]
    return {"results": results, "comparisons": comparisons, "warnings": warnings, "calls": calls}


def _protocol(measure: LayerChanges, run: RunView, images: str, found: Found) -> dict[str, Any]:
    """How the numbers came about, which belongs to each of them."""
    return {
        **protocol(measure.layers, found.layers, run, images, found.right),
        "targets": next((each.linf.shape[1] for each in found.pairs.values()), 0),
        "share": measure.share,
        "rate": measure.rate,
        "steps": measure.steps,
        "confidence": measure.confidence,
    }


def _sizes(measure: LayerChanges, pairs: Pairs) -> dict[str, Any]:
    """Medians over images, each the median of its targets; ∞, past all that was found, is None."""
    said: dict[str, Any] = {"averaged": len(pairs.linf)}
    reached = np.isfinite(pairs.linf).mean(1) if len(pairs.linf) else np.zeros(0)
    said["reached"] = float(reached.mean()) if len(reached) else None
    bounds = betting_bounds(reached, measure.confidence, planned=len(reached)).pair() if len(reached) else None
    said["reached_interval"] = None if bounds is None else list(bounds)
    for name, values in pairs._asdict().items():
        middle, low, high = median_interval(np.median(values, 1), measure.confidence)
        said[name] = middle if np.isfinite(middle) else None
        ends = [None if each == np.inf else max(0.0, each) for each in (low, high)]
        said[f"{name}_interval"] = ends if len(values) else None
    return said


def _compared(measure: LayerChanges, first: Pairs, second: Pairs, family: int) -> dict[str, Any]:
    """On which share of the images that both get right the first needs the larger relative change; ties count half."""
    said: dict[str, Any] = {"confidence": measure.confidence, "family": family, "images": len(first.linf)}
    if not len(first.linf):
        return said | {"larger": None, "interval": None, "better": "tie"}
    one, other = (np.median(each.relative, 1) for each in (first, second))
    wins = (one > other) + 0.5 * (one == other)
    low, high = betting_bounds(wins, simultaneous(measure.confidence, family), planned=len(wins)).pair()
    better = "first" if low > 0.5 else "second" if high < 0.5 else "tie"
    return said | {"larger": float(wins.mean()), "interval": [low, high], "better": better}
