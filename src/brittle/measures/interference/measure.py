"""The DI index (Marcu & Prügel-Bennett 2022, equation 1): do the errors that a distortion makes go to one class?

Derived entirely from the rows of robustness and of clean predictions. Classifiers of one `group` are runs of one model;
one that has no group is a single run, for which nothing can be said about consistency.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from brittle.measures import register
from brittle.measures.base import IMAGES, NUISANCE, Measure, Read, RunView
from brittle.measures.clean.measure import clean_columns
from brittle.measures.interference.options import InterferenceOptions
from brittle.statistics.interference import all_to_one, bootstrap, increases, index, spread_at_random

KIND = "interference"
ROBUSTNESS = "robustness"


class Wrong(NamedTuple):
    """Shares of a classifier's evaluated images that are wrongly given each class (K,), and how many there were."""

    distorted: NDArray[np.float64]
    clean: NDArray[np.float64]
    images: int
    samples: int


@register(KIND)
@dataclass(frozen=True)
class Interference(InterferenceOptions, Measure):
    """Whether the errors that a nuisance makes go to one class, over several runs of a model: the DI index."""

    over: ClassVar[frozenset[str]] = frozenset({IMAGES, NUISANCE})
    reads: ClassVar[tuple[Read, ...]] = (Read(ROBUSTNESS),)

    def summarise(self, run: RunView) -> dict[str, Any]:
        measured = run.read(ROBUSTNESS)
        assert measured is not None
        groups: dict[str, list[str]] = {}
        for name, facts in measured.classifiers.items():
            groups.setdefault(facts.group or name, []).append(name)
        results, warnings = [], []
        for cell in run.cells():
            if bool((measured.images[cell.images].labels < 0).any()):
                warnings.append(
                    f"interference on {cell.images!r} is left out: it needs labels, and some images have none"
                )
                continue
            for group, names in groups.items():
                results.append(self._group(measured, group, names, cell.images, cell.nuisance))
        return {"results": results, "warnings": warnings}

    def _group(self, run: RunView, group: str, names: list[str], images: str, nuisance: str) -> dict[str, Any]:
        found = [wrong_predictions(run, name, images, nuisance) for name in names]
        labels = run.classifiers[names[0]].labels
        distorted, clean = (np.stack(each) for each in zip(*((one.distorted, one.clean) for one in found), strict=True))
        increase = increases(distorted, clean)
        di, images_seen = index(increase), min(one.images for one in found)
        value = 0.0 if di.value is None else di.value
        lost, classes = distorted.sum(1) - clean.sum(1), len(labels)
        rough = None if di.value is None else bootstrap(increase, self.confidence)
        spread = spread_at_random(distorted, clean, images_seen, value, self.simulations, run.seed)
        one_class = all_to_one(distorted, clean, value, self.simulations, run.seed)
        return {
            "group": group,
            "runs": len(names),
            "classifiers": names,
            "image_set": images,
            "nuisance": nuisance,
            "images": images_seen,
            "samples": min(one.samples for one in found),
            "classes": classes,
            "di": di.value,
            "rough_interval": None if rough is None else list(rough),
            "confidence": self.confidence,
            "worst_run": di.worst,
            "top_class": None if di.top is None else labels[di.top],
            "top_share": di.share,
            "agreeing_runs": di.agreeing,
            "runs_without_increase": di.undefined,
            "points_lost": 100 * float(lost.mean()),
            "points_to_top": 100 * di.increase / classes,
            "points_by_chance": 100 * float(np.maximum(lost, 0).mean()) / classes,
            "chance_spread": {"mean": spread.mean, "high": spread.high, "p_value": spread.p_value},
            "chance_one_class": {"mean": one_class.mean, "high": one_class.high, "p_value": one_class.p_value},
            "per_class": [
                {"class": label, "increases": (100 * each).tolist()}
                for label, each in zip(labels, (distorted - clean).T, strict=True)
            ],
        }


def wrong_predictions(run: RunView, classifier: str, images: str, nuisance: str) -> Wrong:
    """Every wrong prediction counts, however many there are of one class."""
    classes = len(run.classifiers[classifier].labels)
    counts, rows, seen = np.zeros(classes), 0, set[int]()
    for table in run.rows(run.cell(classifier, images, nuisance)):
        wrong = table["rank"].to_numpy() > 0
        counts += np.bincount(table["predicted"].to_numpy()[wrong], minlength=classes)
        rows += table.num_rows
        seen.update(np.unique(table["image"].to_numpy()).tolist())
    subject, clean = run.images[images], clean_columns(run, classifier, images)
    here = np.isin(subject.ids, np.fromiter(seen, np.int64, len(seen)))
    wrong = here & (clean["rank"] > 0)
    before = np.bincount(clean["predicted"][wrong].astype(np.int64), minlength=classes) / max(1, len(seen))
    return Wrong(counts / max(1, rows), before, len(seen), rows // max(1, len(seen)))
