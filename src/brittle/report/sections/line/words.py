"""Lines and partial correlations in words."""

from __future__ import annotations

from collections.abc import Sequence

from brittle.report.page.section import Row
from brittle.report.page.words import number, p_value


def _equals(value: float | None) -> str:
    """p = 0.03; p < 0.001"""
    said = p_value(value)
    return f"p {said}" if said.startswith("<") else f"p = {said}"


def _ends(bounds: Sequence[float]) -> str:
    return f"[{number(bounds[0], 2)}, {number(bounds[1], 2)}]"


SAME_IMAGES = "both accuracies are of the same images, whose luck they share: some of the correlation is due to that"


def line(found: Row) -> str:
    """slope 1.32 [1.07, 1.58], correlation 0.98 (p < 0.001)"""
    if found["slope"] is None:
        return "no line: accuracies do not vary"
    return (
        f"slope {number(found['slope'], 2)} {_ends(found['slope_interval'])}, correlation "
        f"{number(found['correlation'], 2)} ({_equals(found['p_value'])})"
    )


def partial(entry: Row) -> str:
    """−0.36 (p = 0.64; 5 models)"""
    if entry["correlation"] is None:
        return "undefined: it follows from accuracy alone"
    return f"{number(entry['correlation'], 2)} ({_equals(entry['p_value'])}; {entry['models']} models)"


def beyond(point: Row, name: str = "gain") -> bool:
    """Whether a model's gain is more than a model on the line could have."""
    ends = point[f"{name}_interval"]
    return ends is not None and (ends[0] > 0 or ends[1] < 0)
