"""How every function of the public interface carries its work out: progress, warnings, and what a folder keeps."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import NamedTuple

from brittle.engine.assemble import Things
from brittle.engine.carry_out import Done, run_things
from brittle.engine.runs import named_folder
from brittle.errors import BrittleWarning
from brittle.notebook import NotebookLine, in_notebook
from brittle.progress import Bar, Progress
from brittle.report.html import report_of
from brittle.study import Study

Where = str | Sequence[str]  # conditions column=value
Ids = str | Sequence[int]  # ids, or the file that lists them
Shown = Progress | bool | None  # progress: by default in a terminal or a notebook; never with False

_SAID: set[str] = set()  # warnings, in this process
_OURS = os.path.join(os.path.dirname(os.path.dirname(__file__)), "")


class How(NamedTuple):
    """What of a call says how, and not what, it computes."""

    device: str | None = None
    batch: int | None = None
    out: str | Path | None = None
    progress: Shown = None
    engine: str = "local"
    workers: int | None = None

    @property
    def folder(self) -> Path | None:
        return None if self.out is None else named_folder(self.out)


def carried_out(things: Things, how: How, study: Study | None = None) -> Done:
    """The job, done. A folder also gets its report where some of its things are live, since only this process can
    make pictures of those."""
    with shown(how.progress) as progress:
        done = run_things(
            things,
            how.folder,
            study=study,
            device=how.device,
            batch=how.batch,
            engine=how.engine,
            workers=how.workers,
            progress=progress,
        )
    if done.folder is not None and (study is None or things.live):
        report_of(done)
    warn([*unseen(progress), *done.summary["warnings"]])
    return done


def shown(progress: Shown) -> AbstractContextManager[Progress]:
    """Where progress is to be seen. One that was given is the caller's to begin and to end."""
    if isinstance(progress, Progress):
        return nullcontext(progress)
    if progress is not False and in_notebook():
        return NotebookLine()
    if progress or (progress is None and sys.stderr is not None and sys.stderr.isatty()):
        return Bar()
    return Progress()


def unseen(progress: Progress) -> list[str]:
    """What was noted while nobody looked."""
    return progress.notes if type(progress) is Progress else []


def warn(texts: Iterable[str]) -> None:
    """As warnings of whoever called Brittle. In a notebook, whose cells are run again and again, each is said once."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OURS):
        frame, level = frame.f_back, level + 1
    notebook = in_notebook()
    for text in dict.fromkeys(texts):
        if not (notebook and text in _SAID):
            warnings.warn(text, BrittleWarning, stacklevel=level)
        _SAID.add(text)
