"""Joins runs of one study that were carried out in different places: what each has computed, in one new folder.

Runs may have classifiers, image sets, nuisances and measures of their own beside those that they share, and units of
the same cells. What does not fit is refused before anything is written, and rows that two runs have must be equal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import tomli_w

from brittle.differences import differences
from brittle.engine.check.same_inputs import same_answers
from brittle.engine.plan.missing import joined_spans
from brittle.engine.row_differences import row_difference
from brittle.engine.store.checked_json import checked_text
from brittle.engine.store.place import Place
from brittle.engine.store.recorded_store import RecordedStore
from brittle.engine.store.run_folder import RunFolder
from brittle.engine.store.unit_store import FolderStore, cut, gaps, whole_tables
from brittle.errors import BrittleError
from brittle.measures.base import Cell, Tables, together
from brittle.measures.plan import Span

SORTS = ("classifiers", "images", "nuisances", "measures")
WORDS = {"classifiers": "classifier", "images": "image set", "nuisances": "nuisance", "measures": "measure"}
APART = "Merge runs of one study, or give the other one another name in its study and run it again."
ALIKE = {  # what begun.json keeps by name and must be the same, and what it means where it is not
    "images": "image set {!r} has other images",
    "sources": "image set {!r} has other images",
    "most": "image set {!r} has another number of images",
    "files": "classifier {!r} is made from other files",
    "nuisances": "nuisance {!r} is another one",
    "private": "classifier {!r} is another object",
    "unknown": "classifier {!r} can't be compared",
    "compiled": "classifier {!r} was compiled in one of them only",
    "shifts": "image set {!r} has other shifts",
}


@dataclass(frozen=True)
class RunPart:
    """A run that is merged."""

    folder: Place
    study: dict[str, Any]
    begun: dict[str, Any]
    environment: dict[str, Any]

    @classmethod
    def read(cls, place: Place) -> RunPart:
        folder = RunFolder(place)
        return cls(place, folder.read_study(), folder.read_begun(), folder.read_environment())


@dataclass(frozen=True)
class MergedRun:
    """What came of it."""

    folder: str
    units: dict[str, int]  # by run: those that were taken from it
    shared: int  # units that several runs have, compared row by row

    def values(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)

    def __str__(self) -> str:
        taken = "; ".join(f"{count:,} units from {run}" for run, count in self.units.items())
        shared = f"; {self.shared:,} units that several have are equal" if self.shared else ""
        return (
            f"{self.folder}: {taken}{shared}\n"
            f"brittle run {self.folder}/study.toml --out {self.folder} computes what none of them has, and sums up"
        )


def merge_runs(places: Sequence[Place], out: Place) -> MergedRun:
    """Joins runs into a new folder; the first one's files are taken where several have the same units."""
    if len(places) < 2:
        raise BrittleError("one run can't be merged with itself", "Name two runs or more.")
    parts = [RunPart.read(place) for place in places]
    study, begun = parts[0].study, parts[0].begun
    for part in parts[1:]:
        study, begun = _joint_study(study, part), _joint_begun(begun, parts[0], part)
    stores = {str(part.folder): RecordedStore(part.folder / "units") for part in parts}
    cells = {cell: None for store in stores.values() for cell in store.cells()}
    for cell in cells:
        _refuse_other_rows(cell, stores)
    folder = RunFolder(out)
    if folder.exists():
        raise BrittleError(f"{out} is a run already", "Choose an empty or new folder.")
    with folder.locked():
        folder.begun.write(checked_text(folder.begun.name, begun))
        writer = _writer(out, cells, stores)
        units, shared = dict.fromkeys(stores, 0), 0
        for cell in cells:
            for name, store in stores.items():
                taken, alike = _joined(writer, store, cell, name)
                units[name] += taken
                shared += alike
            writer.compact(cell, finished=True)
        others = [part.environment for part in parts[1:] if part.environment]
        environment = {**parts[0].environment, "earlier": [*others, *parts[0].environment.get("earlier", ())]}
        folder.environment.write(checked_text(folder.environment.name, environment))
        folder.study.write(tomli_w.dumps(study))
    return MergedRun(str(out), units, shared)


def _joint_study(mine: dict[str, Any], other: RunPart) -> dict[str, Any]:
    """Both studies in one; entries of the same name must be the same, and so must everything else but words."""
    theirs, joint = other.study, dict(mine)
    for key in ("seed", "precision", "compile"):
        if mine.get(key) != theirs.get(key):
            raise _unlike(other, f"its {key} is {theirs.get(key)!r} and not {mine.get(key)!r}")
    for sort in SORTS:
        here, there = mine.get(sort, {}), theirs.get(sort, {})
        for name in here.keys() & there.keys():
            # A classifier's group and attributes are words.
            one, two = ({"spec": each[name]["spec"] if sort == "classifiers" else each[name]} for each in (here, there))
            if apart := differences(one, two):
                raise _unlike(other, f"the {WORDS[sort]} {name!r} is another one: {apart[0]}")
        if here or there:
            joint[sort] = {**here, **{name: there[name] for name in there if name not in here}}
    return joint


def _joint_begun(begun: dict[str, Any], first: RunPart, other: RunPart) -> dict[str, Any]:
    joint = dict(begun)
    for key, words in ALIKE.items():
        mine, theirs = begun.get(key, {}), other.begun.get(key, {})
        for name in mine.keys() & theirs.keys():
            if mine[name] != theirs[name]:
                raise _unlike(other, words.format(name))
    for name, sets in other.begun["answers"].items():
        same = begun["machine"].get(name) == other.begun["machine"].get(name)
        for images, answers in sets.items():
            before = begun["answers"].get(name, {}).get(images)
            if before is not None and not same_answers(before, answers, same):
                raise _unlike(other, f"classifier {name!r} gave other answers there than in {first.folder}")
    for key, kept in other.begun.items():
        if isinstance(kept, Mapping):
            joint[key] = {**kept, **begun.get(key, {})}
    joint["answers"] = {
        name: {**other.begun["answers"].get(name, {}), **begun["answers"].get(name, {})} for name in joint["answers"]
    }
    return joint


def _unlike(other: RunPart, why: str) -> BrittleError:
    return BrittleError(f"the run in {other.folder} does not fit: {why}", APART)


def _refuse_other_rows(cell: Cell, stores: Mapping[str, RecordedStore]) -> None:
    """What a cell's rows depend on must be the same in all runs that have it, and so must the numbering of units."""
    said = {name: store.said(cell) for name, store in stores.items() if store.done(cell)}
    title = " · ".join(filter(None, cell))
    for key, why in (("depends", "computed from other things"), ("extent", "of other images or draws")):
        if len({each[key] for each in said.values()}) > 1:
            raise BrittleError(f"rows of {title} are {why} in {' than in '.join([*said][:2])}", APART)


def _writer(out: Place, cells: Mapping[Cell, None], stores: Mapping[str, RecordedStore]) -> FolderStore:
    said = {cell: next(store.said(cell) for store in stores.values() if store.done(cell)) for cell in cells}
    return FolderStore(out / "units", lambda cell: str(said[cell]["depends"]), lambda cell: str(said[cell]["extent"]))


def _joined(writer: FolderStore, store: RecordedStore, cell: Cell, name: str) -> tuple[int, int]:
    """Adds a run's units of a cell to those that are there: how many, and how many were there already."""
    added = shared = 0
    for span, tables in whole_tables(store, cell):
        have = joined_spans(writer.done(cell))
        new = gaps(have, span)
        for both in gaps(new, span):
            _refuse_unequal(writer, cell, both, _cut(tables, span, both), name)
            shared += both.end - both.first
        for part in new:
            writer.write(cell, part, _cut(tables, span, part))
            added += part.end - part.first
    return added, shared


def _cut(tables: Tables, span: Span, part: Span) -> Tables:
    return {name: cut(span, table, part)[1] for name, table in tables.items()}


def _refuse_unequal(writer: FolderStore, cell: Cell, span: Span, tables: Tables, name: str) -> None:
    parts = [there for _, there in whole_tables(writer, cell, span)]
    for table, theirs in tables.items():
        mine = together([each[table] for each in parts if table in each])
        if what := row_difference(mine, theirs):
            title = f"{' · '.join(filter(None, cell))}, units {span.first} to {span.end - 1}"
            raise BrittleError(
                f"{name} has other rows of {title} ({table}): {what}",
                "`brittle verify` of both tells which one can be trusted; delete the new folder.",
            )
