"""Starts commands as children of a process that has everything imported, and judges how they ended."""

from __future__ import annotations

import os
import re
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.faults.commands import Command, finished_units
from benchmarks.faults.shim import UNDISTURBED, Fault, Shim

LONGEST = 120  # seconds
FOREIGN = "somebody else's\n"
OUTSIDE = ("notes.tmp", "weights.safetensors.mine.tmp", "weights.safetensors.bak", ".weights.safetensors.lock.mine")
INSIDE = ("notes.tmp", "units/notes.tmp", "rounds/notes.tmp", "report.html.mine.tmp")
UNHANDLED = ("Traceback", "Exception ignored", "BRITTLE_TRACEBACK")


class Ended(NamedTuple):
    """How a command ended; the negative number of a signal that killed it."""

    status: int
    said: str  # on standard error

    @property
    def told(self) -> list[str]:
        return [line for line in self.said.splitlines() if line.startswith("brittle: ")]

    def complaint(self, *statuses: int) -> str:
        """What is wrong with how a failure was told: it must be one line, with one of these statuses."""
        if self.status not in statuses:
            return f"status {self.status}: {self.said.strip()[-400:]}"
        if len(self.told) != 1 or any(word in self.said for word in UNHANDLED):
            return f"not told in one line: {self.said.strip()[-400:]}"
        return ""


class Child(NamedTuple):
    """A command that is on its way."""

    pid: int
    said: Any

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> Ended:
        _, status = os.waitpid(self.pid, 0)
        self.said.seek(0)
        with self.said:
            return Ended(os.waitstatus_to_exitcode(status), self.said.read().decode(errors="replace"))


@dataclass
class Bench:
    """A folder of inputs and one to be disturbed in."""

    work: Path
    shim: Shim = field(default_factory=Shim)
    usual: dict[str, Any] = field(default_factory=dict)  # by command: what an undisturbed one leaves
    seconds: dict[str, float] = field(default_factory=dict)
    heard: set[str] = field(default_factory=set)  # every complaint

    @property
    def inputs(self) -> Path:
        return self.work / "inputs"

    def settle(self, command: Command) -> None:
        """Finds out what an undisturbed command leaves, and how long it takes."""
        for _ in range(2):
            folder, begun = self.fresh(), time.monotonic()
            ended = self.carry_out(command, folder)
            self.seconds[command.name] = time.monotonic() - begun
            assert ended.status == 0, ended
            remove_foreign(folder)
            left = command.left(folder)
            assert self.usual.setdefault(command.name, left) == left, f"{command.name} is not repeatable"

    @property
    def folder(self) -> Path:
        """Where commands are disturbed: always here, since a hardening names its folder in what it writes."""
        return self.work / "disturbed"

    def fresh(self, copied: Path | None = None) -> Path:
        """The folder with nothing in it but files of somebody else, or what another held."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        self.fill(copied)
        return self.folder

    def fill(self, copied: Path | None) -> None:
        add_foreign(self.folder)
        if copied is not None:
            shutil.copytree(copied, self.folder, dirs_exist_ok=True)

    def set_aside(self) -> Path:
        """What the folder holds now, for copies of it."""
        aside = self.work / "aside"
        shutil.rmtree(aside, ignore_errors=True)
        shutil.copytree(self.folder, aside)
        return aside

    def start(self, line: list[str], folder: Path, fault: Fault = UNDISTURBED, kept: Path | None = None) -> Child:
        """What the command flushes is `kept` there."""
        said = tempfile.TemporaryFile(dir=self.work)  # noqa: SIM115
        self.shim.reset()
        sys.stdout.flush()
        pid = os.fork()
        if pid == 0:
            self._child(line, folder, fault, said.fileno(), kept)
        return Child(pid, said)

    def _child(self, line: list[str], folder: Path, fault: Fault, said: int, kept: Path | None) -> None:
        status = 70
        try:
            signal.alarm(LONGEST)
            os.chdir(self.work)
            nowhere = os.open(os.devnull, os.O_RDWR)
            for place, to in enumerate((nowhere, nowhere, said)):
                os.dup2(to, place)
            sys.argv = ["brittle", *line]
            from brittle.cli import main

            self.shim.arm(folder, fault)
            if kept is not None:
                self.shim.keep_flushed(kept)
            try:
                main()
            except SystemExit as stop:
                status = int(stop.code or 0)
            threading._shutdown()  # type: ignore[attr-defined]
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(status)

    def carry_out(self, command: Command, folder: Path, fault: Fault = UNDISTURBED) -> Ended:
        return self.start(command.line(self.inputs, folder), folder, fault).wait()

    def disturb(self, command: Command, folder: Path, fault: Fault) -> str | None:
        """One command with a fault, then the same one undisturbed: what went wrong; None where there was no fault."""
        before = finished_units(folder)
        ended = self.hear(self.carry_out(command, folder, fault))
        if self.shim.events < fault.at:
            return None
        wrong = "" if ended.status in (0, -signal.SIGKILL) else ended.complaint(1)
        if gone := before - finished_units(folder):
            wrong = f"{len(gone)} finished units are gone"
        if not wrong and ended.status == 0:  # a fault that did no harm
            copied = shutil.copytree(folder, self.work / "copied")
            wrong = self.compare(command, copied)
            shutil.rmtree(copied)
        add_foreign_inside(folder)
        return wrong or self.finish(command, folder)

    def finish(self, command: Command, folder: Path) -> str:
        """Gives the same command again, undisturbed; what is wrong with how it ends and what it leaves."""
        ended = self.carry_out(command, folder)
        return f"resuming: {ended.complaint(0)}" if ended.status else self.compare(command, folder)

    def compare(self, command: Command, folder: Path) -> str:
        """What differs from what an undisturbed command leaves."""
        if touched := remove_foreign(folder):
            return f"files of somebody else were touched: {', '.join(touched)}"
        try:
            left = command.left(folder)
        except Exception as error:
            return f"what it left can't be read: {type(error).__name__}: {error}"
        usual = self.usual[command.name]
        if left["files"] != usual["files"]:
            return f"other files than usual: {', '.join(sorted(set(left['files']) ^ set(usual['files'])))}"
        other = [key for key in usual if left[key] != usual[key]]
        return f"other {', '.join(other)} than undisturbed" if other else ""

    def hear(self, ended: Ended) -> Ended:
        """Remembers what was said, without what differs from time to time."""
        for line in ended.told:
            said = line.removeprefix("brittle: ").replace(f"{self.work}/", "")
            self.heard.add(re.sub(r"\d{9}-\d{9}", "…", re.sub(r"process \d+ on \S+", "process …", said)))
        return ended


def add_foreign(folder: Path) -> None:
    for name in OUTSIDE:
        (folder / name).write_text(FOREIGN)


def add_foreign_inside(folder: Path) -> None:
    """Files that somebody put into a run folder once it was one."""
    for begun in folder.rglob("begun.json"):
        for name in INSIDE:
            if (begun.parent / name).parent.is_dir():
                (begun.parent / name).write_text(FOREIGN)


def remove_foreign(folder: Path) -> list[str]:
    """Takes them away again, and says which had been touched by then."""
    wanted = [folder / name for name in OUTSIDE] + [
        path for name in INSIDE for path in folder.rglob(name) if path.parent != folder
    ]
    touched = [path.name for path in wanted if not path.is_file() or path.read_text() != FOREIGN]
    for path in wanted:
        path.unlink(missing_ok=True)
    return touched
