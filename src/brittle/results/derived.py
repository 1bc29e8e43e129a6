"""Results of measures that are derived from others."""

from __future__ import annotations

import pyarrow as pa

from brittle.errors import BrittleError
from brittle.measures.deciders import decisions_table
from brittle.results.base import Result


class RankingResult(Result, kind="ranking"):
    """Ranks at every severity, by accuracy and by drop: `classifiers`, `pairs` and `swaps` of each shift."""

    def ranks(self, nuisance: str | None = None, by: str = "accuracy", ties: str = "tests") -> dict[str, list[int]]:
        """Classifier → its rank at every severity of a shift, which is named where there are several; ties by "tests"
        or by "overlap" of intervals. Ranks by accuracy begin at severity 0, where there are images."""
        if by == "drop" and not any(row["by"] == by for row in self["results"]):
            raise BrittleError("nothing is ranked by drop, since there are no images at scale 0", "Use by='accuracy'.")
        key = {"tests": "rank", "overlap": "rank_by_overlap"}[ties]
        return {row["classifier"]: row[key] for row in self._one(nuisance=nuisance, by=by)["classifiers"]}


class CorruptionErrorResult(Result, kind="corruption-error"):
    """CE and rCE, by shift and as means: `mce`, `mean_rce` and `shifts`, a result per classifier."""


class LineResult(Result, kind="line"):
    """Accuracy under shifts against accuracy without: `lines`, `points`, `partial` and `shifts`."""


class InterferenceResult(Result, kind="interference"):
    """The DI index: `di`, `top_class` and `chance_spread`, a result per model and nuisance."""


class DecisionsResult(Result):
    """What is derived from what classifiers, and people, say of untouched images."""

    @property
    def decisions(self) -> pa.Table:
        """What every classifier says of every untouched image, in the columns of model-vs-human's files."""
        return decisions_table(self.run.view(str(self._measure)), self["results"][0]["image_set"])


class CueConflictResult(DecisionsResult, kind="cue-conflict"):
    """Shape against texture: `shape_bias`, `shape_accuracy` and `texture_accuracy`, a result per classifier."""


class ErrorConsistencyResult(DecisionsResult, kind="error-consistency"):
    """Whose errors are alike: `kappa`, a result per pair, `people` and `deciders`."""

    def kappa(self, first: str, second: str) -> float | None:
        """Cohen's κ of the errors of two, by name; None where it is undefined."""
        for each in self["results"]:
            if {first, second} == {each["first"], each["second"]}:
                found: float | None = each["kappa"]
                return found
        known = sorted({name for each in self["results"] for name in (each["first"], each["second"])})
        raise BrittleError(f"there is no pair {first!r} and {second!r}", f"Known: {', '.join(known)}.")
