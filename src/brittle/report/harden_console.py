"""A hardening on the console: the rounds, which was chosen and why, and before and after."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, Protocol

from brittle.report.console import as_text, console_of, print_found, show, text_of
from brittle.report.renderers.console import line, printed
from brittle.report.sections.before_after.brief import printed_outcome, printed_rounds
from brittle.terminal import visible_values


class HardeningSettings(Protocol):
    @property
    def criterion(self) -> str: ...


class HardenedRun(Protocol):
    @property
    def summary(self) -> Mapping[str, Any]:
        """What harden.json holds."""
        ...

    @property
    def found(self) -> Mapping[str, Any]:
        """The summary of the run of before and after."""
        ...


def print_criterion(settings: HardeningSettings) -> None:
    """How the round will be chosen, before anything is done."""
    show(console_of(sys.stdout), line(f"to be chosen: {settings.criterion}"))


def print_hardened(done: HardenedRun) -> None:
    console, summary = console_of(sys.stdout), visible_values(dict(done.summary))
    for each in (*printed(printed_rounds(summary)), line()):
        show(console, each)
    print_found(done.found)
    for each in (line(), *printed(printed_outcome(summary))):
        show(console, each)


def hardened_text(done: HardenedRun) -> str:
    """The same as text."""
    summary = visible_values(dict(done.summary))
    rounds, outcome = (text_of(*printed(blocks(summary))) for blocks in (printed_rounds, printed_outcome))
    return "\n".join([rounds, "", as_text(done.found), "", outcome])
