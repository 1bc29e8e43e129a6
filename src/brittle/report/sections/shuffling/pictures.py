"""Shuffled images beside the untouched ones, with what classifiers say of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from brittle.engine.view import MeasureView
from brittle.measures.clean.measure import clean_columns
from brittle.measures.shuffling.measure import Shuffling
from brittle.report.blocks import Block, Group, Pictures
from brittle.report.blocks.pictures import Card, Drawn, Original, Strip
from brittle.report.page.section import MeasureRun
from brittle.report.sections.pictured import MOST_CLASSIFIERS, answer_of, clean_answers, readable, shown_image

MOST_IMAGES = 6


def strips(run: MeasureRun, images: str, classifiers: Sequence[str]) -> list[Block]:
    """The first images in planned order, not selected: untouched, then the first shuffle of every grid; or why there
    are none."""
    view, instead = readable(run, images)
    if view is None:
        return instead
    measure = view.job.assignments[run.name].measure
    assert isinstance(measure, Shuffling)
    names, places = list(classifiers[:MOST_CLASSIFIERS]), list(range(min(MOST_IMAGES, len(view.images[images]))))
    clean = {name: clean_columns(view, name, images) for name in names}
    shuffled = {grid: _said(view, images, grid, places, names) for grid in measure.grids}
    made = []
    for at, place in enumerate(places):
        image = shown_image(view, images, place)
        untouched = tuple(replace(each, predicted=None) for each in clean_answers(run, clean, images, place))
        cards = [Card(Original(images, image.id), "untouched", image.alt, untouched)]
        for grid, said in shuffled.items():
            spec = f"shuffle:grid={grid},moves={measure.moves}"
            answers = tuple(answer_of(run, name, images, said[name][at]) for name in names)
            source = Drawn(images, image.id, spec, 0, stream=measure.stream(grid))
            cards.append(Card(source, f"{grid}×{grid}", image.alt, answers))
        made.append(Strip(tuple(cards)))
    return [Group("First shuffles, not selected", (Pictures(tuple(made)),))]


def _said(
    view: MeasureView, images: str, grid: int, places: list[int], names: list[str]
) -> dict[str, list[dict[str, Any]]]:
    """What each classifier said of the first shuffle of some images."""
    ids, said = view.images[images].ids[places], {}
    for name in names:
        rows = view.table(view.cell(name, images))
        first = rows.filter(pc.and_(pc.equal(rows["grid"], grid), pc.equal(rows["draw"], 0)))
        by_id = {row["image"]: row for row in first.filter(pc.is_in(first["image"], pa.array(ids))).to_pylist()}
        said[name] = [by_id[each] for each in ids.tolist()]
    return said
