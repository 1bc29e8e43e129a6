"""Cue conflict (Geirhos et al. 2019): how often a classifier answers with the shape of a stimulus, and how often with
its texture. Derived from clean predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from brittle.errors import BrittleError
from brittle.images.cue_conflict import TEXTURE
from brittle.measures import register
from brittle.measures.base import About, MeasureInputs, RunView
from brittle.measures.cue_conflict.options import CueConflictOptions
from brittle.measures.cue_conflict.summary import summarise_cue_conflict
from brittle.measures.deciders import FromDecisions

KIND = "cue-conflict"


@register(KIND)
@dataclass(frozen=True)
class CueConflict(CueConflictOptions, FromDecisions):
    """Shape bias: of answers that are a stimulus's shape or texture, the share that is the shape."""

    def check(self, about: About, asked: MeasureInputs) -> None:
        super().check(about, asked)
        if TEXTURE not in about.subject.columns:
            raise BrittleError(
                f"{KIND}: the images of {about.images!r} have no column {TEXTURE!r}",
                "Give stimuli, such as cue-conflict:FOLDER; in a study, name them: images = […].",
            )

    def summarise(self, run: RunView) -> dict[str, Any]:
        return summarise_cue_conflict(self, run)
