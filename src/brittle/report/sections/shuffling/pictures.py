"""Shuffled images beside the untouched ones, with what classifiers say of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from brittle.engine.replay import Replay
from brittle.engine.view import View
from brittle.measures.clean.measure import clean_columns
from brittle.measures.shuffling.measure import Shuffling
from brittle.report.page.confirmation import Confirmation, StoredAnswer, confirm
from brittle.report.page.pictures import data_uri
from brittle.report.page.section import MeasureRun
from brittle.report.sections.answered import MOST_CLASSIFIERS, AnsweredPicture, answer_of, clean_answers

MOST_IMAGES = 6


class Strip(NamedTuple):
    name: str
    label: str
    pictures: tuple[AnsweredPicture, ...]  # the first is untouched


class Strips(NamedTuple):
    strips: tuple[Strip, ...] = ()
    confirmation: Confirmation = Confirmation()
    why_not: str = ""


def strips(run: MeasureRun, images: str, classifiers: Sequence[str]) -> Strips:
    """The first images in planned order, not selected: untouched, then the first shuffle of every grid."""
    view, why_not = run.view, run.whole.why_unreadable(images)
    if view is None or why_not:
        return Strips(why_not=why_not)
    measure = view.job.assignments[run.name].measure
    assert isinstance(measure, Shuffling)
    subject, names = view.images[images], list(classifiers[:MOST_CLASSIFIERS])
    chosen = view.job.images[images].images
    places = list(range(min(MOST_IMAGES, len(subject))))
    clean = {name: clean_columns(view, name, images) for name in names}
    made: list[Strip] = []
    stored: dict[str, list[StoredAnswer]] = {name: [] for name in names}
    shuffled = {grid: _shuffled(view, measure, images, grid, places, names) for grid in measure.grids}
    for at, place in enumerate(places):
        untouched = data_uri(chosen.batch([place]).images[0])
        pictures = [AnsweredPicture(untouched, "untouched", clean_answers(run, clean, images, place))]
        for grid, (tensors, said) in shuffled.items():
            own = []
            for name in names:
                row = said[name][at]
                own.append(answer_of(run, name, images, row))
                probability = float(np.exp(row["log_p_predicted"]))
                stored[name].append(StoredAnswer(tensors[at], int(row["predicted"]), probability))
            pictures.append(AnsweredPicture(data_uri(tensors[at]), f"{grid}×{grid}", tuple(own)))
        label = subject.class_name(int(subject.labels[place]))
        made.append(Strip(subject.names[place], label, tuple(pictures)))
    confirmation = Confirmation()
    for name in names:
        live = run.whole.classifier(name)
        if live is not None:
            confirmation = confirmation.plus(confirm(live, stored[name]))
    return Strips(tuple(made), confirmation)


def _shuffled(
    view: View, measure: Shuffling, images: str, grid: int, places: list[int], names: list[str]
) -> tuple[list[Any], dict[str, list[dict[str, Any]]]]:
    """The first shuffle of some images, and what each classifier said of it."""
    replay = Replay(view.job.images[images].images, measure.shuffle(grid), measure.stream(grid), view.seed)
    ids, said = view.images[images].ids[places], {}
    for name in names:
        rows = view.table(view.cell(name, images))
        first = rows.filter(pc.and_(pc.equal(rows["grid"], grid), pc.equal(rows["draw"], 0)))
        by_id = {row["image"]: row for row in first.filter(pc.is_in(first["image"], pa.array(ids))).to_pylist()}
        said[name] = [by_id[each] for each in ids.tolist()]
    return replay.draws([(place, 0) for place in places]), said
