"""The pairs of a task: searched, tried on rounded and compressed copies and on the other classifiers, and tabulated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray
from torch import Tensor

from brittle.measures.answers import Answers, At, Change, Notes
from brittle.measures.base import ROWS, BadAnswer, Tables, Task
from brittle.measures.changes import Untouched
from brittle.measures.clean.measure import predictions
from brittle.measures.targeted_search import UNTARGETED, SearchResult, log_p_of_goal
from brittle.nuisances.digital.jpeg import jpeg
from brittle.types import Batch

PICTURES, TRANSFER = "pictures", "transfer"  # tables besides the rows
BATCHES_AT_ONCE = 8  # whose changed images are held together
NOWHERE = -1  # a class that the other classifier does not have


class TargetPairs(NamedTuple):
    """n images with a target each."""

    units: Tensor
    rows: Tensor  # places in the task's batch
    origin: Tensor  # the clean prediction
    target: Tensor  # UNTARGETED where there is none

    def take(self, part: slice | Tensor) -> TargetPairs:
        return TargetPairs(*(each[part] for each in self))

    def by_units(self, most: int) -> Iterator[slice]:
        """Whole units, together at most so many pairs where a unit is not larger: what is kept of an image must not
        depend on the batch."""
        ends = [*(self.units.diff().nonzero()[:, 0] + 1).tolist(), len(self.units)]
        first = 0
        for end, following in zip(ends, [*ends[1:], None], strict=True):
            if end > first and (following is None or following - first > most):
                yield slice(first, end)
                first = end


class TargetAnswers(NamedTuple):
    """What a classifier says of changed images (n,)."""

    log_p: Tensor  # of the target
    predicted: Tensor


class TransferAnswers(NamedTuple):
    """What another classifier says of changed images (n,), in its own count of classes."""

    clean: Tensor  # its prediction for the untouched image
    predicted: Tensor
    origin: Tensor  # the class that was left and the target; NOWHERE where it has no such class
    target: Tensor


class EvaluatedPairs(NamedTuple):
    """Pairs, what was found, and how that fares."""

    pairs: TargetPairs
    found: SearchResult
    rounded: TargetAnswers
    compressed: TargetAnswers
    others: Mapping[str, TransferAnswers]


@dataclass(frozen=True)
class Compressed:
    """Images after JPEG."""

    quality: int
    traceable: ClassVar[bool] = True

    def make(self, batch: Batch, at: At) -> tuple[Tensor, Notes]:
        quality = torch.full((len(batch.images),), float(self.quality), dtype=torch.float64, device=batch.images.device)
        return jpeg(batch.images, quality), {}


def log_probs_of(task: Task, name: str, rows: Tensor, images: Tensor, change: Change) -> Tensor:
    """log p(c | x) (n, K) of changed copies of the images at `rows`; the search has told of its own calls alone."""
    every = torch.arange(len(rows), device=rows.device)
    answers = Answers(task.batch.take(rows)._replace(images=images), task.classifiers, task.batch_size)
    with torch.no_grad():
        return answers.log_probs(name, every, {}, change)


def evaluate_changes(task: Task, name: str, pairs: TargetPairs, found: SearchResult, quality: int) -> EvaluatedPairs:
    """How changed images fare in 8 bits, as JPEG, and with the task's other classifiers."""
    images = found.values.clamp(0, 1)  # all that a file can hold

    def answered(changed: Tensor, change: Change) -> TargetAnswers:
        log_probs = log_probs_of(task, name, pairs.rows, changed, change)
        return TargetAnswers(log_p_of_goal(log_probs, pairs.origin, pairs.target), log_probs.argmax(1))

    rounded, compressed = answered((255 * images).round() / 255, Untouched()), answered(images, Compressed(quality))
    others = {other: _transfer_answers(task, name, other, pairs, found) for other in task.classifiers if other != name}
    return EvaluatedPairs(pairs, found, rounded, compressed, others)


def _transfer_answers(task: Task, name: str, other: str, pairs: TargetPairs, found: SearchResult) -> TransferAnswers:
    mine, theirs = (list(task.classifiers[each].labels) for each in (name, other))
    # The last place stands for no target.
    there = [theirs.index(label) if theirs.count(label) == 1 else NOWHERE for label in mine] + [UNTARGETED]
    if mine == theirs:
        there[:-1] = range(len(mine))
    counted = torch.tensor(there, device=pairs.rows.device)
    clean = torch.from_numpy(predictions(task.given[other], task.ids)).to(pairs.rows.device)
    predicted = log_probs_of(task, other, pairs.rows, found.values, Untouched()).argmax(1)
    return TransferAnswers(clean[pairs.rows], predicted, counted[pairs.origin], counted[pairs.target])


_KEYS = [("unit", pa.int32()), ("image", pa.int64()), ("target", pa.int32())]
_ROWS = pa.schema(
    [
        *_KEYS,
        ("origin", pa.int32()),
        ("reached", pa.bool_()),
        ("linf", pa.float32()),
        ("l2", pa.float32()),
        ("left", pa.float32()),
        ("log_p_before", pa.float32()),
        ("log_p", pa.float32()),
        ("predicted", pa.int32()),
        ("rounded_log_p", pa.float32()),
        ("rounded_predicted", pa.int32()),
        ("jpeg_log_p", pa.float32()),
        ("jpeg_predicted", pa.int32()),
        ("calls", pa.int32()),
    ]
)
_THERE = [(name, pa.int32()) for name in ("clean", "predicted", "origin", "target_there")]
_TRANSFER = pa.schema([*_KEYS, ("classifier", pa.string()), *_THERE])
_PICTURES = pa.schema([*_KEYS, ("linf", pa.float32()), ("change", pa.binary())])  # float16, channel by channel


def tables(task: Task, parts: Sequence[EvaluatedPairs], shown: NDArray[np.bool_]) -> Tables:
    """A row per pair; what other classifiers say of those that reached their goal; and of the images that are `shown`
    (B,), the least and the greatest change."""
    found: dict[str, list[pa.Table]] = {ROWS: [], TRANSFER: [], PICTURES: []}
    for part in parts:
        _refuse(part)
        found[ROWS].append(_rows(task, part))
        found[TRANSFER] += [_transfer(task, part, other) for other in part.others]
        found[PICTURES].append(_pictures(task, part, shown))
    schemas = {ROWS: _ROWS, TRANSFER: _TRANSFER, PICTURES: _PICTURES}
    return {name: _sorted(pa.concat_tables([schemas[name].empty_table(), *each])) for name, each in found.items()}


def _sorted(table: pa.Table) -> pa.Table:
    return table.take(pa.array(np.argsort(table["unit"].to_numpy(), kind="stable")))


def _refuse(part: EvaluatedPairs) -> None:
    spoilt = (~part.found.finite).nonzero()[:, 0]
    if len(spoilt):
        raise BadAnswer(int(part.pairs.rows[spoilt[0]]), "NaN or infinite outputs for a changed copy")


def _made(schema: pa.Schema, columns: Mapping[str, Any]) -> pa.Table:
    """Tensors and arrays as the schema's columns."""
    plain = {name: each.cpu().numpy() if isinstance(each, Tensor) else each for name, each in columns.items()}
    return pa.table([pa.array(plain[field.name]).cast(field.type) for field in schema], schema=schema)


def _keys(task: Task, pairs: TargetPairs) -> dict[str, Any]:
    return {"unit": pairs.units, "image": task.ids[pairs.rows.cpu().numpy()], "target": pairs.target}


def _rows(task: Task, part: EvaluatedPairs) -> pa.Table:
    found = part.found
    columns = _keys(task, part.pairs) | {"origin": part.pairs.origin}
    columns |= {name: values for name, values in found._asdict().items() if name in _ROWS.names}
    for name, tried in (("rounded", part.rounded), ("jpeg", part.compressed)):
        columns |= {f"{name}_log_p": tried.log_p, f"{name}_predicted": tried.predicted}
    return _made(_ROWS, columns)


def _transfer(task: Task, part: EvaluatedPairs, other: str) -> pa.Table:
    here = part.found.reached.nonzero()[:, 0]
    pairs, there = part.pairs.take(here), TransferAnswers(*(each[here] for each in part.others[other]))
    columns = there._asdict() | {"target_there": there.target, "classifier": [other] * len(here)}
    return _made(_TRANSFER, columns | _keys(task, pairs))


def _pictures(task: Task, part: EvaluatedPairs, shown: NDArray[np.bool_]) -> pa.Table:
    """Of each image that is shown, the least and the greatest change of every unit."""
    rows, units = part.pairs.rows.cpu().numpy(), part.pairs.units.cpu().numpy()
    reached, linf = part.found.reached.cpu().numpy(), part.found.linf.cpu().numpy()
    chosen: list[int] = []
    for unit, row in dict.fromkeys(zip(units.tolist(), rows.tolist(), strict=True)):
        here = np.flatnonzero((units == unit) & (rows == row) & reached) if shown[row] else np.zeros(0, int)
        if len(here):
            chosen += dict.fromkeys([int(here[linf[here].argmin()]), int(here[linf[here].argmax()])])
    places = torch.tensor(chosen, dtype=torch.int64, device=part.pairs.rows.device)
    pairs = part.pairs.take(places)
    change = (part.found.values[places] - task.batch.images[pairs.rows]).half().cpu().numpy()
    columns = {"linf": part.found.linf[places], "change": [each.tobytes() for each in change]}
    return _made(_PICTURES, columns | _keys(task, pairs))
