"""Film strips: one image along its path, with what every classifier says and where it fails (CNS-Bench, figure 1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from brittle.measures.failure_points.measure import FailurePoints
from brittle.measures.failure_points.trajectories import Trajectories, trajectories
from brittle.report.blocks import Block, Pictures, Sentence
from brittle.report.blocks.pictures import Answer, Card, Drawn, Original, Strip
from brittle.report.page.section import MeasureRun, Row
from brittle.report.sections.pictured import MOST_CLASSIFIERS, answer, readable, shown_image

MOST_IMAGES, MOST_FRAMES = 4, 9


def films(run: MeasureRun, rows: Sequence[Row]) -> list[Block]:
    """Images that the classifiers get right at the lowest severity, from the first that fails to the last; or why there
    are none."""
    images, nuisance, classifiers = rows[0]["image_set"], rows[0]["nuisance"], [row["classifier"] for row in rows]
    view, instead = readable(run, images, nuisance, classifiers)
    if view is None:
        return instead
    names = run.whole.seen_by(nuisance, classifiers)[:MOST_CLASSIFIERS]
    measure = view.job.assignments[run.name].measure
    assert isinstance(measure, FailurePoints)
    grid = measure.grid(view.about(view.cell(names[0], images, nuisance)))
    values, severities, count = (0.0, *grid.values), [0.0, *grid.tensor().tolist()], len(grid.values)
    found = {name: trajectories(view, name, images, nuisance) for name in names}
    first = np.stack([each.first[:, 0] for each in found.values()])  # (classifiers, M)
    begin = found[names[0]].begin
    usable = np.flatnonzero((first > begin).all(0) & (first <= count).any(0))
    if not len(usable):
        return [Sentence(f"No image that is right at {values[begin]:g} fails along its path.", "note")]
    order = usable[np.argsort(first[:, usable].mean(0), kind="stable")]
    chosen = order[np.unique(np.linspace(0, len(order) - 1, MOST_IMAGES).round().astype(int))]
    saw = names[0] if run.whole.job.needs(nuisance) else ""
    strips = []
    for each in chosen.tolist():
        image = shown_image(view, images, int(found[names[0]].places[each]))
        cards = []
        for at in _shown(first[:, each], begin, count):
            made = Drawn(images, image.id, nuisance, 0, severities[at], classifier=saw)
            answers = tuple(_answers(run, images, found, each, at))
            fails, value = any(said.first for said in answers), f"{values[at]:g}"
            caption = f"{value}: fails" if fails else value
            if at == begin:
                caption = f"{image.label}, at {value}" if values[at] else image.label
            source = made if at else Original(images, image.id)
            cards.append(Card(source, caption, f"{image.alt}, at {value}", answers, role="fails" if fails else ""))
        strips.append(Strip(tuple(cards)))
    note = (
        f"Images that all shown classifiers get right at {values[begin]:g}, from one that fails early to one that "
        "fails late. Framed in red: some classifier fails here for the first time."
    )
    return [Sentence(note, "note"), Pictures(tuple(strips), "film")]


def _shown(first: np.ndarray[tuple[int], np.dtype[np.int64]], begin: int, count: int) -> list[int]:
    """Places along the grid: all of a short one, otherwise the first, every failure and what lies between."""
    if count < MOST_FRAMES:
        return list(range(begin, count + 1))
    wanted = {begin, *(int(at) for at in first if at <= count)}
    for at in np.linspace(begin, count, MOST_FRAMES).round().astype(int).tolist():
        if len(wanted) < MOST_FRAMES:
            wanted.add(at)
    return sorted(wanted)


def _answers(run: MeasureRun, images: str, found: Mapping[str, Trajectories], image: int, at: int) -> Iterator[Answer]:
    for name, paths in found.items():
        if paths.seen[image, 0, at]:
            p, right = np.exp(paths.log_p_predicted[image, 0, at]), not paths.wrong[image, 0, at]
            first = int(paths.first[image, 0]) == at
            yield answer(run, name, images, int(paths.predicted[image, 0, at]), p, right, first=first)
