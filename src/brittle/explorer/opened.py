"""A run folder that is open, and looked at again while it grows."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from dataclasses import replace
from pathlib import Path
from typing import Any

from brittle.engine.store.run_folder import RunFolder, UnfinishedRun
from brittle.explorer.described import described
from brittle.explorer.session import Session
from brittle.report.page.loaded import load, load_so_far
from brittle.report.page.shell import render
from brittle.report.sections import section_of

MOST_TICKETS = 16
MOST_LOOKED_AT = 20_000  # unit files


class OpenedRun:
    """The session of a run folder. Where the run is finished meanwhile, it is loaded anew; while it goes on, its rows
    are read anew."""

    def __init__(self, folder: Path) -> None:
        self.folder = RunFolder(folder)
        self.version, self._summed_up = self._stamp(), self._summary()
        self.session = Session(load(folder, unfinished=True))
        self._report = ""
        self._tickets: OrderedDict[str, str] = OrderedDict()

    @property
    def going(self) -> str:
        return (
            ""
            if self._ended()
            else "This run is still being computed, or was stopped: the page looks again every few seconds."
        )

    def described(self) -> dict[str, Any]:
        return described(self.session) | {"version": self.version, "going": self.going}

    def look_again(self) -> dict[str, Any]:
        """Says the version there is now; what has changed is read anew."""
        now, summed_up = self._stamp(), self._summary()
        if now != self.version:
            if summed_up != self._summed_up:
                self.session = self.session.of(load(self.folder.path, unfinished=True))
                self._report = ""
            else:
                self.session = self.session.of(replace(self.session.run, store=self.folder.store(self.session.run.job)))
            self.version, self._summed_up = now, summed_up
        return {"version": self.version}

    def ticket(self) -> dict[str, Any]:
        """An address under which the report is given once."""
        if not self._ended():
            run = load_so_far(self.folder.path)
            page = render(run, section_of).text if run.summary["measures"] else ""
        else:
            page = self._report = self._report or self._written() or render(self.session.run, section_of).text
        if not page:
            return {"uri": None}
        name = secrets.token_urlsafe(24)
        self._tickets[name] = page
        while len(self._tickets) > MOST_TICKETS:
            self._tickets.popitem(last=False)
        return {"uri": f"report/{name}"}

    def redeemed(self, ticket: str) -> str | None:
        return self._tickets.pop(ticket, None)

    def _ended(self) -> bool:
        """Whether all that the study asks for is summed up."""
        try:
            self.folder.read_summary()
        except UnfinishedRun:
            return False
        return True

    def _written(self) -> str:
        """The run's own report, where it is of this summary."""
        report, summary = self.folder.report, self.folder.summary
        try:
            if report.written() >= summary.written():
                return report.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            pass
        return ""

    def _summary(self) -> tuple[int, int]:
        return _of(self.folder.summary.local)

    def _stamp(self) -> str:
        """Changes when the folder gets new rows or another summary."""
        newest = count = 0
        for place, each in enumerate((self.folder.path / "units").local.rglob("*.parquet")):
            if place >= MOST_LOOKED_AT:
                break
            count, newest = count + 1, max(newest, _of(each)[0])
        return f"{self._summary()}-{_of(self.folder.begun.local)}-{count}-{newest}"


def _of(path: Path) -> tuple[int, int]:
    """When a file was written, and its size."""
    try:
        found = path.stat()
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size
