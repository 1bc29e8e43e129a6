"""What perturbations say of a whole image set: how large they are, how often they fail, and what they are good for.

A failure has no size. Means are therefore restricted: a change counts as at most the cap, which is fixed beforehand,
and a failure as the cap. The median takes failures as larger than everything.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from brittle.measures.base import RunView
from brittle.measures.perturbation.sizes import Numbers, Sizes
from brittle.statistics.intervals import betting_bounds, simultaneous
from brittle.statistics.selective import auroc, risk_coverage

if TYPE_CHECKING:
    from brittle.measures.perturbation.measure import Perturbation

LEVELS = (1, 2, 4, 8, 16, 32, 64)  # of 255, at which accuracy is given
MANY_FAIL = 0.05


def summarise_perturbation(measure: Perturbation, run: RunView) -> dict[str, Any]:
    """A result per (image set, classifier), paired comparisons, and transfers between classifiers."""
    results, comparisons, transfers, warnings, calls = [], [], [], [], dict.fromkeys(run.classifiers, 0)
    pairs = list(itertools.combinations(run.classifiers, 2))
    for images in run.images:
        found = {name: Sizes(run, run.cell(name, images)) for name in run.classifiers}
        common = _common(found)
        for name, sizes in found.items():
            results.append(
                {"classifier": name, "image_set": images, **_how(measure), "seed": run.seed}
                | summarise(measure, sizes, run.classifiers[name].worded(run.images[images]).labels)
                | _over(measure, sizes, common)
            )
            calls[name] += results[-1]["calls"]
            warnings += _warnings(results[-1])
        family = 2 * len(pairs) * len(run.images)  # the mean and the least over targets
        for first, second in pairs:
            comparisons.append(
                {"image_set": images, "first": first, "second": second, "confidence": measure.confidence}
                | {"family": family}
                | compare(measure, found[first], found[second], simultaneous(measure.confidence, max(1, family)))
            )
        transfers += _transfers(measure, found, images)
    return {
        "results": results,
        "comparisons": comparisons,
        "transfers": transfers,
        "warnings": warnings,
        "calls": calls,
    }


def _how(measure: Perturbation) -> dict[str, Any]:
    """How changes were searched for."""
    told: dict[str, Any] = {"method": measure.method, "share": measure.share, "clip": measure.clip}
    told |= {"targets": list(measure.targets) if measure.targeted else [], "drawn_targets": measure.draw}
    if measure.method == "adam":
        told |= {"rate": measure.rate, "steps": measure.steps}
    if measure.method == "i-fgsm":
        told["iterations"] = measure.iterations
    return told | {"quality": measure.quality, "cap": measure.cap, "confidence": measure.confidence}


def summarise(measure: Perturbation, sizes: Sizes, labels: Sequence[str]) -> dict[str, Any]:
    """Numbers of one classifier on one image set."""
    told, size = sizes.told, sizes.size
    found = size[told & sizes.reached]
    median = float(np.median(size[told])) if told.any() else math.inf
    smallest = sizes.smallest()[sizes.correct]
    result: dict[str, Any] = {
        "images": sizes.count,
        "right": int(sizes.correct.sum()),
        "pairs": int(told.sum()),
        "failures": int((told & ~sizes.reached).sum()),
        **_mean(measure, sizes, ~sizes.reached, told, "failure_share", 1.0),
        **_mean(measure, sizes, np.minimum(size, measure.cap), told, "mean", measure.cap),
        "capped": float((size[told] > measure.cap).mean()) if told.any() else None,
        "median": median if math.isfinite(median) else None,
        "mean_found": float(found.mean()) if len(found) else None,
        "greatest_found": float(found.max()) if len(found) else None,
        "l2_mean_found": float(sizes.l2[told & sizes.reached].mean()) if len(found) else None,
        "smallest": _of_images(measure, np.minimum(smallest, measure.cap), sizes.count)
        | {"median": _finite(np.median(smallest)) if len(smallest) else None},
        "survival": {name: _survival(measure, sizes, name) for name in ("rounded", "jpeg")},
        "classes": _by_class(measure, sizes, sizes.origin, labels),
        "to_classes": _by_class(measure, sizes, sizes.target, labels) if measure.targeted else [],
        "calls": int(sizes.rows["calls"].to_numpy().sum()),
    }
    return result | (
        {"accuracy": _accuracy(measure, sizes), "errors": _errors(measure, sizes)} if sizes.labelled else {}
    )


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _of_images(
    measure: Perturbation, values: Numbers, planned: int, most: float | None = None, confidence: float | None = None
) -> dict[str, Any]:
    """The mean over images (m,) of values in [0, most], and its interval for the population of such images."""
    if not len(values):
        return {"mean": None, "interval": None}
    support = (0.0, measure.cap if most is None else most)
    bounds = betting_bounds(values, confidence or measure.confidence, planned=max(1, planned), support=support)
    return {"mean": float(values.mean()), "interval": list(bounds.pair())}


def _mean(
    measure: Perturbation,
    sizes: Sizes,
    values: Any,
    among: Any,
    name: str,
    most: float,
    confidence: float | None = None,
) -> dict[str, Any]:
    """The mean over images of their means over pairs: images are what is drawn, targets are not."""
    _, each = sizes.per_image(values, among)
    said = _of_images(measure, each, sizes.count, most, confidence)
    return {name: said["mean"], f"{name}_interval": said["interval"]}


def _over(measure: Perturbation, sizes: Sizes, common: Any) -> dict[str, Any]:
    """The mean over the images that all classifiers get right."""
    places, values = sizes.per_image(np.minimum(sizes.size, measure.cap), sizes.told)
    here = np.isin(sizes.places[places], common)
    said = _of_images(measure, values[here], sizes.count)
    return {"common": int(here.sum()), "mean_common": said["mean"], "mean_common_interval": said["interval"]}


def _common(found: Mapping[str, Sizes]) -> Any:
    """Places of the images that all classifiers get right."""
    right = [sizes.places[sizes.correct] for sizes in found.values()]
    return right[0] if len(right) == 1 else np.array(sorted(set(right[0]).intersection(*right[1:])), dtype=np.int64)


def _by_class(measure: Perturbation, sizes: Sizes, which: Any, labels: Sequence[str]) -> list[dict[str, Any]]:
    """Changes from, or to, each class: intervals hold for all classes at once."""
    classes = np.unique(which[sizes.told])
    together = simultaneous(measure.confidence, max(1, len(classes)))
    rows = []
    for label in classes.tolist():
        among = sizes.told & (which == label)
        restricted = np.minimum(sizes.size, measure.cap)
        median = np.median(sizes.size[among])
        rows.append(
            {"label": label, "class": labels[label], "pairs": int(among.sum())}
            | {"images": len(np.unique(sizes.image[among])), "failures": int((among & ~sizes.reached).sum())}
            | _mean(measure, sizes, restricted, among, "mean", measure.cap, together)
            | {"median": _finite(median)}
        )
    return rows


def _survival(measure: Perturbation, sizes: Sizes, name: str) -> dict[str, Any]:
    """Of the changes that were found, the share after which the goal, or at least the label, still holds."""
    among = sizes.told & sizes.reached
    share, label = sizes.survived(name, measure.share)
    return _mean(measure, sizes, share, among, "share", 1.0) | _mean(measure, sizes, label, among, "label", 1.0)


def _accuracy(measure: Perturbation, sizes: Sizes) -> list[dict[str, Any]]:
    """Accuracy if every image may be changed by at most ε and the attacker knows these changes: an upper bound on
    robust accuracy, since a smaller change may exist."""
    levels = [0.0, *(level / 255 for level in LEVELS)]
    together = simultaneous(measure.confidence, len(levels))
    rows = []
    for epsilon in levels:
        right = (sizes.correct & (sizes.left > epsilon)).astype(np.float64)
        said = _of_images(measure, right, sizes.count, 1.0, together)
        rows.append({"epsilon": epsilon, "accuracy": said["mean"], "interval": said["interval"]})
    return rows


def _errors(measure: Perturbation, sizes: Sizes) -> dict[str, Any]:
    """Whether the least change tells errors from right answers, beside the greatest probability."""
    wrong = ~sizes.correct
    said: dict[str, Any] = {"errors": int(wrong.sum()), "right": int(sizes.correct.sum())}
    for name, score in (("change", sizes.smallest()), ("max_softmax", sizes.max_softmax)):
        found = auroc(score, wrong, measure.confidence)
        curve = risk_coverage(score, wrong)
        said[name] = {
            "auroc": found.value,
            "auroc_interval": None if found.interval is None else list(found.interval),
            "risk_coverage_area": curve.area,
        }
        said["least_area"] = curve.least_area
    return said


def compare(measure: Perturbation, first: Sizes, second: Sizes, confidence: float) -> dict[str, Any]:
    """First minus second over the images that both get right: the mean over targets, and the least over targets."""
    both = np.intersect1d(first.places[first.correct], second.places[second.correct])
    support = (-measure.cap, measure.cap)
    told: dict[str, Any] = {"images": len(both)}
    for name in ("mean", "smallest"):
        values = [_at(measure, sizes, both, name) for sizes in (first, second)]
        if not len(both):
            told |= {f"{name}_difference": None, f"{name}_interval": None, f"{name}_larger": "tie"}
            continue
        difference = values[0] - values[1]
        low, high = betting_bounds(difference, confidence, planned=max(first.count, 1), support=support).pair()
        told |= {f"{name}_difference": float(difference.mean()), f"{name}_interval": [low, high]}
        told[f"{name}_larger"] = "first" if low > 0 else "second" if high < 0 else "tie"
    return told


def _at(measure: Perturbation, sizes: Sizes, places: Any, name: str) -> Numbers:
    """The value of each image at `places`."""
    if name == "smallest":
        inside, values = np.arange(sizes.count), np.minimum(sizes.smallest(), measure.cap)
    else:
        inside, values = sizes.per_image(np.minimum(sizes.size, measure.cap))
    there = sizes.places[inside]
    return np.asarray(values[np.searchsorted(there, places)])


def _transfers(measure: Perturbation, found: Mapping[str, Sizes], images: str) -> list[dict[str, Any]]:
    """Of the changes found for one classifier, how many move another that said the same of the untouched image."""
    rows = []
    family = max(1, len(found) * (len(found) - 1))
    together = simultaneous(measure.confidence, 2 * family)
    for name, sizes in found.items():
        table = sizes.transfers()
        names = np.asarray(table["classifier"].to_pylist(), dtype=object)
        right = dict(zip(sizes.subject.ids[sizes.places].tolist(), sizes.correct.tolist(), strict=True))
        for other in found:
            columns = {key: table[key].to_numpy() for key in ("image", "clean", "predicted", "origin", "target_there")}
            here = (names == other) & (columns["clean"] == columns["origin"])
            here &= np.array([right.get(image, False) for image in columns["image"].tolist()], bool)
            if other == name or not here.any():
                continue
            left = columns["predicted"] != columns["clean"]
            hit = np.where(columns["target_there"] == -1, left, columns["predicted"] == columns["target_there"])
            row: dict[str, Any] = {"image_set": images, "from": name, "to": other, "pairs": int(here.sum())}
            _, image = np.unique(columns["image"][here], return_inverse=True)
            row["images"] = int(image.max()) + 1
            for key, values in (("target", hit), ("left", left)):
                means = np.bincount(image, values[here]) / np.bincount(image)
                said = _of_images(measure, means, sizes.count, 1.0, together)
                row |= {f"{key}_share": said["mean"], f"{key}_interval": said["interval"]}
            rows.append(row)
    return rows


def _warnings(result: Mapping[str, Any]) -> list[str]:
    where = f"perturbations of {result['classifier']!r} on {result['image_set']!r}"
    said = []
    if result["failures"] > MANY_FAIL * result["pairs"]:
        said.append(
            f"{where}: {result['failures']} of {result['pairs']} searches did not reach p = {result['share']:g}; they "
            f"count as {100 * result['cap']:g} % of the value range in means"
        )
    if not result["right"]:
        said.append(f"{where}: no image is right untouched, so there is nothing to tell of sizes")
    return said
