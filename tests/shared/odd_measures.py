"""Measures that use all that the protocol of a measure allows, and some that break it."""

from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa

from brittle.errors import BrittleError
from brittle.measures.base import Derived, Measure, Read
from brittle.measures.plan import Grid, Unit, UnitList
from brittle.registry import option


def rows_per_image(task, count):
    """Units and places in the batch, each image as often as `count` says of its id."""
    pairs = [(unit, row) for unit, rows, _ in task.pieces for row in rows.tolist()]
    return [(unit, row) for unit, row in pairs for _ in range(count(int(task.ids[row])))]


@dataclass(frozen=True)
class Scattered(Measure):
    """As many rows of an image as its id says, up to three; a picture of some images only."""

    over: ClassVar = frozenset({"classifier", "images"})

    def plan(self, about):
        return Grid(about.count, 1, 2, 1)

    def evaluate(self, task):
        return {name: partial(self.tables, task) for name in task.classifiers}

    def tables(self, task):
        tables = {}
        for name, count in (("rows", lambda id: id % 4), ("pictures", lambda id: id % 5 == 0)):
            kept = rows_per_image(task, count)
            units, rows = (np.array([pair[place] for pair in kept], np.int64) for place in (0, 1))
            tables[name] = pa.table({"unit": units, "image": task.ids[rows], "value": task.ids[rows] / 2})
        return tables if tables["pictures"].num_rows else {"rows": tables["rows"]}

    def summarise(self, run):
        return {
            table: [row["image"] for cell in run.cells() for part in run.rows(cell, table) for row in part.to_pylist()]
            for table in ("rows", "pictures")
        }


@dataclass
class Counter:
    """Has enough after some units."""

    enough: int
    units: list = field(default_factory=list)
    can_stop: bool = True

    @property
    def finished(self):
        return len(self.units) >= self.enough

    def update(self, unit, tables, given):
        self.units.append((unit.images.start, tables["rows"].num_rows, tables["notes"].num_rows))

    def merge(self, later):
        self.units += later.units

    def compute(self):
        return self.units


@dataclass(frozen=True)
class Patient(Measure):
    """One image after the other, until it has seen enough of them."""

    over: ClassVar = frozenset({"classifier", "images"})
    enough: int = option(5, "images")

    def plan(self, about):
        return Grid(about.count, 1, 1, 1)

    def evaluate(self, task):
        units = task.pairs.units.numpy()
        rows = pa.table({"unit": units, "image": task.ids[task.pairs.rows.numpy()]})
        return {name: lambda: {"rows": rows, "notes": rows.slice(0)} for name in task.classifiers}

    def fold(self, about):
        return Counter(self.enough)

    def summarise(self, run):
        return {"seen": [run.fold(cell).compute() for cell in run.cells()]}


@dataclass(frozen=True)
class Onlooker(Derived):
    """Derives what it says from what others have seen."""

    over: ClassVar = frozenset({"classifier"})
    reads: ClassVar = (Read("patient"),)

    def summarise(self, run):
        read = run.read("patient")
        return {
            table: {
                f"{cell.classifier} {cell.images}": sum(part.num_rows for part in read.rows(cell, table))
                for cell in read.cells()
            }
            for table in ("rows", "notes")
        }


@dataclass(frozen=True)
class Borrower(Measure):
    """How many rows of robustness it is given of each image; −1 where it is given none at all."""

    reads: ClassVar = (Read("robustness", required=False),)

    def plan(self, about):
        return Grid(about.count, 1, 7, 1)

    def evaluate(self, task):
        units, ids = task.pairs.units.numpy(), task.ids[task.pairs.rows.numpy()]
        found = {}
        for name in task.classifiers:
            given = task.given[name].get("robustness")
            images = [] if given is None else given["rows"]["image"].to_numpy()
            counts = [-1 if given is None else int((images == id).sum()) for id in ids]
            found[name] = partial(pa.table, {"unit": units, "image": ids, "given": counts})
        return {name: lambda made=made: {"rows": made()} for name, made in found.items()}

    def summarise(self, run):
        return {
            cell.nuisance: sorted({row for part in run.rows(cell) for row in part["given"].to_pylist()})
            for cell in run.cells()
        }


@dataclass(frozen=True)
class Layers(Measure):
    """Looks at no image: some numbers per classifier and layer."""

    over: ClassVar = frozenset({"classifier"})
    layers: int = option(6, "how many")

    def plan(self, about):
        return UnitList([Unit((), range(layer, layer + 1)) for layer in range(self.layers)])

    def evaluate(self, task):
        assert len(task.batch.images) == len(task.ids) == 0
        units = np.array([piece.unit for piece in task.pieces for _ in piece.axis])
        layers = np.array([layer for piece in task.pieces for layer in piece.axis])
        return {
            name: lambda name=name: {"rows": pa.table({"unit": units, "layer": layers, "value": layers * len(name)})}
            for name in task.classifiers
        }

    def summarise(self, run):
        return {
            cell.classifier: [row["value"] for part in run.rows(cell) for row in part.to_pylist()]
            for cell in run.cells()
        }


@dataclass(frozen=True)
class Brightness(Measure):
    """Asks no classifier; a last unit has no image and says how many there are."""

    over: ClassVar = frozenset({"images"})
    reads: ClassVar = (Read("layers", required=False),)

    def plan(self, about):
        return UnitList([*Grid(about.count, 1, 25, 1), Unit((), range(1))])

    def evaluate(self, task):
        assert not task.classifiers
        last = len(task.about.subject)
        pairs = [(unit, row) for unit, rows, _ in task.pieces for row in rows.tolist()]
        rows = {"unit": [unit for unit, _ in pairs], "image": [int(task.ids[row]) for _, row in pairs]}
        means = task.batch.images.mean((1, 2, 3)) if len(task.ids) else []
        rows["mean"] = [float(means[row]) for _, row in pairs]
        bare = [piece.unit for piece in task.pieces if not len(piece.rows)]
        alone = {"unit": bare, "image": [-1] * len(bare), "mean": [float(last)] * len(bare)}
        return {"": lambda: {"rows": pa.concat_tables([pa.table(rows), pa.table(alone)], promote_options="default")}}

    def summarise(self, run):
        (cell,) = run.cells()
        rows = [row for part in run.rows(cell) for row in part.to_pylist()]
        return {"means": [row["mean"] for row in rows], "images": [row["image"] for row in rows]}


@dataclass(frozen=True)
class LayerReader(Measure):
    """Reads a measure that names no image, for each image."""

    over: ClassVar = frozenset({"classifier", "images"})
    reads: ClassVar = (Read("layers", options={"layers": 4}),)

    def plan(self, about):
        return Grid(about.count, 1, 20, 1)

    def evaluate(self, task):
        units, ids = task.pairs.units.numpy(), task.ids[task.pairs.rows.numpy()]
        return {
            name: lambda total=sum(task.given[name]["layers"]["rows"]["value"].to_pylist()): {
                "rows": pa.table({"unit": units, "image": ids, "total": [total] * len(ids)})
            }
            for name in task.classifiers
        }

    def summarise(self, run):
        return {
            cell.classifier: sorted({row for part in run.rows(cell) for row in part["total"].to_pylist()})
            for cell in run.cells()
        }


@runtime_checkable
class Dreaming(Protocol):
    def dream(self) -> str: ...


@dataclass(frozen=True)
class Dreams(Scattered):
    needs: ClassVar = (Dreaming,)


@dataclass(frozen=True)
class Careless(Scattered):
    """Breaks its word in one way or another."""

    how: str = option("", "how")

    def check(self, about, asked):
        if self.how == "check":
            raise BrittleError(f"{about.classifier.name} on {about.subject.name} can't be measured", "Leave it.")

    def evaluate(self, task):
        rows = pa.table({"unit": task.pairs.units.numpy(), "image": task.ids[task.pairs.rows.numpy()]})
        tables = {
            "no unit": {"rows": rows.select(["image"])},
            "unit last": {"rows": rows.select(["image", "unit"])},
            "not sorted": {"rows": rows.take(np.arange(rows.num_rows)[::-1])},
            "others' units": {"rows": rows.set_column(0, "unit", pa.array(task.pairs.units.numpy() + 1000))},
            "no rows": {"pictures": rows},
            "a wrong name": {"rows": rows, "My Pictures": rows},
        }.get(self.how, {"rows": rows})
        return {name: lambda: tables for name in task.classifiers if self.how != "nothing"}

    def summarise(self, run):
        return {"value": np.float32(1)}


KINDS = {
    "scattered": Scattered,
    "patient": Patient,
    "onlooker": Onlooker,
    "borrower": Borrower,
    "layers": Layers,
    "brightness": Brightness,
    "layer-reader": LayerReader,
    "dreams": Dreams,
    "careless": Careless,
}
