"""Progress in a notebook: one line beneath the cell, written again as the work goes on."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

from brittle.progress import IMAGES, Progress

EVERY = 0.5  # seconds between two updates


def in_notebook() -> bool:
    """Whether what is displayed goes to a notebook. Nothing is imported to find out."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")


class NotebookLine(Progress):
    """Needs no widgets; it is gone when the work is done."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self.clock, self.what, self.total, self.done = clock, "", 0, 0
        self._begun = self._said = clock()
        self._counted = IMAGES
        self._display: Any = None

    def counts(self, what: str) -> None:
        self._counted = what

    def start(self, total: int) -> None:
        self.total = total

    def at(self, what: str) -> None:
        self.what = what

    def advance(self, rows: int) -> None:
        self.done += rows
        now = self.clock()
        if now - self._said >= EVERY:
            rate = self.done / (now - self._begun)
            of = f" of {self.total:,} ({self.done / self.total:.0%})" if self.total else ""
            self._write(f"{self.what}: {self.done:,}{of} {self._counted}, {rate:,.0f} {self._counted}/s")
            self._said = now

    def show(self, text: str) -> None:
        print(text, file=sys.stderr)

    def _write(self, text: str) -> None:
        from IPython.display import display  # there, since this is a notebook

        line = {"text/plain": text}
        if self._display is None:
            self._display = display(line, raw=True, display_id=True)
        else:
            self._display.update(line, raw=True)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._display is not None and kind is None:
            self._write("")
