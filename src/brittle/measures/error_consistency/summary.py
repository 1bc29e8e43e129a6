"""What is said of errors: Cohen's κ of every two who decided about the same images, with intervals.

On cue-conflict stimuli, which share shape and texture images, intervals are drawn over both (`statistics/crossed.py`).
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brittle.measures.arrays import Array
from brittle.measures.base import ImageSetFacts, RunView
from brittle.measures.deciders import (
    MACHINE,
    PERSON,
    Decider,
    classifier_decider,
    decisions_about,
    factors,
    recorded_deciders,
)
from brittle.measures.error_consistency.options import ErrorConsistencyOptions
from brittle.statistics.consistency import consistency, interval, redrawn, redrawn_together
from brittle.statistics.estimate import Estimate, mean


def summarise_consistency(options: ErrorConsistencyOptions, run: RunView) -> dict[str, Any]:
    """A result per pair and image set, the mean over people, and how often everybody is right."""
    said: dict[str, Any] = {"results": [], "people": [], "deciders": []}
    decisions = decisions_about(list(run.images.values()), options.decisions)
    for images, subject in run.images.items():
        own = [classifier_decider(run, name, images) for name in run.classifiers]
        everybody = [*own, *recorded_deciders(subject, decisions, list(run.classifiers))]
        pairs, people = _consistent(options, run, images, subject, everybody)
        said["results"] += pairs
        said["people"] += people
        said["deciders"] += [
            {"name": each.name, "sort": each.sort, "image_set": images} | _accuracy(options, each) for each in everybody
        ]
    return said


def _accuracy(options: ErrorConsistencyOptions, decider: Decider) -> dict[str, Any]:
    right = decider.right[decider.seen > 0]
    return {"images": len(right)} | mean(right, options.confidence).named("accuracy")


def _consistent(
    options: ErrorConsistencyOptions, run: RunView, images: str, subject: ImageSetFacts, deciders: list[Decider]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Cohen's κ of every pair, and of each classifier with people on average."""
    if len(deciders) < 2:
        return [], []
    right, seen = np.stack([each.right for each in deciders]), np.stack([each.seen for each in deciders])
    pairs = np.array(list(itertools.combinations(range(len(deciders)), 2)))
    exact = consistency(right, seen, pairs)
    shared = factors(subject)
    if shared or any(each.sort != MACHINE for each in deciders):
        drawn = redrawn_together(right, seen, pairs, shared, options.resamples, run.seed)
    else:
        drawn = redrawn(right, pairs, options.resamples, run.seed)
    found = []
    for place, (first, second) in enumerate(pairs.tolist()):
        value = float(exact.kappa[place])
        kappa = Estimate.between(value, interval(value, drawn[:, place], options.confidence))
        found.append(
            {
                "first": deciders[first].name,
                "second": deciders[second].name,
                "image_set": images,
                "images": int(exact.images[place]),
                "observed": _plain(exact.observed[place]),
                "expected": _plain(exact.expected[place]),
                **kappa.named("kappa", "interval"),
                "resamples": options.resamples,
                "confidence": options.confidence,
                "seed": run.seed,
            }
        )
    return found, _with_people(options, images, deciders, pairs, exact.kappa, drawn)


def _with_people(
    options: ErrorConsistencyOptions,
    images: str,
    deciders: list[Decider],
    pairs: NDArray[np.int64],
    kappa: Array,
    drawn: Array,
) -> list[dict[str, Any]]:
    """The mean κ of each classifier with all people, and of people with one another."""
    people = np.array([each.sort == PERSON for each in deciders])
    if not people.any():
        return []
    found = []
    for place in [place for place, each in enumerate(deciders) if each.sort == MACHINE] + [-1]:
        ours = people[pairs].all(1) if place < 0 else ((pairs == place).any(1) & people[pairs].any(1))
        ours &= ~np.isnan(kappa)
        if not ours.any():
            continue
        value = float(kappa[ours].mean())
        bounds = interval(value, drawn[:, ours].mean(1), options.confidence)
        found.append(
            {
                "decider": "people" if place < 0 else deciders[place].name,
                "image_set": images,
                "people": int(people.sum()),
                **Estimate.between(value, bounds).named("kappa", "interval"),
            }
        )
    return found


def _plain(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
