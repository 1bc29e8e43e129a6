"""What is done to runs on Ray: a worker is stopped, as by a debugger or a machine that hangs, and never goes on; one is
killed; sessions of one process and of 1, 2 and 4 workers, each killed, continue one another.

Workers are processes of their own, in which nothing is imported beforehand and units have their usual size. So the
command runs in one too, and is held against an undisturbed run of the local engine.
"""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.faults.commands import rows
from benchmarks.faults.scenarios import Scenario, Trial, Tried

WORKERS, LIMIT = 2, 5  # seconds per unit
MOST = 17  # trials of a scenario, each of which takes a minute on a busy machine
SESSIONS = (("--engine", "local"), *(("--engine", "ray", "--workers", str(count)) for count in (1, 2, 4)))
LONGEST_SESSION = 12  # seconds before one is killed
LONGEST = 300  # seconds
CLOSE = 1e-6  # of log-probabilities
WORKER = b"ray::RemoteWorker"
STUDY = """
nuisances = ["geometry", "noises", "blurs"]

[classifiers]
plain = "bundled:plain"

[images]
sample = { spec = "sample", count = 100 }

[robustness]
samples = 20
"""  # many units, each far below the limit


def stopped_workers(trial: Trial) -> Iterator[Tried]:
    study, usual = undisturbed(trial.bench.work / "ray")
    for _ in range(min(MOST, trial.times)):
        out, delay = study.parent / "out", trial.draw.uniform(0, 8)
        shutil.rmtree(out, ignore_errors=True)
        ray = ("--engine", "ray", "--workers", str(WORKERS), "--time-limit", str(LIMIT))
        command = started(study, out, *ray)
        pid = disturb_one(command, delay, signal.SIGSTOP)
        wrong = ended(command)
        if pid and not wrong and state(pid) == "T":
            wrong = "the stopped worker is still there"
        yield Tried(f"{delay:.1f} s after a worker was there", wrong or other_rows(usual, rows(out)))


def killed_workers(trial: Trial) -> Iterator[Tried]:
    study, usual = undisturbed(trial.bench.work / "ray")
    for _ in range(min(MOST, trial.times)):
        out, delay = study.parent / "out", trial.draw.uniform(0, 8)
        shutil.rmtree(out, ignore_errors=True)
        command = started(study, out, "--engine", "ray", "--workers", str(WORKERS))
        disturb_one(command, delay, signal.SIGKILL)
        yield Tried(f"{delay:.1f} s after a worker was there", ended(command) or other_rows(usual, rows(out)))


def killed_sessions(trial: Trial) -> Iterator[Tried]:
    """Three drivers are killed, whatever they use, and a fourth finishes what they began."""
    study, usual = undisturbed(trial.bench.work / "ray")
    for _ in range(min(MOST, trial.times)):
        out, told = study.parent / "out", []
        shutil.rmtree(out, ignore_errors=True)
        for last in (False, False, False, True):
            session, delay = trial.draw.choice(SESSIONS), trial.draw.uniform(2, LONGEST_SESSION)
            told.append(" ".join(session[1::2]) + ("" if last else f" for {delay:.1f} s"))
            command = started(study, out, *session)
            if not last:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    command.wait(delay)
                command.kill()
                command.communicate()
        yield Tried(", ".join(told), ended(command) or other_rows(usual, rows(out)))


def ended(command: subprocess.Popen[str]) -> str:
    """What is wrong with how a command ends."""
    try:
        said = command.communicate(timeout=LONGEST)[1]
    except subprocess.TimeoutExpired:
        command.kill()
        command.communicate()
        return f"it hung for {LONGEST} s"
    return f"status {command.returncode}: {said.strip()[-400:]}" if command.returncode else ""


@functools.cache
def undisturbed(folder: Path) -> tuple[Path, dict[str, Any]]:
    """A study, and the rows that the local engine gives."""
    folder.mkdir(parents=True, exist_ok=True)
    study = folder / "study.toml"
    study.write_text(STUDY)
    command = started(study, folder / "usual")
    assert command.wait(LONGEST) == 0, command.stderr and command.stderr.read()
    return study, rows(folder / "usual")


def started(study: Path, out: Path, *options: str) -> subprocess.Popen[str]:
    environment = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}
    line = [sys.executable, "-m", "brittle", "run", str(study), "--out", str(out), "--device", "cpu", *options]
    return subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment)


def disturb_one(command: subprocess.Popen[str], delay: float, by: signal.Signals) -> int:
    """Sends a signal to the first worker of a command, so long after it is there; 0 where the command has ended."""
    while command.poll() is None:
        time.sleep(0.1)
        if found := [pid for pid in descendants(command.pid) if command_line(pid).startswith(WORKER)]:
            time.sleep(delay)
            with contextlib.suppress(ProcessLookupError):
                os.kill(found[0], by)
            return found[0]
    return 0


def command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def state(pid: int) -> str:
    """T where a process is stopped; "" where it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def descendants(root: int) -> list[int]:
    parents = {}
    for each in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parents[int(each.name)] = int((each / "stat").read_text().rpartition(")")[2].split()[1])
    found = {root}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return sorted(found)


def other_rows(usual: dict[str, Any], found: dict[str, Any]) -> str:
    """What differs: log-probabilities may, in their last bits."""
    for table in usual.keys() | found.keys():
        first, second = usual.get(table, {}), found.get(table, {})
        for column in first.keys() | second.keys():
            one, other = np.asarray(first.get(column, [])), np.asarray(second.get(column, []))
            close = one.shape == other.shape and (
                np.allclose(one, other, rtol=0, atol=CLOSE) if one.dtype.kind == "f" else np.array_equal(one, other)
            )
            if not close:
                return f"other rows than undisturbed: {table} {column}"
    return ""


WORKERS_TRIED: dict[str, Scenario] = {
    "SIGSTOP of a worker on Ray": stopped_workers,
    "SIGKILL of a worker on Ray": killed_workers,
    "SIGKILL of drivers, local and on Ray, one after the other": killed_sessions,
}
