"""Whether two tables of the same units hold the same rows: keys, predictions and words exactly, numbers to rounding."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

TOLERANCE = 1e-5  # of a number, or of itself where it is above 1: more than rounding makes on one device


def row_difference(one: pa.Table, other: pa.Table) -> str:
    """The first difference, in words that call them the first and the second; "" where there is none."""
    if one.column_names != other.column_names:
        columns = sorted({*one.column_names} ^ {*other.column_names})
        return f"the columns differ: {', '.join(columns)}"
    if one.num_rows != other.num_rows:
        return f"{one.num_rows} rows in the first, {other.num_rows} in the second"
    for name in one.column_names:
        mine, theirs = (_flat(each[name]) for each in (one, other))
        if len(mine) != len(theirs):
            return f"{name}: lists of other lengths"
        apart = _apart(mine, theirs)
        if len(apart):
            first = int(apart[0])
            return f"{name} differs in {len(apart)} of {len(mine)} values, first {mine[first]} and {theirs[first]}"
    return ""


def _flat(column: pa.ChunkedArray) -> NDArray[Any]:
    whole = pa.chunked_array([column]) if isinstance(column, pa.Array) else column
    while pa.types.is_list(whole.type):
        whole = pa.chunked_array([chunk.flatten() for chunk in whole.chunks], whole.type.value_type)
    return np.asarray(whole.to_numpy())


def _apart(one: NDArray[Any], other: NDArray[Any]) -> NDArray[np.intp]:
    """Where values differ."""
    if one.dtype.kind != "f" or other.dtype.kind != "f":
        return np.flatnonzero(one != other)
    mine, theirs = one.astype(np.float64), other.astype(np.float64)
    with np.errstate(invalid="ignore"):
        close = np.abs(mine - theirs) <= TOLERANCE * np.maximum(1, np.abs(mine))
    return np.flatnonzero(~(close | (mine == theirs) | (np.isnan(mine) & np.isnan(theirs))))
