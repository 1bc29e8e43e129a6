"""What a user sees while work goes on: a bar with rate and time left, and single lines worth knowing."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as RichBar

from brittle.terminal import visible


class Progress:
    """Told how far the work is. This one shows nothing, and keeps the notes for whoever asks."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def start(self, total: int) -> None: ...

    def at(self, what: str) -> None: ...

    def advance(self, rows: int) -> None: ...

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)
            self.show(text)

    def show(self, text: str) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class Bar(Progress):
    """A bar on standard error, or only the notes when that is not a terminal."""

    def __init__(self) -> None:
        super().__init__()
        self.console = Console(stderr=True)
        self._bar = RichBar(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}", markup=False),
            TimeRemainingColumn(),
            console=self.console,
            disable=not sys.stderr.isatty(),
            transient=True,
        )
        self._task = self._bar.add_task("", total=None, rate="")

    def start(self, total: int) -> None:
        self._bar.update(self._task, total=total)

    def at(self, what: str) -> None:
        self._bar.update(self._task, description=visible(what))

    def advance(self, rows: int) -> None:
        task = self._bar.tasks[self._task]
        self._bar.update(self._task, advance=rows, rate=f"{task.speed:,.0f} images/s" if task.speed else "")

    def show(self, text: str) -> None:
        self.console.print(visible(text), markup=False, emoji=False, highlight=False, soft_wrap=True)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()
