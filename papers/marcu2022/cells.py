"""Cells and tables in Markdown."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]


def found_by(rows: Sequence[Row], **wanted: Any) -> Row | None:
    return next((row for row in rows if all(row[key] == value for key, value in wanted.items())), None)


def pm(mean_and_spread: tuple[float, float] | None) -> str:
    return "–" if mean_and_spread is None else f"{mean_and_spread[0]:.2f} ± {mean_and_spread[1]:.2f}"


def number(value: float | None, digits: int = 2) -> str:
    return "–" if value is None or not math.isfinite(value) else f"{value:.{digits}f}".replace("-", "−")


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "| " + " | ".join("---" for _ in head) + " |"]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)]) + "\n"
