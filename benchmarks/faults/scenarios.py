"""What is done to the commands. A scenario yields what it tried: where that was, and what was wrong, if anything."""

from __future__ import annotations

import errno
import itertools
import os
import random
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from benchmarks.faults.bench import Bench
from benchmarks.faults.commands import Command
from benchmarks.faults.power_cut import Disk
from benchmarks.faults.shim import (
    CLOCK_BACK,
    CONTENTS,
    FAIL,
    FAIL_FROM_THEN_ON,
    KILL,
    KILL_HALFWAY,
    READS,
    WRITES,
    Fault,
)

ROOM = 64 << 20  # bytes of a disk that has room
SMALLEST = 1 << 14  # of a disk: what lies there of somebody else fills it already
DISKS, RIVALS, ERRORS = 25, 10, 20


@dataclass(frozen=True)
class Trial:
    """A command to be disturbed, and how often: all events with 100 `times`, every second with 50; killed at so many
    random moments."""

    bench: Bench
    command: Command
    draw: random.Random
    times: int
    kills: int

    @property
    def seconds(self) -> float:
        return self.bench.seconds[self.command.name]

    def moment(self) -> float:
        return self.draw.uniform(0, self.seconds)

    def events(self, most: int | None = None, *, between: bool = False) -> Iterator[int]:
        """The first, the second and so on; where there are more than `most`, only so many, spread evenly. Where events
        are left out, others of them if `between`."""
        count = self.bench.shim.events if most is not None else 0
        step = max(1, 100 // self.times, -(-count // (most or 1)))
        return itertools.count(step if between else 1, step)


class Tried(NamedTuple):
    where: str
    wrong: str = ""


Scenario = Callable[[Trial], Iterator[Tried]]
Base = Callable[[Trial], Path | None]


def kills_at_random(trial: Trial) -> Iterator[Tried]:
    """Each folder is killed in one to three times before the command may end; every second kill is a power cut."""
    bench, command, kills = trial.bench, trial.command, 0
    while kills < trial.kills:
        folder, moments = bench.fresh(), []
        for _ in range(min(trial.draw.randint(1, 3), trial.kills - kills)):
            moment, cut = trial.moment(), (kills + len(moments)) % 2 == 1
            disk = Disk(folder, bench.work / "flushed") if cut else None
            child = bench.start(command.line(bench.inputs, folder), folder, kept=disk and disk.kept)
            time.sleep(moment)
            child.kill()
            child.wait()
            lost = f", a power cut that took {disk.cut_power()} files" if disk else ""
            moments.append(f"after {moment:.2f} s{lost}")
        kills += len(moments)
        yield from map(Tried, moments[:-1])
        yield Tried(", ".join(moments), bench.finish(command, folder))


def power_cuts(trial: Trial) -> Iterator[Tried]:
    """One at the first event, at the second, and so on."""
    bench, command = trial.bench, trial.command
    bench.carry_out(command, bench.fresh())
    for event in trial.events():
        folder = bench.fresh()
        disk = Disk(folder, bench.work / "flushed")
        child = bench.start(command.line(bench.inputs, folder), folder, Fault(KILL, event), disk.kept)
        child.wait()
        if bench.shim.events < event:
            return
        lost = disk.cut_power()
        yield Tried(f"event {event}, which took {lost} files", bench.finish(command, folder))


def new(trial: Trial) -> None:
    return None


def begun(trial: Trial) -> Path:
    """A folder in which the command was killed at two thirds of its writes."""
    finished(trial)
    events, folder = trial.bench.shim.events, trial.bench.fresh()
    trial.bench.carry_out(trial.command, folder, Fault(KILL, 2 * events // 3))
    return trial.bench.set_aside()


def finished(trial: Trial) -> Path:
    ended = trial.bench.carry_out(trial.command, trial.bench.fresh())
    assert ended.status == 0, ended
    return trial.bench.set_aside()


def at_events(what: int, classes: int, base: Base = new, most: int | None = None) -> Scenario:
    """A fault at the first event, at the second, and so on until the command ends before it comes."""

    def tried(trial: Trial) -> Iterator[Tried]:
        folder = base(trial)
        trial.bench.carry_out(trial.command, trial.bench.fresh(folder), Fault(classes=classes))
        for event in trial.events(most, between=what == KILL):  # which power cuts leave out
            fault = Fault(what, event, classes, errno.EIO)
            wrong = trial.bench.disturb(trial.command, trial.bench.fresh(folder), fault)
            if wrong is None:
                return
            yield Tried(f"event {event}", wrong)

    return tried


def full_disks(trial: Trial) -> Iterator[Tried]:
    bench, command, count = trial.bench, trial.command, min(DISKS, trial.times)
    with mounted(bench, ROOM) as folder:
        bench.carry_out(command, folder)
        needed = used(folder)
    for place in range(count):
        size = SMALLEST + (needed - SMALLEST) * place // count
        with mounted(bench, size) as folder:
            wrong = bench.hear(bench.carry_out(command, folder)).complaint(1)
            remount(folder, f"size={ROOM}")
            yield Tried(f"{size:,} of {needed:,} bytes", wrong or bench.finish(command, folder))


def read_only(trial: Trial) -> Iterator[Tried]:
    bench, command = trial.bench, trial.command
    for base in (new, begun, finished):
        there = base(trial)
        with mounted(bench, ROOM) as folder:
            bench.fill(there)
            remount(folder, "ro")
            ended = bench.hear(bench.carry_out(command, folder))
            remount(folder, "rw")
            wrong = ended.complaint(1, 2) if ended.status else ""
            yield Tried(base.__name__, wrong or bench.finish(command, folder))


def two_at_once(trial: Trial) -> Iterator[Tried]:
    bench, command = trial.bench, trial.command
    for _ in range(min(RIVALS, trial.times)):
        folder, delay = bench.fresh(), trial.moment()
        line = command.line(bench.inputs, folder)
        first = bench.start(line, folder)
        time.sleep(delay)
        ends = [bench.hear(each.wait()) for each in (bench.start(line, folder), first)]
        wrong = next((each.complaint(2) for each in ends if each.status and each.complaint(2)), "")
        if all(each.status for each in ends):
            wrong = "neither came to its end"
        yield Tried(f"{delay:.2f} s apart", wrong or bench.compare(command, folder))


def reports(what: int, classes: int) -> Scenario:
    """A finished run's report, disturbed and written again: it is the same, and so is everything else in the folder."""

    def tried(trial: Trial) -> Iterator[Tried]:
        bench, base = trial.bench, finished(trial)
        bench.start(["report", str(bench.fresh(base) / trial.command.out)], bench.folder, Fault(classes=classes)).wait()
        for event in trial.events(ERRORS):
            folder = bench.fresh(base)
            line = ["report", str(folder / trial.command.out)]
            ended = bench.hear(bench.start(line, folder, Fault(what, event, classes, errno.EIO)).wait())
            if bench.shim.events < event:
                return
            wrong = ended.complaint(1) if ended.status > 0 else ""
            again = bench.start(line, folder).wait()
            wrong = wrong or (again.complaint(0) if again.status else "")
            yield Tried(f"event {event}", wrong or changed(base, folder))

    return tried


def reports_on_read_only(trial: Trial) -> Iterator[Tried]:
    bench, base = trial.bench, finished(trial)
    with mounted(bench, ROOM) as folder:
        bench.fill(base)
        remount(folder, "ro")
        for options in ([], ["--no-load"]):
            line = ["report", str(folder / trial.command.out), *options]
            ended = bench.hear(bench.start(line, folder).wait())
            yield Tried(" ".join(line[2:]) or "report", ended.complaint(1) or changed(base, folder))


def report_beside_run(trial: Trial) -> Iterator[Tried]:
    bench, command, base = trial.bench, trial.command, finished(trial)
    for _ in range(min(RIVALS, trial.times)):
        folder, delay = bench.fresh(base), trial.moment()
        first = bench.start(command.line(bench.inputs, folder), folder)
        time.sleep(delay)
        ends = [each.wait() for each in (bench.start(["report", str(folder / command.out)], folder), first)]
        wrong = next((each.complaint(0) for each in ends if each.status), "")
        yield Tried(f"{delay:.2f} s apart", wrong or bench.compare(command, folder))


def changed(before: Path, after: Path) -> str:
    """Files that differ."""
    first, second = contents(before), contents(after)
    names = {name for name, _ in first.items() ^ second.items()}
    return f"changed: {', '.join(sorted(names))}" if names else ""


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@contextmanager
def mounted(bench: Bench, size: int) -> Iterator[Path]:
    """The disturbed folder as a disk of its own."""
    folder = bench.folder
    folder.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], check=True, capture_output=True)
    try:
        bench.fill(None)
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def remount(folder: Path, options: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{options}", folder], check=True)


def used(folder: Path) -> int:
    found = os.statvfs(folder)
    return (found.f_blocks - found.f_bfree) * found.f_frsize


def can_mount(bench: Bench) -> bool:
    try:
        with mounted(bench, ROOM):
            return True
    except (OSError, subprocess.CalledProcessError):
        return False


EVERY: dict[str, Scenario] = {
    "SIGKILL at a random moment, every second a power cut": kills_at_random,
    "power cut before a write event": power_cuts,
    "SIGKILL before a write event": at_events(KILL, WRITES),
    "SIGKILL halfway through a write of bytes": at_events(KILL_HALFWAY, CONTENTS),
    "full disk (tmpfs of 25 sizes)": full_disks,
    "read-only mount (new, begun, finished)": read_only,
    "EIO at a write event": at_events(FAIL, WRITES, most=ERRORS),
    "EIO at a write event and ever after": at_events(FAIL_FROM_THEN_ON, WRITES, most=ERRORS),
    "EIO at a read event, resuming": at_events(FAIL, READS, begun, most=ERRORS),
    "EIO at a read event, finished before": at_events(FAIL, READS, finished, most=ERRORS),
    "clock set back by a day at a write event": at_events(CLOCK_BACK, WRITES, most=ERRORS),
    "clock set back by a day, resuming": at_events(CLOCK_BACK, WRITES, begun, most=ERRORS),
    "two processes at once": two_at_once,
}
REPORTS: dict[str, Scenario] = {
    "SIGKILL before a write event": reports(KILL, WRITES),
    "read-only mount (with and without --no-load)": reports_on_read_only,
    "EIO at a write event": reports(FAIL, WRITES),
    "EIO at a read event": reports(FAIL, READS),
    "while `run` is given again": report_beside_run,
}
NEED_MOUNTS = (full_disks, read_only, reports_on_read_only)
