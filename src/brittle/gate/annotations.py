"""GitHub annotations: lines that GitHub Actions shows beside a job and on a pull request.

The form is that of workflow commands, `::error title=…::…`, with %, line breaks, and in titles : and , escaped.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from brittle.gate.blocks import headline, more_images
from brittle.gate.junit import cases_of
from brittle.gate.verdict import WORDS, GateVerdict

MOST = 9  # GitHub shows ten of each sort per step


def wanted(asked: str) -> bool:
    """Whether annotations are printed: asked for, or in GitHub Actions."""
    return asked == "yes" or (asked == "auto" and os.environ.get("GITHUB_ACTIONS") == "true")


def annotations_of(verdict: GateVerdict) -> Iterator[str]:
    """The verdict, and what failed."""
    level = "error" if verdict.exit_status else "notice" if verdict.state == "passed" else "warning"
    yield _line(level, f"Robustness: {WORDS[verdict.state]}", headline(verdict))
    failed = [case for case in cases_of(verdict) if case.state == "failed"]
    for case in failed[:MOST]:
        yield _line("error", case.name, case.message)
    if verdict.in_state("unsure"):
        yield _line("warning", "Robustness can't be told yet", more_images(verdict))


def _line(level: str, title: str, message: str) -> str:
    return f"::{level} title={_property(title)}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
