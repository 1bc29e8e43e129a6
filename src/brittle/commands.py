"""Commands: how a measure that people use alone appears on the command line, told without importing the measure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class Command:
    """A command that carries out one measure; its parameters are the measure's options and those that all share.

    A measure's `options.py` holds one as `COMMAND`; other packages name theirs as entry points "brittle.commands".
    """

    name: str  # what a user types
    about: str  # one line of help
    measure: str  # its kind
    options: type  # the dataclass of options that the measure inherits
    images: int | None = None  # how many are measured unless a user says otherwise; None: all
    images_option: str | None = None  # the measure's own option of how many images, which follows the command's
    against: str | None = "compare with this classifier, paired; may be repeated"  # help; None: one classifier only
    nuisance: Literal["required", "optional", "none"] = "required"  # one or more, none or more
    train: bool = False  # whether a user may name the image set that classifiers were trained on
    out: str = "keep the run and its report in this folder"  # help
    reads: Mapping[str, type] = field(default_factory=dict)  # measures it is derived from: their options are its too
    unread: tuple[str, ...] = ()  # those of them that it has no use for
