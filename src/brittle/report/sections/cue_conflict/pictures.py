"""Some stimuli, with what classifiers say of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from brittle.images.cue_conflict import TEXTURE
from brittle.measures.clean.measure import clean_columns
from brittle.report.page.pictures import data_uri
from brittle.report.page.section import MeasureRun
from brittle.report.sections.answered import MOST_CLASSIFIERS, AnsweredPicture, clean_answers

MOST_STIMULI = 8


class Stimuli(NamedTuple):
    pictures: tuple[tuple[str, AnsweredPicture], ...] = ()  # with their names
    why_not: str = ""


def stimuli(run: MeasureRun, images: str, classifiers: Sequence[str]) -> Stimuli:
    """The first stimuli in planned order, not selected."""
    view, why_not = run.view, run.whole.why_unreadable(images)
    if view is None or why_not:
        return Stimuli(why_not=why_not)
    subject, chosen, made = view.images[images], view.job.images[images].images, []
    clean = {name: clean_columns(view, name, images) for name in classifiers[:MOST_CLASSIFIERS]}
    for place in range(min(MOST_STIMULI, len(subject))):
        caption = f"{subject.class_name(int(subject.labels[place]))}, {subject.columns[TEXTURE][place]}"
        uri = data_uri(chosen.batch([place]).images[0])
        answers = clean_answers(run, clean, images, place)
        made.append((subject.names[place], AnsweredPicture(uri, caption, answers)))
    return Stimuli(tuple(made))
