"""Some stimuli, with what classifiers say of them."""

from __future__ import annotations

from collections.abc import Sequence

from brittle.images.cue_conflict import TEXTURE
from brittle.measures.clean.measure import clean_columns
from brittle.report.blocks import Block, Card, Group, Original, Pictures, Sentence, Strip
from brittle.report.page.section import MeasureRun
from brittle.report.sections.answered import MOST_CLASSIFIERS, clean_answers

MOST_STIMULI = 8


def stimuli(run: MeasureRun, images: str, classifiers: Sequence[str]) -> list[Block]:
    """The first stimuli in planned order, not selected; or why there are none."""
    view, why_not = run.view, run.whole.why_unreadable(images)
    if why_not:
        return [Sentence(why_not, "note")]
    if view is None:
        return []
    subject = view.images[images]
    clean = {name: clean_columns(view, name, images) for name in classifiers[:MOST_CLASSIFIERS]}
    cards = tuple(
        Card(
            Original(images, int(subject.ids[place])),
            f"{subject.class_name(int(subject.labels[place]))}, {subject.columns[TEXTURE][place]}",
            subject.names[place],
            clean_answers(run, clean, images, place),
        )
        for place in range(min(MOST_STIMULI, len(subject)))
    )
    note = Sentence("Above each its shape and its texture; ✓ where the answer is the shape.", "note")
    return [Group("Some stimuli, not selected", (note, Pictures((Strip(cards),))))]
