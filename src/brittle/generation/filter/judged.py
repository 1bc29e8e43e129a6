"""How well a filter tells out-of-class images: TPR, FPR and accuracy on labels that it has not seen (table 2b).

Images of one (class, seed) begin as the same picture, and are no independent evidence. So such groups, or whole
classes, are put on one side of the split together, and intervals come from drawing groups with replacement.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from brittle.generation.filter.rule import SCORES, Array, Mask, removed, thresholds
from brittle.random import draw_keys, key_of, uniform
from brittle.statistics.crossed import crossed_weights, share_interval
from brittle.statistics.estimate import Estimate

STREAM = "filter-split"
DRAWS = 2000
ALONE = {"text alignment alone": (0,)} | {f"{name} alone": (place,) for place, name in enumerate(SCORES) if place}


class Rates(NamedTuple):
    """Of a filter that takes out-of-class images for positives."""

    true_positive: Estimate
    false_positive: Estimate
    accuracy: Estimate


class JudgedFilter(NamedTuple):
    """One way of filtering, on the labels that it was judged on and on those its thresholds were chosen on."""

    name: str
    judged: Rates
    chosen_on: Rates


class LabelledScores(NamedTuple):
    """Images with a label: scores (n, 4), whether each is out of class (n,), and the group (n,) that it belongs to."""

    scores: Array
    out: Mask
    group: NDArray[np.int64]

    def part(self, mask: Mask) -> LabelledScores:
        return LabelledScores(self.scores[mask], self.out[mask], self.group[mask])


def choosing(groups: list[str], share: float, seed: int) -> Mask:
    """(n,): whether an image's label helps to choose thresholds; the others judge them. All images of a group do the
    same, whatever other groups there are."""
    names = sorted(set(groups))
    ids = torch.tensor([key_of(name) for name in names], dtype=torch.int64)
    drawn = uniform(draw_keys(seed, STREAM, ids, torch.zeros(1, dtype=torch.int64))[:, 0], 1)[:, 0]
    chosen = {name for name, number in zip(names, drawn.tolist(), strict=True) if number < share}
    return np.array([group in chosen for group in groups], dtype=bool)


def rates(gone: Mask, out: Mask, group: NDArray[np.int64], confidence: float, seed: int) -> Rates:
    """Of what was removed (n,) and what is out of class (n,), with intervals from drawing groups (n,)."""
    shares = ((gone, out), (gone, ~out), (gone == out, np.ones_like(out)))
    sums: list[list[Array]] = [[] for _ in shares]
    for weights in crossed_weights(len(out), [group], DRAWS, seed) if len(out) else ():
        for each, (hit, among) in zip(sums, shares, strict=True):
            with np.errstate(invalid="ignore", divide="ignore"):
                each.append((weights @ (hit & among)) / (weights @ among.astype(float)))
    return Rates(
        *(
            _estimate(hit, among, np.concatenate(each) if each else np.empty(0), group, confidence)
            for each, (hit, among) in zip(sums, shares, strict=True)
        )
    )


def share_of(out: Mask, group: NDArray[np.int64], confidence: float, seed: int) -> Estimate:
    """The share of images (n,) that are out of class."""
    if not len(out):
        return Estimate()
    drawn = [each @ out / each.sum(1) for each in crossed_weights(len(out), [group], DRAWS, seed)]
    return _estimate(out, np.ones_like(out), np.concatenate(drawn), group, confidence)


def _estimate(hit: Mask, among: Mask, drawn: Array, group: NDArray[np.int64], confidence: float) -> Estimate:
    if not among.any():
        return Estimate()
    value = float(hit[among].mean())
    return Estimate.between(value, share_interval(value, drawn, [group], among.astype(float), confidence))


def judged(
    choose: LabelledScores, judge: LabelledScores, share: float, votes: int, confidence: float, seed: int
) -> tuple[Array, list[JudgedFilter]]:
    """The four thresholds, and every way of filtering with them: each score alone, then as many as `votes` of them."""
    limits = thresholds(choose.scores, choose.out, share)
    ways: dict[str, tuple[tuple[int, ...], int]] = {name: (places, 1) for name, places in ALONE.items()}
    ways[f"{votes} of {len(SCORES)}"] = (tuple(range(len(SCORES))), votes)
    found = []
    for name, (places, needed) in ways.items():
        columns = list(places)
        both = (
            rates(removed(part.scores[:, columns], limits[columns], needed), part.out, part.group, confidence, seed)
            for part in (judge, choose)
        )
        found.append(JudgedFilter(name, *both))
    return limits, found


def as_values(found: JudgedFilter) -> dict[str, Any]:
    """Plain values."""
    return {"filter": found.name} | {
        part: {
            **held.true_positive.named("true_positive"),
            **held.false_positive.named("false_positive"),
            **held.accuracy.named("accuracy"),
        }
        for part, held in (("judged", found.judged), ("chosen_on", found.chosen_on))
    }
