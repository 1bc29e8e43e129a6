"""What connectedness says: the bubbles of each class, how pairs were connected, and the share of straight segments.

The share has an interval, because the first pairs are disjoint and drawn at random: they are a fair sample of all pairs
of images of one class that the classifier gets right. Classifiers are compared over the pairs that both get right. The
number of bubbles has no interval: it is an upper bound, and that of these images, since more images may join bubbles as
well as open new ones.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from brittle.measures.base import ROWS, Cell, ImageSetFacts, Read, RunView, two_by_two
from brittle.measures.connectedness.options import ConnectednessOptions
from brittle.measures.connectedness.search import CURVED, FAILED, LEFT, STRAIGHT, UNKNOWN
from brittle.measures.connectedness.tables import MEMBERS
from brittle.statistics.estimate import mean
from brittle.statistics.intervals import simultaneous

WEAKLY = 2  # training images of a component that is weakly generalised: UREM's section 1, "has 2 training samples"
CHANGES = Read("perturbation", required=False, rows=False)  # for the smallest targeted change beside each bubble
Stays = Mapping[tuple[int, int], float]  # pair of ids → 1 where their straight segment stays in the class, otherwise 0
BEYOND = 1e-6  # a path that goes less far beyond [0, 1] has not left it


def summarise_run(options: ConnectednessOptions, run: RunView) -> dict[str, Any]:
    """A result per classifier and image set, and a row per class of each."""
    results, classes, calls, warnings = [], [], dict.fromkeys(run.classifiers, 0), []
    sampled: dict[str, dict[str, Stays]] = {images: {} for images in run.images}
    for images, name in itertools.product(run.images, run.classifiers):
        cell = run.cell(name, images)
        kept = run.fold(cell).compute()
        edges, members = kept[ROWS], kept[MEMBERS]
        names = {"classifier": name, "image_set": images}
        labels, changes = run.classifiers[name].with_class_names_of(run.images[images]).labels, _changes(run, cell)
        found = [
            names | {"class": labels[label]} | _class(_of(edges, label), _of(members, label), changes)
            for label in dict.fromkeys(members["label"].to_pylist())
        ]
        classes += found
        stays = sampled[images][name] = _sampled(edges, run.images[images])
        results.append(names | {"seed": run.seed} | _totals(options, edges, found, stays))
        calls[name] += members.num_rows + int(np.sum(edges["calls"].to_numpy()))
        trained = run.images[images].train
        if trained and trained != images:
            warnings.append(
                f"connectedness is about training images: {images!r} is not what the classifiers were trained on; "
                f'name that set, images = ["{trained}"]'
            )
    return {
        "results": results,
        "classes": classes,
        "comparisons": _comparisons(options, run, sampled),
        "warnings": list(dict.fromkeys(warnings)),
        "calls": calls,
    }


def _of(table: pa.Table, label: int) -> pa.Table:
    return table.filter(np.asarray(table["label"].to_numpy()) == label)


def _changes(run: RunView, cell: Cell) -> dict[int, float]:
    """By id: the smallest change, as max |I − I*|, that turned an image into any other class, where the study has
    targeted changes of it."""
    view = run.read(CHANGES.kind)
    if view is None or cell.classifier not in view.classifiers or cell.images not in view.images:
        return {}
    rows = view.fold(view.cell(cell.classifier, cell.images)).compute()[ROWS]
    rows = rows.filter(rows["reached"])
    smallest: dict[int, float] = {}
    for image, size in zip(rows["image"].to_pylist(), rows["linf"].to_pylist(), strict=True):
        smallest[image] = min(size, smallest.get(image, np.inf))
    return smallest


def _class(edges: pa.Table, members: pa.Table, changes: Mapping[int, float]) -> dict[str, Any]:
    """The bubbles of one class, the largest first."""
    inside: dict[int, list[int]] = {}
    for image, first in zip(members["image"].to_pylist(), members["component"].to_pylist(), strict=True):
        inside.setdefault(first, []).append(image)
    alone = inside.pop(-1, [])
    bubbles = [
        {"first": first, "images": len(images)} | _smallest(images, changes)
        for first, images in sorted(inside.items(), key=lambda item: (-len(item[1]), item[0]))
    ]
    right = members.num_rows - len(alone)
    return {
        "images": members.num_rows,
        "right": right,
        "misclassified": len(alone),
        "bubbles": len(bubbles),
        "sizes": [each["images"] for each in bubbles],
        "largest_share": bubbles[0]["images"] / right if right else None,
        "weakly_generalised": sum(each["images"] >= WEAKLY for each in bubbles),
        "candidate": not alone and len(bubbles) == 1 and right >= WEAKLY,
        **_ways(edges),
        "smallest_change": min((each["smallest_change"] for each in bubbles if each["changed"]), default=None),
        "components": bubbles,
    }


def _smallest(images: Sequence[int], changes: Mapping[int, float]) -> dict[str, Any]:
    """The smallest targeted change of a bubble's images, and of how many of them one is known."""
    known = [changes[image] for image in images if image in changes]
    return {"smallest_change": min(known, default=None), "changed": len(known)}


def _ways(edges: pa.Table) -> dict[str, Any]:
    """How many pairs were tried, and how they are connected."""
    how, why = Counter(edges["how"].to_pylist()), Counter(edges["why"].to_pylist())
    joined = np.isin(edges["how"].to_numpy(zero_copy_only=False), (STRAIGHT, CURVED))
    least, outside = edges["least"].to_numpy()[joined], edges["outside"].to_numpy()
    return {
        "pairs": edges.num_rows,
        "straight": how[STRAIGHT],
        "curved": how[CURVED],
        "unknown": how[UNKNOWN],
        "unknown_left": why[LEFT],
        "unknown_failed": why[FAILED],
        "leave_range": int((outside[joined] > BEYOND).sum()),
        "farthest_outside": float(outside[joined].max(initial=0.0)),
        "least_margin": float(least.min()) if len(least) else None,
        "median_margin": float(np.median(least)) if len(least) else None,
    }


def _totals(
    options: ConnectednessOptions, edges: pa.Table, classes: list[dict[str, Any]], stays: Stays
) -> dict[str, Any]:
    straight = np.array(list(stays.values()))
    summed = ("images", "right", "misclassified", "bubbles", "weakly_generalised")
    return {
        **{name: sum(each[name] for each in classes) for name in summed},
        "measured_classes": len(classes),
        "in_one_bubble": sum(each["bubbles"] == 1 for each in classes),
        "candidates": sum(each["candidate"] for each in classes),
        "alone": sum(size == 1 for each in classes for size in each["sizes"]),
        **_ways(edges),
        "sampled_pairs": len(straight),
        **mean(straight, options.confidence).named("straight_share"),
        "confidence": options.confidence,
        "method": options.method,
        "tries": options.tries,
    }


def _sampled(edges: pa.Table, subject: ImageSetFacts) -> Stays:
    """The pairs of the fair sample, in the planned order of their first images, which is random: in the order of
    classes the mean behind them would change on the way."""
    fair = edges.filter(edges["round"].to_numpy() == 0)
    first, second = fair["image"].to_numpy(), fair["other"].to_numpy()
    inside = fair["straight_least"].to_numpy() > 0
    order = np.argsort(subject.places(first), kind="stable")
    return {(int(first[at]), int(second[at])): float(inside[at]) for at in order}


def _comparisons(
    options: ConnectednessOptions, run: RunView, sampled: Mapping[str, Mapping[str, Stays]]
) -> list[dict[str, Any]]:
    """Differences between straight shares, over the pairs of images that both classifiers get right."""
    family = max(1, math.comb(len(run.classifiers), 2) * len(run.images))
    found = []
    for images, stays in sampled.items():
        for names, one, other in two_by_two(stays):
            gaps = np.array([value - other[pair] for pair, value in one.items() if pair in other])
            apart = mean(gaps, simultaneous(options.confidence, family), support=(-1.0, 1.0))
            about = {"image_set": images, "common_pairs": len(gaps), "family": family}
            about |= {"confidence": options.confidence, "higher": names.get(apart.favours())}
            found.append(names | about | apart.named("difference", "interval"))
    return found
