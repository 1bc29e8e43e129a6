"""Error consistency in words."""

from __future__ import annotations

from collections.abc import Sequence

from brittle.report.page.words import number


def kappa(value: float | None, bounds: Sequence[float] | None) -> str:
    """0.68 [0.57, 0.77]"""
    ends = "" if value is None or bounds is None else f" [{number(bounds[0], 2)}, {number(bounds[1], 2)}]"
    return f"{'undefined' if value is None else number(value, 2)}{ends}"
