"""Does a score tell errors from right answers? AUROC with its interval, and risk against coverage.

A score is high where the classifier should be right: its greatest probability, or how far an image had to be changed.
Ties count half in AUROC, and stand in a random order, on average, in risk–coverage: nothing depends on the order of
the images.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.special import rel_entr
from scipy.stats import rankdata

from brittle.statistics.estimate import Estimate

Array = npt.NDArray[np.float64]


class RiskCoverage(NamedTuple):
    """The risk among the `coverage` of images that score highest; `area` is its mean over all coverages."""

    coverage: Array  # (n,) 1/n … 1
    risk: Array  # (n,)
    area: float
    least_area: float  # of a score that puts every error last


def auroc(score: npt.ArrayLike, wrong: npt.ArrayLike, confidence: float = 0.95) -> Estimate:
    """score (n,), wrong (n,) bool → the probability that a right answer scores above an error, ties counting half:
    the Mann–Whitney statistic over pairs of the two; nothing without one of each.

    The interval holds for any number of images. The statistic is an average over ways of pairing, each a mean of
    k = min(errors, right) independent terms in [0, 1], so Hoeffding's bound for such a mean holds for it too (Hoeffding
    1963, section 5): excluded is every θ with k·KL(AUROC ‖ θ) > ln(2/δ). It is for the population that the images are
    drawn from, given how many of them are errors."""
    scores, errors = np.asarray(score, np.float64), np.asarray(wrong, bool)
    bad, good = int(errors.sum()), int((~errors).sum())
    if not bad or not good:
        return Estimate()
    value = float((rankdata(scores)[~errors].sum() - good * (good + 1) / 2) / (good * bad))
    return Estimate(value, *mean_interval(value, min(bad, good), confidence))


def mean_interval(mean: float, count: int, confidence: float) -> tuple[float, float]:
    """{θ: count·KL(mean ‖ θ) ≤ ln(2/δ)}: for a mean of that many independent values in [0, 1] (Hoeffding 1963,
    theorem 1), the count fixed beforehand."""
    limit = math.log(2 / (1 - confidence)) / count

    def excess(theta: float) -> float:
        return float(rel_entr(mean, theta) + rel_entr(1 - mean, 1 - theta)) - limit

    tiny = 1e-15
    low = 0.0 if mean <= tiny or excess(tiny) <= 0 else float(brentq(excess, tiny, mean))
    high = 1.0 if mean >= 1 - tiny or excess(1 - tiny) <= 0 else float(brentq(excess, mean, 1 - tiny))
    return low, high


def risk_coverage(score: npt.ArrayLike, wrong: npt.ArrayLike) -> RiskCoverage:
    """score (n,), wrong (n,) bool → the share of errors among the images kept, as fewer and fewer are kept
    (El-Yaniv & Wiener 2010)."""
    scores, errors = np.asarray(score, np.float64), np.asarray(wrong, np.float64)
    count = len(scores)
    kept = np.arange(1, count + 1, dtype=np.float64)
    values, block = np.unique(-scores, return_inverse=True)
    sizes, inside = (np.bincount(block, weights, minlength=len(values)) for weights in (None, errors))
    # Within a block of ties errors arrive at an even rate: their mean over all orders.
    found = np.interp(kept, np.concatenate(([0.0], sizes.cumsum())), np.concatenate(([0.0], inside.cumsum())))
    risk = found / kept
    least = np.maximum(0.0, kept - (count - errors.sum())) / kept
    return RiskCoverage(kept / count, risk, float(risk.mean()), float(least.mean()))
