"""Some stimuli, with what classifiers say of them."""

from __future__ import annotations

from collections.abc import Sequence

from brittle.images.cue_conflict import TEXTURE
from brittle.measures.clean.measure import clean_columns
from brittle.report.blocks import Block, Card, Group, Original, Pictures, Sentence, Strip
from brittle.report.page.section import MeasureRun
from brittle.report.sections.pictured import MOST_CLASSIFIERS, clean_answers, readable, shown_image

MOST_STIMULI = 8


def stimuli(run: MeasureRun, images: str, classifiers: Sequence[str]) -> list[Block]:
    """The first stimuli in planned order, not selected; or why there are none."""
    view, instead = readable(run, images)
    if view is None:
        return instead
    subject, cards = view.images[images], []
    clean = {name: clean_columns(view, name, images) for name in classifiers[:MOST_CLASSIFIERS]}
    for place in range(min(MOST_STIMULI, len(subject))):
        image, answers = shown_image(view, images, place), clean_answers(run, clean, images, place)
        above = f"{image.label}, {subject.columns[TEXTURE][place]}"
        cards.append(Card(Original(images, image.id), above, image.name, answers))
    note = Sentence("Above each its shape and its texture; ✓ where the answer is the shape.", "note")
    return [Group("Some stimuli, not selected", (note, Pictures((Strip(tuple(cards)),))))]
