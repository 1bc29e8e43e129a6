"""What a user sees while work goes on: a bar with rate and time left, and single lines worth knowing."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as RichBar

from brittle.terminal import visible

IMAGES = "images"
EVERY = 30.0  # seconds between two lines where there is no terminal


class Progress:
    """Told how far the work is. This one shows nothing, and keeps the notes for whoever asks."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def counts(self, what: str) -> None:
        """What is counted, in the plural: images as they are shown to classifiers, unless something else is said."""

    def start(self, total: int) -> None: ...

    def at(self, what: str) -> None: ...

    def advance(self, rows: int) -> None: ...

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)
            self.show(text)

    def show(self, text: str) -> None: ...

    def failed(self, what: str, why: str) -> None:
        """Told of units that are given up; the run ends with an error that names them."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class ProgressLines:
    """How far the work is, in a line now and then: what a log file can show of it."""

    def __init__(self, write: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self.write, self.clock = write, clock
        self.what, self.total, self.done, self.counted = "", 0, 0, IMAGES
        self._said, self._told = clock(), 0

    def advance(self, rows: int) -> None:
        self.done += rows
        now = self.clock()
        if now - self._said >= EVERY:
            self.write(self._line((self.done - self._told) / (now - self._said)))
            self._said, self._told = now, self.done

    def _line(self, rate: float) -> str:
        """The rate is that since the last line: what a run is resumed from took no time."""
        said = f"{self.done:,}" + (
            f" of {self.total:,} {self.counted} ({self.done / self.total:.0%})" if self.total else f" {self.counted}"
        )
        left = f", about {duration((self.total - self.done) / rate)} left" if self.total > self.done and rate else ""
        return f"{self.what + ': ' if self.what else ''}{said}, {rate:,.0f} {self.counted}/s{left}"


def duration(seconds: float) -> str:
    """ "40 s", "12 min", "3 h 05 min"."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min"


class ProgressBar(Progress):
    """A bar on standard error; where that is not a terminal, a line now and then."""

    def __init__(self) -> None:
        super().__init__()
        self.console = Console(stderr=True)
        self._lines = None if sys.stderr.isatty() else ProgressLines(self.show)
        self._bar = RichBar(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}", markup=False),
            TimeRemainingColumn(),
            console=self.console,
            disable=self._lines is not None,
            transient=True,
        )
        self._task = self._bar.add_task("", total=None, rate="")
        self._counted = IMAGES

    def counts(self, what: str) -> None:
        self._counted = what
        if self._lines is not None:
            self._lines.counted = what

    def start(self, total: int) -> None:
        if self._lines is not None:
            self._lines.total = total
        self._bar.update(self._task, total=total)

    def at(self, what: str) -> None:
        if self._lines is not None:
            self._lines.what = what
        self._bar.update(self._task, description=visible(what))

    def advance(self, rows: int) -> None:
        if self._lines is not None:
            self._lines.advance(rows)
            return
        task = self._bar.tasks[self._task]
        self._bar.update(self._task, advance=rows, rate=f"{task.speed:,.0f} {self._counted}/s" if task.speed else "")

    def show(self, text: str) -> None:
        self.console.print(visible(text), markup=False, emoji=False, highlight=False, soft_wrap=True)

    def __enter__(self) -> Self:
        if not self._bar.disable:  # older versions of rich end even a bar that they do not show with an empty line
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._bar.disable:
            self._bar.stop()
