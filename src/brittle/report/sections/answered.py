"""Pictures with what classifiers say of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from brittle.report.page.section import MeasureRun

MOST_CLASSIFIERS = 4


class Answer(NamedTuple):
    classifier: str
    label: str
    probability: float
    right: bool


class AnsweredPicture(NamedTuple):
    uri: str
    caption: str
    answers: tuple[Answer, ...]


def answer_of(run: MeasureRun, name: str, images: str, row: Any) -> Answer:
    """What a row of outcomes says."""
    label = run.whole.label_names(name, images)(int(row["predicted"]))
    return Answer(name, label, float(np.exp(float(row["log_p_predicted"]))), bool(row["rank"] == 0))


def clean_answers(run: MeasureRun, clean: dict[str, dict[str, Any]], images: str, place: int) -> tuple[Answer, ...]:
    """What each classifier says of an untouched image."""
    return tuple(
        answer_of(run, name, images, {key: values[place] for key, values in columns.items()})
        for name, columns in clean.items()
    )
