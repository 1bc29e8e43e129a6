"""What classifiers say of pictures."""

from __future__ import annotations

from typing import Any

import numpy as np

from brittle.report.blocks import Answer
from brittle.report.page.section import MeasureRun

MOST_CLASSIFIERS = 4


def answer_of(run: MeasureRun, name: str, images: str, row: Any) -> Answer:
    """What a row of outcomes says."""
    predicted = int(row["predicted"])
    label = run.whole.label_names(name, images)(predicted)
    return Answer(name, label, float(np.exp(float(row["log_p_predicted"]))), bool(row["rank"] == 0), predicted)


def clean_answers(run: MeasureRun, clean: dict[str, dict[str, Any]], images: str, place: int) -> tuple[Answer, ...]:
    """What each classifier says of an untouched image."""
    return tuple(
        answer_of(run, name, images, {key: values[place] for key, values in columns.items()})
        for name, columns in clean.items()
    )
