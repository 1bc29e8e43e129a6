"""Images as more and more of them is hidden, with what classifiers said of each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow.compute as pc
import torch

from brittle.engine.view import View
from brittle.measures.occlusion.measure import Occlusion
from brittle.report.blocks import Answer, At, Block, Card, Original, Pictures, Sentence, Strip
from brittle.report.page.section import MeasureRun
from brittle.report.sections.occlusion import words
from brittle.types import HidesShare

IMAGES, CLASSIFIERS, SHARES = 3, 4, 5


def pictures(run: MeasureRun, images: str, nuisance: str, classifiers: Sequence[str]) -> list[Block]:
    """The first images in planned order, of different classes while there are some."""
    view, why_not = run.view, run.whole.why_unreadable(images, nuisance, classifiers)
    if view is None or why_not:
        return [Sentence(why_not, "note")] if why_not else []
    seeing = run.whole.seen_by(nuisance, classifiers)[:CLASSIFIERS]
    own = ""
    if view.job.needs(nuisance):
        own = f", as {seeing[0]} sees them: what this nuisance hides differs by classifier"
    _, firsts = np.unique(view.images[images].labels, return_index=True)
    strips = [_strip(run, view, images, nuisance, seeing, place) for place in sorted(firsts.tolist())[:IMAGES]]
    said = f"The first images of different classes with one mask that grows{own}."
    return [Sentence(said, "note"), Pictures(tuple(strips))]


def _strip(run: MeasureRun, view: View, images: str, nuisance: str, seeing: Sequence[str], place: int) -> Strip:
    """One image with one mask that grows."""
    measure, space, subject = view.job.assignments[run.name].measure, view.nuisances[nuisance], view.images[images]
    assert isinstance(measure, Occlusion)
    shares = measure.shares_of(space)
    theta = run.whole.replay(images, nuisance, seeing[0]).theta(place, 0).expand(len(shares), -1)
    if isinstance(space, HidesShare) and shares[0] is not None:
        theta = space.with_share(theta, torch.tensor(shares, dtype=torch.float64))
    image, label = int(subject.ids[place]), subject.class_name(int(subject.labels[place]))
    alt = f"{subject.names[place]}, {label}"
    answers = {name: _answers(run, view, name, images, nuisance, image) for name in seeing}
    cards = [Card(Original(images, image), label, f"{alt}: original")]
    for at in words.some(shares, SHARES):
        source = At(images, image, nuisance, tuple(theta[at].tolist()), classifier=seeing[0])
        said, hidden = tuple(found[at] for found in answers.values()), words.share(shares[at])
        cards.append(Card(source, hidden, f"{alt}: {hidden} hidden", said))
    return Strip(tuple(cards))


def _answers(run: MeasureRun, view: View, classifier: str, images: str, nuisance: str, image: int) -> list[Answer]:
    """What was said of an image's first mask at every share."""
    cell = view.cell(classifier, images, nuisance)
    rows = run.once(("rows", cell), lambda: view.table(cell))
    here = rows.filter(pc.and_(pc.equal(rows["image"], image), pc.equal(rows["repeat"], 0))).sort_by("place")
    columns = (here[name].to_pylist() for name in ("predicted", "log_p_predicted", "rank"))
    named = run.whole.label_names(classifier, images)
    return [
        Answer(classifier, named(predicted), float(np.exp(log_p)), rank == 0, predicted)
        for predicted, log_p, rank in zip(*columns, strict=True)
    ]
