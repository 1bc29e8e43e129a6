"""What callers from Python see while something is computed: progress, and warnings as their own."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext

from brittle.errors import BrittleWarning
from brittle.notebook import NotebookLine, in_notebook
from brittle.progress import Progress, ProgressBar

ProgressOption = Progress | bool | None  # progress: by default in a terminal or a notebook; never with False

_WARNED: set[str] = set()  # warnings, in this process
_OURS = os.path.join(os.path.dirname(os.path.dirname(__file__)), "")


def progress_shown(progress: ProgressOption) -> AbstractContextManager[Progress]:
    """Where progress is to be seen. One that was given is the caller's to begin and to end."""
    if isinstance(progress, Progress):
        return nullcontext(progress)
    if progress is not False and in_notebook():
        return NotebookLine()
    if progress or (progress is None and sys.stderr is not None and sys.stderr.isatty()):
        return ProgressBar()
    return Progress()


def unshown_notes(progress: Progress) -> list[str]:
    """What was noted while no progress was shown."""
    return progress.notes if type(progress) is Progress else []


def warn(texts: Iterable[str]) -> None:
    """As warnings of whoever called Brittle. In a notebook, whose cells are run again and again, each is said once."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OURS):
        frame, level = frame.f_back, level + 1
    notebook = in_notebook()
    for text in dict.fromkeys(texts):
        if not (notebook and text in _WARNED):
            warnings.warn(text, BrittleWarning, stacklevel=level)
        _WARNED.add(text)
