"""What a classifier says of an image, set against what counts as right: one named type for every measure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray
from torch import Tensor

from brittle.types import UNLABELLED

SUM_TOLERANCE = 1e-3
WHOLE = frozenset({"predicted", "rank"})  # stored as int32


class Outcome(NamedTuple):
    """Of images of any leading shape (...); on the device until it is fetched."""

    log_p_label: Tensor
    log_p_other: Tensor  # log p(not ℓ)
    predicted: Tensor
    log_p_predicted: Tensor
    rank: Tensor  # how many classes come before the label; 0 is right

    def packed(self) -> Tensor:
        """(..., 5) in one tensor: for what must travel, be gathered or be remembered as a whole."""
        return torch.stack(tuple(self), dim=-1)

    @classmethod
    def unpacked(cls, values: Tensor) -> Outcome:
        """The outcome that `packed` made (..., 5) of."""
        return cls(*values.unbind(-1))

    def take(self, rows: Tensor | slice) -> Outcome:
        """Those of some images."""
        return Outcome(*(each[rows] for each in self))

    def columns(self) -> dict[str, NDArray[Any]]:
        """Fetched from the device, as flat columns of a table."""
        values = self.packed().flatten(0, -2).float().cpu().numpy()
        return {
            name: column.astype(np.int32) if name in WHOLE else np.ascontiguousarray(column)
            for name, column in zip(self._fields, values.T, strict=True)
        }


COLUMNS = Outcome._fields


def outcome(log_probs: Tensor, labels: Tensor) -> Outcome:
    """log p(c | x) (B, K) and labels (B,) → what was said of each (B,); UNLABELLED stands for what is predicted.

    log p(not ℓ) is the log-sum-exp of the other classes: log(1 − p) would be −∞ for every confident classifier.
    """
    top, predicted = log_probs.max(1)
    labels = torch.where(labels == UNLABELLED, predicted, labels)
    column = labels[:, None]
    label = log_probs.gather(1, column)
    other = log_probs.scatter(1, column, -torch.inf).logsumexp(1)
    # A class as probable as the label and listed before it is what `max` predicts, so it counts as ahead.
    before = torch.arange(log_probs.shape[1], device=labels.device) < column
    rank = ((log_probs > label) | ((log_probs == label) & before)).sum(1)
    return Outcome(label[:, 0], other, predicted.to(top.dtype), top, rank.to(top.dtype))


def joined(parts: Sequence[Outcome]) -> Outcome:
    """Several batches' outcomes as one; one about nothing, which is on no device in particular, is left out."""
    parts = [part for part in parts if len(part.rank)]
    if not parts:
        return Outcome(*(torch.empty(0) for _ in Outcome._fields))
    return parts[0] if len(parts) == 1 else Outcome(*(torch.cat(each) for each in zip(*parts, strict=True)))


class BadRow(NamedTuple):
    row: int
    wrong: str


def first_bad(columns: dict[str, NDArray[Any]]) -> BadRow | None:
    """The first row whose outcome does not come from a probability distribution, and what is wrong with it."""
    label, other = (columns[name].astype(np.float64) for name in ("log_p_label", "log_p_other"))
    with np.errstate(invalid="ignore"):
        total = np.logaddexp(label, other)
        bad = ~(np.abs(total) <= SUM_TOLERANCE) | np.isnan(columns["log_p_predicted"])
    if not bad.any():
        return None
    row = int(bad.argmax())
    if np.isfinite(total[row]):
        return BadRow(row, f"probabilities that sum to {np.exp(total[row]):.4g} instead of 1")
    return BadRow(row, "NaN or infinite outputs")


def outcome_columns(rows: pa.Table, *also: str) -> dict[str, NDArray[Any]]:
    """The outcome of every row of a stored table as arrays, and some other columns."""
    return {name: rows.column(name).to_numpy() for name in (*also, *COLUMNS)}
