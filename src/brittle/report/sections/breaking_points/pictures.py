"""Clean and broken images side by side, per classifier (UREM, figure 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from brittle.engine.view import MeasureView
from brittle.measures.breaking_points.measure import BreakingPoints
from brittle.measures.breaking_points.summary import PointsOfClassifier, points_of
from brittle.measures.severities import Severities
from brittle.report.blocks import Block, Pictures, Sentence
from brittle.report.blocks.pictures import Card, Drawn, Strip
from brittle.report.blocks.text import ClassifierName
from brittle.report.page.section import MeasureRun, Row
from brittle.report.sections.breaking_points.words import places
from brittle.report.sections.pictured import MOST_CLASSIFIERS, ShownImage, answer, readable, shown_image

MOST_IMAGES = 8
NOTE = (
    "Images that all shown classifiers get right, from those that break first to those that break last. Left the "
    "image; then, for each classifier, the image at its breaking point with the severity, the new label and its "
    "probability."
)


def at_the_break(run: MeasureRun, rows: Sequence[Row]) -> list[Block]:
    """Images that all classifiers get right, from those that break first to those that break last; or why there are
    none."""
    images, nuisance, classifiers = rows[0]["image_set"], rows[0]["nuisance"], [row["classifier"] for row in rows]
    view, instead = readable(run, images, nuisance, classifiers)
    if view is None:
        return instead
    measure = view.job.assignments[run.name].measure
    assert isinstance(measure, BreakingPoints)
    grid = measure.grid(view.about(view.cell(classifiers[0], images, nuisance)))
    shown = [name for name in classifiers if not run.whole.why_unreadable(images, nuisance, [name])]
    found = {name: points_of(measure, view, name, images, nuisance, grid) for name in shown[:MOST_CLASSIFIERS]}
    right = np.logical_and.reduce([each.right for each in found.values()]).nonzero()[0]
    if not len(right):
        return [Sentence("No image is classified correctly by all classifiers.", "note")]
    order = right[np.argsort(np.mean([each.value[right, 0] for each in found.values()], 0), kind="stable")]
    chosen = order[np.unique(np.linspace(0, len(order) - 1, MOST_IMAGES).round().astype(int))]
    strips = _Strips(run, view, rows[0], measure.noise == "fresh", grid, found)
    return [Sentence(NOTE, "note"), Pictures(tuple(strips.of(place) for place in chosen.tolist()))]


class _Strips(NamedTuple):
    """What strips of one image set under one nuisance are made from."""

    run: MeasureRun
    view: MeasureView
    row: Row
    fresh: bool
    grid: Severities
    found: Mapping[str, PointsOfClassifier]

    def of(self, place: int) -> Strip:
        image = shown_image(self.view, self.row["image_set"], place)
        return Strip((image.original(beneath=image.name), *(self._card(each, place, image) for each in self.found)))

    def _card(self, classifier: str, place: int, image: ShownImage) -> Card:
        points, nuisance = self.found[classifier], self.row["nuisance"]
        names = self.run.whole.label_names(classifier, image.image_set)
        untouched = f"{names(int(points.base[place]))} {points.p_clean[place]:.2f} untouched"
        if not points.broke[place, 0]:
            held = f"{untouched}; held up to {self.row['limit']:g}"
            return Card(None, (ClassifierName(classifier, "never broke"),), beneath=held)
        value, label = float(points.value[place, 0]), int(points.predicted[place, 0])
        step = round(value / self.grid.step) - 1
        caption = f"at {value:.{places(self.row)}f}"
        source = Drawn(
            image.image_set, image.id, nuisance, 0, float(self.grid.tensor()[step]), step if self.fresh else None,
            classifier if self.run.whole.job.needs(nuisance) else "",
        )  # fmt: skip
        said = answer(self.run, classifier, image.image_set, label, points.p_star[place, 0], False)
        alt = f"{image.alt}, {caption}: taken for {said.label} by {classifier}"
        return Card(source, caption, alt, (said,), untouched)
