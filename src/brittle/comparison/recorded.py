"""A run as a comparison reads it: what its folder says, and its rows. Nothing that the study names is loaded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from brittle.engine.run import FinishedRun
from brittle.engine.store.place import Place
from brittle.engine.store.recorded_store import RecordedStore
from brittle.engine.store.run_folder import RunFolder, environment
from brittle.engine.store.unit_store import Store
from brittle.errors import Failure
from brittle.measures.base import ROWS, Cell
from brittle.measures.designs import draws_in_order

Row = Mapping[str, Any]
ROBUSTNESS, CLEAN = "robustness", "clean"  # kinds whose rows are compared


@dataclass(frozen=True)
class RecordedRun:
    """A run at its end. `facts` are what begun.json holds: fingerprints, hashes of files, what was compiled."""

    name: str  # what messages call it
    study: Mapping[str, Any]  # resolved, in plain values
    facts: Mapping[str, Any]
    summary: Mapping[str, Any]
    environment: Mapping[str, Any]
    store: Store
    folder: Place | None = None

    @classmethod
    def read(cls, path: Path | Place) -> RecordedRun:
        """The run in a folder."""
        folder = RunFolder(path)
        study, summary = folder.read_study(), folder.read_summary()
        store = RecordedStore(folder.path / "units")
        return cls(str(folder.path), study, folder.read_begun(), summary, folder.read_environment(), store, folder.path)

    @classmethod
    def of(cls, done: FinishedRun) -> RecordedRun:
        """A run that this process has carried out, in memory or into a folder."""
        if done.folder is not None:
            return cls.read(done.folder)
        entries, job = done.job.entries, done.job
        facts = {
            "images": {name: entry["fingerprint"] for name, entry in entries["images"].items()},
            "sources": {name: [entry["count"], entry["source"][-1]] for name, entry in entries["images"].items()},
            "files": {name: entry["files"] for name, entry in entries["classifiers"].items()},
            "nuisances": dict(entries["nuisances"]),
            "compiled": {name: job.ways.get(name, "no") for name in job.classifiers},
        }
        return cls("this run", done.study.resolved(), facts, done.summary, environment(), done.store)

    @property
    def classifiers(self) -> list[str]:
        return list(self.study["classifiers"])

    def measures(self, kind: str) -> list[str]:
        """The names of its measures of one kind."""
        return [name for name, entry in self.summary["measures"].items() if entry["kind"] == kind]

    def results(self, measure: str) -> list[Row]:
        """What a measure says, a row per cell."""
        found: list[Row] = self.summary["measures"][measure]["results"]
        return found

    @cached_property
    def clean(self) -> str:
        """The measure whose rows are of untouched images; "" where there is none."""
        names = (name for name, entry in self.study["measures"].items() if entry["kind"] == CLEAN)
        return next(names, CLEAN)


class Evaluations(NamedTuple):
    """What one classifier said of every image at every θ: images (M,) by id, in planned order, each with S draws."""

    ids: NDArray[np.int64]
    p: NDArray[np.float32]  # (M, S) of the label
    right: NDArray[np.bool_]  # (M, S)
    predicted: NDArray[np.int64]  # (M, S)

    def reaching(self, images: int, draws: int) -> Evaluations:
        """The first images and draws."""
        here = np.s_[:images, :draws]
        return Evaluations(self.ids[:images], self.p[here], self.right[here], self.predicted[here])

    def of(self, ids: NDArray[np.int64]) -> Evaluations:
        """The images with these ids, all of which are there, in that order."""
        order = np.argsort(self.ids)
        places = order[np.searchsorted(self.ids, ids, sorter=order)]
        return Evaluations(ids, self.p[places], self.right[places], self.predicted[places])


def evaluations(run: RecordedRun, cell: Cell, images: int, draws: int) -> Evaluations:
    """The rows of a cell as far as its summary rests on them: a measure that stopped may have computed more."""
    parts = list(_parts(run, cell))
    ids = np.concatenate([part["image"].to_numpy() for part in parts]) if parts else np.empty(0, np.int64)
    known, first, inverse = np.unique(ids, return_index=True, return_inverse=True)
    planned = np.argsort(np.argsort(first))  # ids in the order in which they come up first, which is the plan's
    places = planned[inverse]
    at = np.concatenate([_draws(part) for part in parts]) if parts else np.empty(0, np.int64)
    kept = (places < images) & (at < draws)
    count = min(images, len(known))
    if int(kept.sum()) != count * draws or count != images:
        raise Failure(
            f"rows of {' · '.join(filter(None, cell))} are missing in {run.name}",
            "Give the command that made it again: what is missing is computed again.",
        )

    def grid(column: str) -> NDArray[Any]:
        values = np.concatenate([part[column].to_numpy() for part in parts])
        filled = np.zeros((count, draws), values.dtype)
        filled[places[kept], at[kept]] = values[kept]
        return filled

    in_order = np.empty(len(known), np.int64)
    in_order[planned] = known
    p = np.exp(grid("log_p_label").astype(np.float32))
    return Evaluations(in_order[:count], p, grid("rank") == 0, grid("predicted").astype(np.int64))


def _parts(run: RecordedRun, cell: Cell) -> Iterator[pa.Table]:
    return (rows for _, rows in run.store.read(cell, None, ROWS))


def _draws(rows: pa.Table) -> NDArray[np.int64]:
    """Which draw of its image a row is, of whatever design; untouched images have one."""
    if "draw" in rows.column_names:
        return draws_in_order(np.asarray(rows["draw"].to_numpy(), np.int64))
    return np.zeros(rows.num_rows, np.int64)
