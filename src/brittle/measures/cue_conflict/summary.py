"""What is said of shape and texture: how often either is the answer, and shape bias.

    shape bias = shape / (shape + texture)    over stimuli whose shape and texture differ

counts the answers that are the one or the other (Geirhos et al. 2019, section 2). Stimuli of one shape image, or of one
texture image, are not independent, so intervals are drawn over both (`statistics/crossed.py`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from brittle.measures.arrays import Array
from brittle.measures.base import ImageSetFacts, RunView
from brittle.measures.cue_conflict.differences import differences
from brittle.measures.cue_conflict.options import CueConflictOptions
from brittle.measures.deciders import (
    SHARED,
    Decider,
    classifier_decider,
    decisions_about,
    factors,
    recorded_deciders,
    textures,
)
from brittle.statistics.crossed import FEW_LEVELS, resampled, share_interval
from brittle.statistics.estimate import Estimate


def summarise_cue_conflict(options: CueConflictOptions, run: RunView) -> dict[str, Any]:
    """A result per classifier and image set, what others decided, and paired differences."""
    said: dict[str, Any] = {"results": [], "deciders": [], "comparisons": [], "warnings": []}
    decisions = decisions_about(list(run.images.values()), options.decisions)
    for images, subject in run.images.items():
        own = [classifier_decider(run, name, images) for name in run.classifiers]
        protocol = {"resamples": options.resamples, "confidence": options.confidence, "seed": run.seed}
        said["results"] += [
            {"classifier": each.name, "image_set": images} | protocol | _answers(options, run, subject, each)
            for each in own
        ]
        said["deciders"] += [
            {"name": each.name, "sort": each.sort, "image_set": images} | _answers(options, run, subject, each)
            for each in recorded_deciders(subject, decisions, list(run.classifiers))
        ]
        said["comparisons"] += differences(options, run, images, own)
        said["warnings"] += _few_levels(images, subject)
    return said


def _few_levels(images: str, subject: ImageSetFacts) -> list[str]:
    """Stimuli that share very few shape or texture images leave a bootstrap little to draw from."""
    counts = {name: len(np.unique(subject.columns[name])) for name in SHARED if name in subject.columns}
    return [
        f"the stimuli of {images!r} share only {count} {name.replace('-', ' ')}{'' if count == 1 else 's'}: intervals "
        "of shape bias cover less often than they say"
        for name, count in counts.items()
        if count < FEW_LEVELS
    ]


def _answers(options: CueConflictOptions, run: RunView, subject: ImageSetFacts, decider: Decider) -> dict[str, Any]:
    """Shape and texture accuracy over all stimuli that were decided on, shape bias over those in conflict."""
    conflict = decider.seen * (textures(subject) != subject.labels)
    classes = np.unique(subject.labels)
    of_class = (subject.labels == classes[:, None]).astype(np.float64)  # (K, n)
    columns = np.vstack([decider.seen, decider.right * decider.seen, decider.texture * decider.seen])
    answers = np.vstack([decider.right * conflict, decider.texture * conflict])

    def statistic(weights: Array) -> Array:
        """(D, 3 + K): both accuracies, shape bias, and shape bias by shape."""
        seen, shape, texture = weights @ columns.T[:, 0], weights @ columns.T[:, 1], weights @ columns.T[:, 2]
        with np.errstate(invalid="ignore", divide="ignore"):
            accuracies = np.stack([shape / seen, texture / seen], 1)
            one, other = (weights @ (answers[place] * of_class).T for place in (0, 1))
            whole = one.sum(1) / (one.sum(1) + other.sum(1))
            return np.hstack([accuracies, whole[:, None], one / (one + other)])

    exact = statistic(np.ones((1, len(subject))))[0]
    shared = factors(subject)
    drawn = resampled(statistic, len(subject), shared, options.resamples, run.seed)
    decided = answers.sum(0)
    of_each = np.vstack([decider.seen, decider.seen, decided, decided * of_class])  # which stimuli each number is of
    found = [
        Estimate.between(value, share_interval(value, draws, shared, among, options.confidence))
        for value, draws, among in zip(exact.tolist(), drawn.T, of_each, strict=True)
    ]
    by_class = answers @ of_class.T  # (2, K)
    return {
        "stimuli": int(decider.seen.sum()),
        "in_conflict": int(conflict.sum()),
        **found[0].named("shape_accuracy"),
        **found[1].named("texture_accuracy"),
        "shape_answers": int(answers[0].sum()),
        "texture_answers": int(answers[1].sum()),
        **found[2].named("shape_bias"),
        "per_class": [
            {
                "class": subject.class_name(int(label)),
                "in_conflict": int((conflict * of_class[place]).sum()),
                "shape_answers": int(by_class[0, place]),
                "texture_answers": int(by_class[1, place]),
                **found[3 + place].named("shape_bias"),
            }
            for place, label in enumerate(classes.tolist())
        ],
    }
