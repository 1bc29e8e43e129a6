"""What perturbations say of a whole image set: how large they are, how often they fail, and what they are good for.

A failure has no size. Means are therefore restricted: a change counts as at most the cap, which is fixed beforehand,
and a failure as the cap. The median takes failures as larger than everything.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from brittle.measures.arrays import Array, per_image
from brittle.measures.base import RunView, two_by_two
from brittle.measures.perturbation.change_sizes import ChangeSizes
from brittle.statistics.estimate import mean
from brittle.statistics.intervals import simultaneous
from brittle.statistics.selective import auroc, risk_coverage

if TYPE_CHECKING:
    from brittle.measures.perturbation.measure import Perturbation

LEVELS = (1, 2, 4, 8, 16, 32, 64)  # of 255, at which accuracy is given
MANY_FAIL = 0.05


def summarise_perturbation(measure: Perturbation, run: RunView) -> dict[str, Any]:
    """A result per (image set, classifier), paired comparisons, and transfers between classifiers."""
    results, comparisons, transfers, warnings, calls = [], [], [], [], dict.fromkeys(run.classifiers, 0)
    family = 2 * math.comb(len(run.classifiers), 2) * len(run.images)  # the mean and the least over targets
    together = simultaneous(measure.confidence, max(1, family))
    for images in run.images:
        found = {name: ChangeSizes(run, run.cell(name, images)) for name in run.classifiers}
        common = reduce(np.intersect1d, [sizes.places[sizes.correct] for sizes in found.values()])
        for name, sizes in found.items():
            results.append(
                {"classifier": name, "image_set": images, **_how(measure), "seed": run.seed}
                | summarise(measure, sizes, run.classifiers[name].with_class_names_of(run.images[images]).labels)
                | _over(measure, sizes, common)
            )
            calls[name] += results[-1]["calls"]
            warnings += _warnings(results[-1])
        for names, one, other in two_by_two(found):
            about = {"image_set": images, "confidence": measure.confidence, "family": family}
            comparisons.append(names | about | compare(measure, one, other, together))
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


def summarise(measure: Perturbation, sizes: ChangeSizes, labels: Sequence[str]) -> dict[str, Any]:
    """Numbers of one classifier on one image set."""
    told, size, confidence, cap = sizes.right_untouched, sizes.size, measure.confidence, measure.cap
    found, smallest = size[told & sizes.reached], sizes.smallest()[sizes.correct]
    least = sizes.of_images(np.minimum(smallest, cap), confidence, cap).named("mean", "interval")
    result: dict[str, Any] = {
        "images": sizes.count,
        "right": int(sizes.correct.sum()),
        "pairs": int(told.sum()),
        "failures": int((told & ~sizes.reached).sum()),
        **sizes.of_pairs(~sizes.reached, told, confidence).named("failure_share"),
        **sizes.of_pairs(np.minimum(size, cap), told, confidence, cap).named("mean"),
        "capped": float((size[told] > cap).mean()) if told.any() else None,
        "median": _median(size[told]),
        "mean_found": float(found.mean()) if len(found) else None,
        "greatest_found": float(found.max()) if len(found) else None,
        "l2_mean_found": float(sizes.l2[told & sizes.reached].mean()) if len(found) else None,
        "smallest": least | ({"median": _median(smallest)} if len(smallest) else {}),
        "survival": {name: _survival(measure, sizes, name) for name in ("rounded", "jpeg")},
        "classes": _by_class(measure, sizes, sizes.origin, labels),
        "to_classes": _by_class(measure, sizes, sizes.target, labels) if measure.targeted else [],
        "calls": int(sizes.rows["calls"].to_numpy().sum()),
    }
    if not sizes.labelled:
        return result
    return result | {"accuracy": _accuracy(measure, sizes), "errors": _errors(measure, sizes)}


def _median(sizes: Array) -> float | None:
    """None where it lies among the failures, and of nothing."""
    found = float(np.median(sizes)) if len(sizes) else math.inf
    return found if math.isfinite(found) else None


def _over(measure: Perturbation, sizes: ChangeSizes, common: NDArray[np.int64]) -> dict[str, Any]:
    """The mean over the images that all classifiers get right."""
    places, values = sizes.per_image(np.minimum(sizes.size, measure.cap), sizes.right_untouched)
    here = np.isin(sizes.places[places], common)
    found = sizes.of_images(values[here], measure.confidence, measure.cap)
    return {"common": int(here.sum())} | found.named("mean_common")


def _by_class(
    measure: Perturbation, sizes: ChangeSizes, which: NDArray[np.int64], labels: Sequence[str]
) -> list[dict[str, Any]]:
    """Changes from, or to, each class: intervals hold for all classes at once."""
    classes = np.unique(which[sizes.right_untouched])
    together = simultaneous(measure.confidence, max(1, len(classes)))
    rows = []
    for label in classes.tolist():
        among = sizes.right_untouched & (which == label)
        restricted = sizes.of_pairs(np.minimum(sizes.size, measure.cap), among, together, measure.cap)
        rows.append(
            {"label": label, "class": labels[label], "pairs": int(among.sum())}
            | {"images": len(np.unique(sizes.image[among])), "failures": int((among & ~sizes.reached).sum())}
            | restricted.named("mean")
            | {"median": _median(sizes.size[among])}
        )
    return rows


def _survival(measure: Perturbation, sizes: ChangeSizes, name: str) -> dict[str, Any]:
    """Of the changes that were found, the share after which the goal, or at least the label, still holds."""
    among = sizes.right_untouched & sizes.reached
    share, label = (sizes.of_pairs(held, among, measure.confidence) for held in sizes.survived(name, measure.share))
    return share.named("share") | label.named("label")


def _accuracy(measure: Perturbation, sizes: ChangeSizes) -> list[dict[str, Any]]:
    """Accuracy if every image may be changed by at most ε and the attacker knows these changes: an upper bound on
    robust accuracy, since a smaller change may exist."""
    levels = [0.0, *(level / 255 for level in LEVELS)]
    together = simultaneous(measure.confidence, len(levels))
    right = [(sizes.correct & (sizes.left > epsilon)).astype(np.float64) for epsilon in levels]
    return [
        {"epsilon": epsilon} | sizes.of_images(each, together).named("accuracy", "interval")
        for epsilon, each in zip(levels, right, strict=True)
    ]


def _errors(measure: Perturbation, sizes: ChangeSizes) -> dict[str, Any]:
    """Whether the least change tells errors from right answers, beside the greatest probability."""
    wrong = ~sizes.correct
    said: dict[str, Any] = {"errors": int(wrong.sum()), "right": int(sizes.correct.sum())}
    for name, score in (("change", sizes.smallest()), ("max_softmax", sizes.max_softmax)):
        curve = risk_coverage(score, wrong)
        said[name] = auroc(score, wrong, measure.confidence).named("auroc") | {"risk_coverage_area": curve.area}
        said["least_area"] = curve.least_area
    return said


def compare(measure: Perturbation, first: ChangeSizes, second: ChangeSizes, confidence: float) -> dict[str, Any]:
    """First minus second over the images that both get right: the mean over targets, and the least over targets."""
    both = np.intersect1d(first.places[first.correct], second.places[second.correct])
    told: dict[str, Any] = {"images": len(both)}
    for name in ("mean", "smallest"):
        one, other = (_at(measure, sizes, both, name) for sizes in (first, second))
        found = mean(one - other, confidence, support=(-measure.cap, measure.cap), planned=first.count)
        told |= found.named(f"{name}_difference", f"{name}_interval") | {f"{name}_larger": found.favours()}
    return told


def _at(measure: Perturbation, sizes: ChangeSizes, places: NDArray[np.int64], name: str) -> Array:
    """The value of each image at `places`."""
    if name == "smallest":
        inside, values = np.arange(sizes.count), np.minimum(sizes.smallest(), measure.cap)
    else:
        inside, values = sizes.per_image(np.minimum(sizes.size, measure.cap))
    return np.asarray(values[np.searchsorted(sizes.places[inside], places)])


def _transfers(measure: Perturbation, found: Mapping[str, ChangeSizes], images: str) -> list[dict[str, Any]]:
    """Of the changes found for one classifier, how many move another that said the same of the untouched image."""
    rows = []
    together = simultaneous(measure.confidence, 2 * max(1, len(found) * (len(found) - 1)))
    for name, sizes in found.items():
        table = sizes.transfers()
        names = np.asarray(table["classifier"].to_pylist(), dtype=object)
        columns = {key: table[key].to_numpy() for key in ("image", "clean", "predicted", "origin", "target_there")}
        right = np.isin(columns["image"], sizes.subject.ids[sizes.places[sizes.correct]])
        left = columns["predicted"] != columns["clean"]
        hit = np.where(columns["target_there"] == -1, left, columns["predicted"] == columns["target_there"])
        for other in found:
            here = (names == other) & (columns["clean"] == columns["origin"]) & right
            if other == name or not here.any():
                continue
            known, image = np.unique(columns["image"][here], return_inverse=True)
            row: dict[str, Any] = {"image_set": images, "from": name, "to": other, "pairs": int(here.sum())}
            row["images"] = len(known)
            for key, values in (("target", hit), ("left", left)):
                shares = per_image(values[here], image, len(known))
                row |= sizes.of_images(shares, together).named(f"{key}_share", f"{key}_interval")
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
