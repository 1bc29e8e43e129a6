"""Ranks of classifiers at every severity, by accuracy (CNS-Bench 2025, figure 7) and by drop (figure 6), with ties.

Derived from the rows of failure points and of clean predictions. Ties are given twice: by the paper's rule, where
intervals of one standard error overlap; and by paired tests, corrected for all pairs, severities and shifts together.
Where there are no images at severity 0, nothing is ranked by drop.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from brittle.errors import BrittleError
from brittle.measures import register
from brittle.measures.base import IMAGES, PATH, About, Derived, MeasureInputs, RunView
from brittle.measures.ranking.options import RankingOptions
from brittle.measures.shifted import READ, ShiftedAnswers, shifted_answers, shifts_with_paths
from brittle.statistics.ranking import (
    PairDifferences,
    better,
    holm,
    one_sigma,
    pair_differences,
    pairs,
    ranks_by_overlap,
    ranks_by_tests,
    swaps,
)

KIND = "ranking"
ACCURACY, DROP = "accuracy", "drop"


class RankedShift(NamedTuple):
    """One image set under one shift, ranked by one number."""

    image_set: str
    nuisance: str
    by: str
    found: ShiftedAnswers
    severities: tuple[float, ...]
    scores: NDArray[np.int64]  # (K, M, S) of every image in paths, high is good: right ones, or −drop
    compared: PairDifferences


@register(KIND)
@dataclass(frozen=True)
class Ranking(RankingOptions, Derived):
    """Which classifier is best at each severity, which can't be told apart, and which change places."""

    over: ClassVar = frozenset({IMAGES, PATH})
    reads: ClassVar = (READ,)

    def check(self, about: About, asked: MeasureInputs) -> None:
        if len(asked.classifiers) < 2:
            raise BrittleError("a ranking needs at least two classifiers", "Name another: --against SPEC.")

    def summarise(self, run: RunView) -> dict[str, Any]:
        results: list[dict[str, Any]] = []
        found = {
            (images, nuisance): shifted_answers(run, images, nuisance)
            for images, nuisances in shifts_with_paths(run).items()
            for nuisance in nuisances
        }
        for by in (ACCURACY, DROP):
            contests = list(_ranked_shifts(found, by))
            if not contests:
                continue
            adjusted = holm(np.concatenate([each.compared.p_value.ravel() for each in contests]))
            ends = np.cumsum([each.compared.p_value.size for each in contests])
            for contest, end in zip(contests, ends, strict=True):
                own = contest.compared.p_value
                results.append(self._one(contest, adjusted[end - own.size : end].reshape(own.shape), len(adjusted)))
        results.sort(key=lambda row: list(found).index((row["image_set"], row["nuisance"])))
        return {"results": results}

    def _one(self, contest: RankedShift, adjusted: NDArray[np.float64], family: int) -> dict[str, Any]:
        names, paths = list(contest.found.right), contest.found.paths
        verdicts = better(contest.compared.difference, adjusted, 1 - self.confidence)
        values = contest.scores / paths
        low, high = (np.stack(each) for each in zip(*(one_sigma(each, self.sigma) for each in values), strict=True))
        overlap, (least, most) = ranks_by_overlap(low, high), ranks_by_tests(len(names), verdicts)
        sign = 1 if contest.by == ACCURACY else -1
        ends = (low, high) if sign > 0 else (-high, -low)
        return {
            "image_set": contest.image_set,
            "nuisance": contest.nuisance,
            "by": contest.by,
            "unit": contest.found.unit,
            "severities": list(contest.severities),
            "images": len(contest.found.images),
            "paths": paths,
            "sigma": self.sigma,
            "confidence": self.confidence,
            "family": family,
            "classifiers": [
                {
                    "classifier": name,
                    "values": _plain(sign * values[place].mean(0)),
                    "low": _plain(ends[0][place]),
                    "high": _plain(ends[1][place]),
                    "rank_by_overlap": overlap[place].tolist(),
                    "rank": least[place].tolist(),
                    "rank_at_most": most[place].tolist(),
                }
                for place, name in enumerate(names)
            ],
            "pairs": [
                {
                    "first": names[first],
                    "second": names[second],
                    "difference": _plain(sign * contest.compared.difference[place]),
                    "adjusted_p": _plain(adjusted[place]),
                    "better": [("tie", "first", "second")[verdict] for verdict in verdicts[place]],
                    "change_places": _crossings(contest.severities, contest.compared.difference[place]),
                }
                for place, (first, second) in enumerate(pairs(len(names)))
            ],
            **_swaps(names, contest, verdicts),
        }


def _ranked_shifts(found: Mapping[tuple[str, str], ShiftedAnswers], by: str) -> Iterator[RankedShift]:
    for (images, nuisance), each in found.items():
        scores, severities = np.stack(list(each.right.values())), each.severities
        if each.clean is None and by == DROP:
            continue
        if each.clean is not None:
            clean = np.stack(list(each.clean.values()))[..., None]
            scores = np.concatenate([clean, scores], -1) if by == ACCURACY else scores - clean
            severities = (0.0, *severities) if by == ACCURACY else severities
        yield RankedShift(images, nuisance, by, each, severities, scores, pair_differences(scores, each.paths))


def _swaps(names: Sequence[str], contest: RankedShift, verdicts: NDArray[np.int64]) -> dict[str, Any]:
    """Pairs that change places along the scale: how many; and where it is more than noise, at which severities each is
    better."""
    changed, real = swaps(contest.compared.difference, verdicts)
    return {
        "changing_places": int(changed.sum()),
        "swaps": [
            {
                "first": names[first],
                "second": names[second],
                "first_better_at": _where(contest.severities, verdicts[place] > 0),
                "second_better_at": _where(contest.severities, verdicts[place] < 0),
            }
            for place, (first, second) in enumerate(pairs(len(names)))
            if real[place]
        ],
    }


def _crossings(severities: Sequence[float], difference: NDArray[np.float64]) -> list[list[float]]:
    """Between which severities a difference changes its sign, noise or not; where it is 0, the one before counts."""
    apart = np.flatnonzero(difference)
    signs = np.sign(difference[apart])
    return [[severities[apart[at]], severities[apart[at + 1]]] for at in np.flatnonzero(signs[1:] != signs[:-1])]


def _where(severities: Sequence[float], there: NDArray[np.bool_]) -> list[float]:
    return [severity for severity, held in zip(severities, there, strict=True) if held]


def _plain(values: NDArray[np.float64]) -> list[float]:
    """Six digits: with forty classifiers there are hundreds of pairs."""
    return [float(f"{value:.6g}") for value in values]
