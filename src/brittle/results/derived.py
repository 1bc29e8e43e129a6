"""Results that are derived from another measure's rows."""

from __future__ import annotations

from brittle.errors import BrittleError
from brittle.results.base import Derived


class Rankings(Derived):
    """Ranks at every severity, by accuracy and by drop: `classifiers`, `pairs` and `swaps` of each shift."""

    def ranks(self, nuisance: str | None = None, by: str = "accuracy", ties: str = "tests") -> dict[str, list[int]]:
        """Classifier → its rank at every severity of a shift, which is named where there are several; ties by "tests"
        or by "overlap" of intervals. Ranks by accuracy begin at severity 0, where there are images."""
        if by == "drop" and not any(row["by"] == by for row in self["results"]):
            raise BrittleError("nothing is ranked by drop, since there are no images at scale 0", "Use by='accuracy'.")
        key = {"tests": "rank", "overlap": "rank_by_overlap"}[ties]
        return {row["classifier"]: row[key] for row in self._one(nuisance=nuisance, by=by)["classifiers"]}


class CorruptionErrors(Derived):
    """CE and rCE, by shift and as means: `mce`, `mean_rce` and `shifts`, a result per classifier."""


class Lines(Derived):
    """Accuracy under shifts against accuracy without: `lines`, `points`, `partial` and `shifts`."""


class Interference(Derived):
    """The DI index: `di`, `top_class` and `chance_spread`, a result per model and nuisance."""

    _derived_from = "robustness"
