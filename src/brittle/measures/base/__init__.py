"""All that a measure is written with: the protocol, its task, what is known beforehand, and the run read back."""

from brittle.measures.base.facts import About, Asked, ClassifierFacts, Subject, tested
from brittle.measures.base.measure import CLASSIFIER, IMAGES, NUISANCE, PATH, Derived, Measure, Read
from brittle.measures.base.run_view import Cell, Fold, RunView, pairs_of
from brittle.measures.base.task import (
    ROWS,
    BadAnswer,
    Given,
    Pairs,
    Pending,
    Piece,
    Tables,
    Task,
    draw_column,
    looked_up,
    numbering_draws,
)

__all__ = [
    "CLASSIFIER",
    "IMAGES",
    "NUISANCE",
    "PATH",
    "ROWS",
    "About",
    "Asked",
    "BadAnswer",
    "Cell",
    "ClassifierFacts",
    "Derived",
    "Fold",
    "Given",
    "Measure",
    "Pairs",
    "Pending",
    "Piece",
    "Read",
    "RunView",
    "Subject",
    "Tables",
    "Task",
    "draw_column",
    "looked_up",
    "numbering_draws",
    "pairs_of",
    "tested",
]
