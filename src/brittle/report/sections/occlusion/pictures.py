"""Images as more and more of them is hidden, with what classifiers said of each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow.compute as pc
import torch

from brittle.engine.view import MeasureView
from brittle.measures.occlusion.measure import Occlusion
from brittle.report.blocks import Block, Pictures, Sentence
from brittle.report.blocks.pictures import Answer, At, Card, Strip
from brittle.report.page.section import MeasureRun
from brittle.report.sections.occlusion import words
from brittle.report.sections.pictured import MOST_CLASSIFIERS, answer_of, readable, shown_image
from brittle.types import HidesShare

IMAGES, SHARES = 3, 5


def pictures(run: MeasureRun, images: str, nuisance: str, classifiers: Sequence[str]) -> list[Block]:
    """The first images in planned order, of different classes while there are some."""
    view, instead = readable(run, images, nuisance, classifiers)
    if view is None:
        return instead
    seeing = run.whole.seen_by(nuisance, classifiers)[:MOST_CLASSIFIERS]
    own = ""
    if view.job.needs(nuisance):
        own = f", as {seeing[0]} sees them: what this nuisance hides differs by classifier"
    _, firsts = np.unique(view.images[images].labels, return_index=True)
    strips = [_strip(run, view, images, nuisance, seeing, place) for place in sorted(firsts.tolist())[:IMAGES]]
    said = f"The first images of different classes with one mask that grows{own}."
    return [Sentence(said, "note"), Pictures(tuple(strips))]


def _strip(run: MeasureRun, view: MeasureView, images: str, nuisance: str, seeing: Sequence[str], place: int) -> Strip:
    """One image with one mask that grows."""
    measure, space = view.job.assignments[run.name].measure, view.nuisances[nuisance]
    assert isinstance(measure, Occlusion)
    shares = measure.shares_of(space)
    theta = run.whole.replay(images, nuisance, seeing[0]).theta(place, 0).expand(len(shares), -1)
    if isinstance(space, HidesShare) and shares[0] is not None:
        theta = space.with_share(theta, torch.tensor(shares, dtype=torch.float64))
    image = shown_image(view, images, place)
    answers = [_answers(run, view, name, images, nuisance, image.id) for name in seeing]
    cards = [image.original()]
    for at in words.some(shares, SHARES):
        source = At(images, image.id, nuisance, tuple(theta[at].tolist()), classifier=seeing[0])
        said, hidden = tuple(found[at] for found in answers), words.share(shares[at])
        cards.append(Card(source, hidden, f"{image.alt}: {hidden} hidden", said))
    return Strip(tuple(cards))


def _answers(
    run: MeasureRun, view: MeasureView, classifier: str, images: str, nuisance: str, image: int
) -> list[Answer]:
    """What was said of an image's first mask at every share."""
    cell = view.cell(classifier, images, nuisance)
    rows = run.once(("rows", cell), lambda: view.table(cell))
    here = rows.filter(pc.and_(pc.equal(rows["image"], image), pc.equal(rows["repeat"], 0))).sort_by("place")
    return [answer_of(run, classifier, images, row) for row in here.to_pylist()]
