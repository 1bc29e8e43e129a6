"""How far a run is, as the process that carries it out keeps it in progress.json: for whoever asks from elsewhere.

The record is told anew every few seconds, whatever happens, so that silence means that the process is gone. It is for
people alone: nothing depends on it, and where it can't be written the run goes on.
"""

from __future__ import annotations

import contextlib
import os
import platform
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from brittle.engine.job import Job
from brittle.engine.plan.missing import joined_spans
from brittle.engine.store.checked_json import checked_text, read_checked
from brittle.engine.store.lease import machine, started
from brittle.engine.store.place import Place
from brittle.engine.store.unit_store import Store
from brittle.errors import BrittleError
from brittle.progress import Progress

FILE = "progress.json"
EVERY, EVERY_REMOTE = 10.0, 30.0  # seconds
NOTES = 20  # the last that are kept
FINISHED = "finished"


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


class RecordedProgress(Progress):
    """Passes everything on to another progress, and keeps it in a run folder."""

    def __init__(self, told: Progress, folder: Place, job: Job, store: Store) -> None:
        self._told, self._place = told, folder / FILE
        self.notes = told.notes
        self._lock, self._end = threading.Lock(), threading.Event()
        self._every = EVERY_REMOTE if folder.remote else EVERY
        cells = [cell for each in job.assignments.values() if each.asked for cell in each.cells()]
        self._said: dict[str, Any] = {
            "process": os.getpid(),
            "host": platform.node(),
            "started": started(os.getpid()),
            **machine(),
            "began": now(),
            "every": self._every,
            "cells": [[*cell, len(job.plan(cell))] for cell in cells],
            "had": sum(span.end - span.first for cell in cells for span in joined_spans(store.done(cell))),
            "images": 0,
            "images_planned": 0,
            "at": "",
            "failed": {},
            "notes": [],
            "ended": None,
        }

    def counts(self, what: str) -> None:
        self._told.counts(what)

    def start(self, total: int) -> None:
        self._said["images_planned"] = total
        self._told.start(total)

    def at(self, what: str) -> None:
        self._said["at"] = what
        self._told.at(what)

    def advance(self, rows: int) -> None:
        self._said["images"] += rows
        self._told.advance(rows)

    def note(self, text: str) -> None:
        self._told.note(text)
        with self._lock:
            self._said["notes"] = self._told.notes[-NOTES:]

    def failed(self, what: str, why: str) -> None:
        self._told.failed(what, why)
        with self._lock:
            self._said["failed"][what] = why

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Writes the record now, every few seconds, and at the end, however that comes about."""
        self._write()
        writer = threading.Thread(target=self._write_now_and_then, name="progress", daemon=True)
        writer.start()
        ended = "interrupted"
        try:
            yield
            ended = FINISHED
        except Exception as error:
            ended = f"failed: {error}"
            raise
        finally:
            self._end.set()
            writer.join()
            self._said["ended"] = ended
            self._write()

    def _write_now_and_then(self) -> None:
        while not self._end.wait(self._every):
            self._write()

    def _write(self) -> None:
        with self._lock:
            text = checked_text(FILE, {**self._said, "told": now()})
        with contextlib.suppress(BrittleError, OSError):
            self._place.write(text)


def read_record(folder: Place) -> dict[str, Any]:
    return read_checked(folder / FILE, "Give the command that began the run again: it keeps how far it is.")
