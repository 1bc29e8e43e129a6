"""Rows as people use them: with the names of classifier, nuisance, image and classes, and θ itself.

A run stores numbers alone; names and θ follow from its study, and are put beside them here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray

from brittle.engine.replay import replay_of
from brittle.engine.view import MeasureView
from brittle.measures.base import ROWS, Cell, draw_column
from brittle.measures.severities import scale_of
from brittle.random import draw_keys
from brittle.report.page.label_names import LabelNames
from brittle.types import UNLABELLED, ReadableTheta

MOST_NUMBERS = 16  # of θ that get a column each; a longer θ is identified by its key
IMAGES_AT_ONCE = 64
OUTCOMES = ("log_p_label", "log_p_other", "predicted", "log_p_predicted", "rank", "log_prior")
FOUND = (*OUTCOMES, "predicted_class", "right")
FIRST = ("classifier", "image_set", "nuisance", "image", "name", "label", "class")


def named_rows(view: MeasureView, table: str = ROWS) -> Iterator[pa.Table]:
    """A measure's rows, part by part, all with the same columns; those that a cell does not name are null there."""
    firsts = {
        cell: next(iter(view.rows(cell, table)), None)
        for cell in view.cells()
        if table == ROWS or table in view.store.tables(cell)
    }
    cells = [cell for cell, first in firsts.items() if first is not None]  # what is derived has no rows of its own
    empty = [_named(view, cell, first.slice(0, 0)) for cell, first in firsts.items() if first is not None]
    if not empty:
        return
    schema = pa.unify_schemas([each.schema for each in empty], promote_options="permissive")
    schema = pa.schema([schema.field(name) for name in sorted(schema.names, key=_order(schema.names))])
    for cell in cells:
        for part in view.rows(cell, table):
            named = _named(view, cell, part)
            columns = [
                named[field.name].cast(field.type)
                if field.name in named.column_names
                else pa.nulls(len(named), field.type)
                for field in schema
            ]
            yield pa.table(columns, schema=schema)


def all_rows(view: MeasureView, table: str = ROWS) -> pa.Table:
    """The same as one table."""
    parts = list(named_rows(view, table))
    return pa.concat_tables(parts) if parts else pa.table({})


def _order(names: list[str]) -> Any:
    """Names first, θ after what numbers the rows, and what was found last."""
    place = {name: number for number, name in enumerate(names)}

    def rank(name: str) -> tuple[int, int]:
        if name in FIRST:
            return 0, FIRST.index(name)
        return 3 if name in FOUND else 2 if name.startswith("theta") else 1, place[name]

    return rank


def _named(view: MeasureView, cell: Cell, rows: pa.Table) -> pa.Table:
    """Some rows of a cell with names and θ beside them."""
    kept = {name: rows[name] for name in rows.column_names if name not in ("unit", "theta")}
    names: dict[str, Any] = {"classifier": cell.classifier, "image_set": cell.images, "nuisance": cell.nuisance}
    columns: dict[str, Any] = {name: pa.repeat(value, len(rows)) for name, value in names.items() if value}
    if cell.images and "image" in kept:
        columns |= _of_images(view, cell, rows)
    columns |= {name: values for name, values in kept.items() if name not in OUTCOMES}
    if cell.nuisance:
        columns |= _theta(view, cell, rows)
    columns |= {name: values for name, values in kept.items() if name in OUTCOMES}
    if "predicted" in kept and cell.classifier:
        predicted = rows["predicted"].to_numpy()  # −1 where outputs overflowed
        columns["predicted_class"] = _classes(view, cell).take(pa.array(predicted, pa.int64(), mask=predicted < 0))
    if "rank" in kept:
        columns["right"] = pa.array(rows["rank"].to_numpy() == 0)
    return pa.table(columns)


def _of_images(view: MeasureView, cell: Cell, rows: pa.Table) -> dict[str, Any]:
    """File name, label and class of every row's image."""
    subject = view.images[cell.images]
    places, inverse = np.unique(subject.places(rows["image"].to_numpy()), return_inverse=True)
    labels = subject.labels[places]
    known = [subject.class_name(int(label)) if label != UNLABELLED else None for label in labels]
    return {
        "image": rows["image"],
        "name": pa.array([str(subject.names[int(place)]) for place in places], pa.string()).take(pa.array(inverse)),
        "label": pa.array(labels[inverse], pa.int64(), mask=labels[inverse] == UNLABELLED),
        "class": pa.array(known, pa.string()).take(pa.array(inverse)),
    }


def _classes(view: MeasureView, cell: Cell) -> pa.Array:
    facts = view.classifiers[cell.classifier]
    classes = view.images[cell.images].classes if cell.images else ()
    return pa.array(LabelNames(facts.labels, classes, facts.named).names, pa.string())


def _theta(view: MeasureView, cell: Cell, rows: pa.Table) -> dict[str, Any]:
    """θ in a column for each of its numbers, as `theta_angle`; where it is long, the key that it is drawn from."""
    space, column = view.nuisances[cell.nuisance], draw_column(rows.schema)
    words = [f"theta_{word.replace(' ', '_')}" for word in space.parameters]
    if "theta" not in rows.column_names and column is None:
        return {}
    if "severity" in rows.column_names and scale_of(space).fixed:  # along stored images: severity is all
        return {}
    short = _is_short(view, cell)
    if "theta" in rows.column_names:
        lists = rows["theta"].combine_chunks()
        if not short:
            return {"theta": lists}
        numbers = lists.flatten().to_numpy(zero_copy_only=False).reshape(len(rows), len(words))
        columns = [pa.array(numbers[:, place]) for place in range(len(words))]
        return dict(zip(words, columns, strict=True)) | _told(view, cell, numbers)
    assert column is not None
    if not short:
        return {"theta_key": _keys(view, cell, rows, column)}
    numbers = _drawn(view, cell, rows, column) if len(rows) else np.empty((0, len(words)), np.float32)
    columns = [pa.array(numbers[:, place]) for place in range(len(words))]
    return dict(zip(words, columns, strict=True)) | _told(view, cell, numbers)


def _is_short(view: MeasureView, cell: Cell) -> bool:
    """Whether θ has few numbers, each with a name: that of noise has one name and a number per pixel."""
    space = view.nuisances[cell.nuisance]
    first = view.job.images[cell.images].images.batch([0])
    return len(space.parameters) <= MOST_NUMBERS and space.identity(first).shape[-1] == len(space.parameters)


def _told(view: MeasureView, cell: Cell, theta: NDArray[Any]) -> dict[str, Any]:
    """θ (n, d) in the numbers that it can be told in, where all images are of one size."""
    space, images = view.nuisances[cell.nuisance], view.job.images[cell.images].images
    if not isinstance(space, ReadableTheta) or len(images.shapes) > 1:
        return {}
    told = space.read_theta(torch.from_numpy(np.array(theta, np.float32)), *images.shape[1:]).float().numpy()
    return {f"theta_{word.replace(' ', '_')}": pa.array(told[:, place]) for place, word in enumerate(space.readings)}


def _keys(view: MeasureView, cell: Cell, rows: pa.Table, column: str) -> pa.Array:
    """The keys as text, since JSON and many readers have no whole numbers of 64 bits."""
    root = view.job.stream(cell.nuisance)
    ids, inverse = np.unique(rows["image"].to_numpy(), return_inverse=True)
    draws, numbers = np.unique(rows[column].to_numpy(), return_inverse=True)
    every = draw_keys(view.seed, root, torch.from_numpy(ids), torch.from_numpy(draws).long()).numpy()
    return pa.array([f"{int(key) & (1 << 64) - 1:016x}" for key in every[inverse, numbers]], pa.string())


def _drawn(view: MeasureView, cell: Cell, rows: pa.Table, column: str) -> NDArray[Any]:
    """Every row's θ (n, d), drawn again as it was."""
    replay = replay_of(view.job, cell.images, cell.nuisance, cell.classifier)
    at, inverse = np.unique(view.images[cell.images].places(rows["image"].to_numpy()), return_inverse=True)
    draws, numbers = np.unique(rows[column].to_numpy(), return_inverse=True)
    places, wanted = at.tolist(), torch.from_numpy(draws).long()
    found: dict[int, np.ndarray[Any, Any]] = {}
    for start in range(0, len(places), IMAGES_AT_ONCE):
        here = places[start : start + IMAGES_AT_ONCE]
        for members, batch in replay.images.groups(here):
            full = replay.extended(batch, [here[member] for member in members.tolist()])
            theta = replay.drawn(full, wanted).float().numpy()
            found |= {start + int(member): theta[place] for place, member in enumerate(members)}
    return np.asarray(np.stack([found[each] for each in range(len(places))])[inverse, numbers])
