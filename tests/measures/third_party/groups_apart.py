"""Groups apart: how far the mean robustness of two groups of classifiers lies apart, beside how far the trainings of
one group do. All of it is derived from the rows of robustness."""

from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np

from brittle.measures import register
from brittle.measures.base import Measure, Read


@register("groups-apart")
@dataclass(frozen=True)
class GroupsApart(Measure):
    """Differences between groups of classifiers, and the spread within them."""

    over: ClassVar = frozenset({"images", "nuisance"})
    reads: ClassVar = (Read("robustness"),)

    def summarise(self, run):
        measured, pairs, alone = run.read("robustness"), [], set()
        for cell in run.cells():
            groups = {}
            for name, facts in run.classifiers.items():
                if not facts.group:
                    alone.add(name)
                    continue
                rows = measured.rows(measured.cell(name, cell.images, cell.nuisance))
                log_p = np.concatenate([part["log_p_label"].to_numpy() for part in rows])
                groups.setdefault(facts.group, []).append(float(np.exp(log_p.astype(np.float64)).mean()))
            pairs += [
                {
                    "image_set": cell.images,
                    "nuisance": cell.nuisance,
                    "first": first,
                    "second": second,
                    "difference": float(np.mean(groups[first]) - np.mean(groups[second])),
                    "spread": float(max(np.ptp(groups[first]), np.ptp(groups[second]))),
                }
                for first, second in combinations(groups, 2)
            ]
        warnings = [f"{name!r} belongs to no group" for name in sorted(alone)]
        return {"pairs": pairs, "warnings": warnings}
