"""Rows as they are stored: one per image and draw, checked before they are kept."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from torch import Tensor

from brittle.measures.base import BadAnswer
from brittle.measures.evaluate import COLUMNS, Pairs

SUM_TOLERANCE = 1e-3
_WHOLE = {"predicted", "rank"}


def to_table(ids: Tensor, pairs: Pairs, outcomes: Tensor) -> pa.Table:
    """ids (B,), pairs of R rows and their outcomes (R, 5), fetched from the device → the columns of a unit file."""
    values, rows, draws = outcomes.cpu().numpy(), pairs.rows.cpu().numpy(), pairs.draws.cpu().numpy()
    bad = first_bad(values)
    if bad is not None:
        raise BadAnswer(int(rows[bad.row]), int(draws[bad.row]), bad.wrong)
    columns: dict[str, NDArray[Any]] = {"image": ids.cpu().numpy()[rows], "draw": draws.astype(np.int32)}
    return pa.table(columns | outcome_columns(values))


def outcome_columns(outcomes: NDArray[np.float32]) -> dict[str, NDArray[Any]]:
    """Outcomes (R, 5) as columns by name."""
    return {
        name: values.astype(np.int32) if name in _WHOLE else np.ascontiguousarray(values)
        for name, values in zip(COLUMNS, outcomes.T, strict=True)
    }


def to_columns(rows: pa.Table) -> dict[str, NDArray[Any]]:
    return {name: rows.column(name).to_numpy() for name in ("image", "draw", *COLUMNS)}


class BadRow(NamedTuple):
    row: int
    wrong: str


def first_bad(outcomes: NDArray[np.float32]) -> BadRow | None:
    """The first of (R, 5) outcomes that comes from no probability distribution, and what is wrong with it."""
    label, other, predicted = outcomes[:, 0], outcomes[:, 1], outcomes[:, 3]
    with np.errstate(invalid="ignore"):
        total = np.logaddexp(label.astype(np.float64), other.astype(np.float64))
        bad = ~(np.abs(total) <= SUM_TOLERANCE) | np.isnan(predicted)
    if not bad.any():
        return None
    row = int(bad.argmax())
    if np.isfinite(total[row]):
        return BadRow(row, f"probabilities that sum to {np.exp(total[row]):.4g} instead of 1")
    return BadRow(row, "NaN or infinite outputs")
