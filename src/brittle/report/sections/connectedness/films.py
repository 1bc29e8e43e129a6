"""Film strips: the images on a connecting path, as they were kept."""

from __future__ import annotations

from typing import Any

import torch

from brittle.measures.connectedness.search import CURVED
from brittle.measures.connectedness.tables import PICTURES, kept_paths
from brittle.report.page.pictures import EXACT_UP_TO
from brittle.report.page.section import MeasureRun

MOST_FILMS = 12  # of one classifier and image set


def films(run: MeasureRun, classifier: str, images: str) -> list[dict[str, Any]]:
    """The paths to show, curved ones first; none where the rows can't be read any more."""
    view = run.view
    if view is None or classifier not in view.classifiers:
        return []
    labels = run.whole.job.facts[classifier].labels
    shown = []
    for path in kept_paths(view.table(view.cell(classifier, images), PICTURES)):
        frames = torch.from_numpy(path["frames"])
        shown.append(
            {
                "label": labels[path["label"]],
                "image": path["image"],
                "other": path["other"],
                "curved": path["how"] == CURVED,
                "small": max(frames.shape[-2:]) <= EXACT_UP_TO,
                "frames": [
                    {"pixels": pixels, "margin": float(margin), "t": place / (len(frames) - 1)}
                    for place, (pixels, margin) in enumerate(zip(frames, path["margin"], strict=True))
                ],
            }
        )
    return sorted(shown, key=lambda film: not film["curved"])[:MOST_FILMS]
