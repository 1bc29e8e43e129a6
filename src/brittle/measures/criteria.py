"""Criteria: functions of outcomes that say whether something has happened to a classifier's answer."""

from __future__ import annotations

import math
from collections.abc import Callable

from torch import Tensor

from brittle.measures.outcomes import Outcome

Criterion = Callable[[Outcome], Tensor]  # an outcome (...) → bool (...)


def left_prediction(outcome: Outcome) -> Tensor:
    """The prediction is no longer the reference: its own clean prediction (a breaking point) or the label (wrong)."""
    return outcome.rank > 0


def reached(share: float) -> Criterion:
    """p(reference) is at least `share`: the reference is a target."""
    return lambda outcome: outcome.log_p_label >= math.log(share)
