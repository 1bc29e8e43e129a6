"""The run folder: study, environment, units and summary; one process at a time; refuses a changed study."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import platform
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import tomli_w
import torch

from brittle.engine.check.before_work import Answers
from brittle.engine.check.same_inputs import KEPT, TriedClassifiers, refuse_other_inputs, refuse_unknown
from brittle.engine.job import FORMAT, SUMMARY_VERSION, Job
from brittle.engine.live_objects import why_unknown
from brittle.engine.plan.extension import REMEDY, refuse_other_rows
from brittle.engine.store.checked_json import checked_text, read_checked, read_object
from brittle.engine.store.git_state import git_state
from brittle.engine.store.lease import CLAIMS, Lease
from brittle.engine.store.place import Place, place_of
from brittle.engine.store.unit_store import FolderStore
from brittle.errors import BrittleError
from brittle.files import BROKEN, half_of, printable, remove_half_written, unusable
from brittle.study import binding, changes, refuse_unresolved

FILES = ("begun.json", "environment.json", "study.toml", "progress.json", "summary.json", "report.html")
HOLDER = "process"  # what a lock begins with
CHANGES_SHOWN = 6  # in a message
STUDY = "study"  # in summary.json: which study it sums up


def folder_path(out: str | Path) -> Place:
    """The place of a run folder; an empty name would be the current folder."""
    if not os.fspath(out).strip():
        raise BrittleError("the name of the run folder is empty", "Name one: --out run.")
    return place_of(out)


class UnfinishedRun(BrittleError):
    """A run that is still being computed, or was stopped, so that nothing sums up all of it."""


class RunFolder:
    """A folder that a study is carried out into."""

    def __init__(self, where: Path | Place) -> None:
        path = place_of(where)
        if printable(path.text) != path.text:
            raise BrittleError(
                f"{printable(path.text)} is not a name that a run folder can have: it is not UTF-8 here",
                "Choose another, or use a locale of UTF-8 (LC_ALL=C.UTF-8).",
            )
        self.path = path
        self.study, self.environment = path / "study.toml", path / "environment.json"
        self.summary, self.report, self.begun = path / "summary.json", path / "report.html", path / "begun.json"
        self._allowed: Callable[[], None] = lambda: None

    def store(self, job: Job) -> FolderStore:
        """The run's units, each bound to what the job's cells depend on."""
        return FolderStore(self.path / "units", job.depends, job.extent, self._allowed)

    def exists(self) -> bool:
        return self.study.is_file() and self.begun.is_file()

    @contextmanager
    def locked(self, also: Iterable[str] = ()) -> Iterator[None]:
        """Holds the folder for this process; the lock goes with the process, however it ends, or soon after it.

        A folder that holds other things than a run, or than what is `also` known to be ours, is left as it is."""
        if self.path.remote:
            self._refuse_others_in_store()
            lease = Lease(self.path)
            self._allowed = lease.check
            with lease.held():
                yield
            return
        self._refuse_others(also)
        path = self.path.local
        try:
            path.mkdir(parents=True, exist_ok=True)
            lock = os.open(path / ".lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
        except OSError as error:
            raise self._unusable(error) from error
        try:
            self._hold(lock)
            yield
        finally:
            os.close(lock)

    def _hold(self, lock: int) -> None:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(lock, 1000).decode(errors="replace").strip()
            raise BrittleError(
                f"{self.path} is in use by another process ({holder or 'unknown'})",
                "Wait for it to end, or choose another folder.",
            ) from None
        try:
            os.ftruncate(lock, 0)
            os.write(lock, f"{HOLDER} {os.getpid()} on {platform.node()}".encode())
        except OSError as error:
            raise unusable(str(self.path / ".lock"), "written", error) from error

    def _refuse_others(self, also: Iterable[str]) -> None:
        """Looks, and touches nothing: a run has a begun.json, and one killed before it was written has little else."""
        ours, path = {".lock", *also}, self.path.local
        try:
            if not path.exists() or self.begun.is_file():
                return
            others = [each.name for each in path.iterdir() if each.name not in ours]
            lock = path / ".lock"
            held = lock.read_text(errors="replace") if lock.is_file() and not lock.is_symlink() else ""
        except OSError as error:
            raise self._unusable(error) from error
        if not all(half_of(name) in {*FILES, *ours} for name in others) or not (held == "" or held.startswith(HOLDER)):
            raise self._holds_others()

    def _refuse_others_in_store(self) -> None:
        names = self.path.names()
        if self.begun.name not in names and not {CLAIMS, *FILES}.issuperset(names):
            raise self._holds_others()

    def _holds_others(self) -> BrittleError:
        return BrittleError(f"{self.path} holds other things and is not a run folder", "Choose an empty or new folder.")

    def _unusable(self, error: OSError) -> BrittleError:
        if error.errno in BROKEN:
            return unusable(str(self.path), "used as a run folder", error)
        return BrittleError(f"{self.path} can't be used as a run folder: {error.strerror}", "Choose another.")

    def read_study(self) -> dict[str, Any]:
        """The study as resolved when the run began."""
        if not self.exists():
            raise BrittleError(
                f"{self.path} is not a run folder: it has no study.toml", "Give the folder of a `brittle run`."
            )
        self.read_begun()
        remedy = "Delete it and give the run command again: the units that fit the study are kept."
        content = self.study.read()
        try:
            study = tomllib.loads(content.decode())
        except (ValueError, RecursionError) as error:
            raise BrittleError(f"{self.study} is damaged: it is not TOML", remedy) from error
        refuse_unresolved(study, str(self.study), remedy)
        return study

    def read_begun(self) -> dict[str, Any]:
        """What the study's things were when the run began: fingerprints, hashes of files, answers, facts."""
        remedy = "Restore it from a copy, or run the study again into another folder."
        if read_object(self.begun, remedy).get("format") != FORMAT:
            raise BrittleError(
                f"the run in {self.path} was made by another version of Brittle, in a format that this one can't read",
                "Run the study again into another folder.",
            )
        return read_checked(self.begun, remedy)

    def read_environment(self) -> dict[str, Any]:
        """What the numbers were computed with; empty where that is not recorded."""
        if not self.environment.is_file():
            return {}
        return read_checked(self.environment, "Delete it: it only says what the numbers were computed with.")

    def read_summary(self) -> dict[str, Any]:
        """What every measure said of the study that is kept."""
        if not self.summary.is_file():
            raise UnfinishedRun(
                f"the run in {self.path} is not finished", "Give the command that began it again: it resumes."
            )
        summary = read_checked(self.summary, "Give the run command again: it is written again from the stored units.")
        if summary.get("version") != SUMMARY_VERSION:
            raise BrittleError(
                f"{self.summary} was written by another version of Brittle",
                "Give the run command again: it is written again from the stored units.",
            )
        said_of, study = summary.pop(STUDY), self.read_study()
        _refuse_unfinished(study, summary, self.path)
        if said_of != _hash(study):
            raise BrittleError(
                f"{self.study} is not the study that was summed up",
                "Restore it, or give `brittle run` again with the study that is meant.",
            )
        return summary

    def summary_hash(self) -> str:
        """Tells one summary from another."""
        return hashlib.sha256(self.summary.read()).hexdigest()

    def compare(self, study: dict[str, Any]) -> None:
        """Holds the study against the one kept: entries may be added, and none may change."""
        if self.exists():
            kept = self.read_study()
            for name, text in kept.get("nuisances", {}).items():
                refuse_unknown(f"nuisance {name!r}", why_unknown(text), self.path)
            changed = changes(kept, study)
            if changed:
                raise BrittleError(
                    f"the study has changed since the run in {self.path} began: {'; '.join(changed[:CHANGES_SHOWN])}"
                    + (f"; and {len(changed) - CHANGES_SHOWN} more" if len(changed) > CHANGES_SHOWN else ""),
                    REMEDY,
                )
        if not self.path.remote:
            remove_half_written(self.path.local, FILES)

    def begin(self, study: dict[str, Any], job: Job, answers: Answers, called: Mapping[str, Mapping[str, str]]) -> None:
        """Keeps the study once its things are loaded and found to be those that the run began with. `called` are the
        private values of live classifiers once they have been asked something."""
        if self.exists():
            counts = {name: count for name, (count, _) in self.read_begun()["sources"].items()}
            refuse_other_rows(job, self.read_study(), counts, self.path)
        now = environment() | {"folder": str(Path.cwd())}
        known = self._refuse_others_than_begun(job, answers, called, now)
        if earlier := self.read_environment():
            now["earlier"] = [*earlier.pop("earlier", ()), earlier]
        # What says that the folder is ours comes first, and the study, by which the run is known, last.
        self.begun.write(checked_text(self.begun.name, known))
        self.environment.write(checked_text(self.environment.name, now))
        self.study.write(tomli_w.dumps(study))

    def _refuse_others_than_begun(
        self, job: Job, answers: Answers, called: Mapping[str, Mapping[str, str]], now: Mapping[str, Any]
    ) -> dict[str, Any]:
        machine = " · ".join(map(str, (job.device, now["device"], now["threads"], now["packages"])))
        return refuse_other_inputs(job, TriedClassifiers(answers, called, machine), self._kept(), self.path)

    def refuse_other_inputs(self, job: Job, answers: Answers) -> None:
        """Refuses where images or classifiers are no longer those that the run began with; nothing is kept."""
        self._refuse_others_than_begun(job, answers, {}, environment())

    def compiled(self) -> dict[str, str]:
        """How each classifier was compiled when it joined the run."""
        return dict(self._kept()["compiled"])

    def _kept(self) -> dict[str, Any]:
        """What is known of the things that the kept study names: a kill may have come before it was written."""
        study, begun = (self.read_study(), self.read_begun()) if self.exists() else ({}, {})
        return {
            sort: {name: known for name, known in begun.get(sort, {}).items() if name in study.get(named, {})}
            for sort, named in KEPT.items()
        }

    def write_summary(self, summary: dict[str, Any]) -> None:
        self._allowed()
        self.summary.write(checked_text(self.summary.name, {**summary, STUDY: _hash(self.read_study())}))


def _hash(study: Mapping[str, Any]) -> str:
    """Identifies what of a study its rows and summary depend on."""
    text = json.dumps(binding(study), sort_keys=True, default=str)
    return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()


def _refuse_unfinished(study: Mapping[str, Any], summary: Mapping[str, Any], path: Place) -> None:
    """A run that was extended and not carried to its end has a summary of what it was before."""
    keys = {"measures": "measures", "classifiers": "classifiers", "images": "image_sets"}
    lacking = [name for key, told in keys.items() for name in study[key] if name not in summary[told]]
    if lacking:
        raise UnfinishedRun(
            f"the run in {path} is not finished: nothing is summed up for {', '.join(sorted(lacking))}",
            "Give the command that began it again: it resumes.",
        )


def environment() -> dict[str, Any]:
    """Versions, device and git state: what else the numbers may depend on."""
    packages = ("brittle", "torch", "numpy", "scipy", "pyarrow", "onnxruntime", "pillow")
    return {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": sys.version.split()[0],
        "platform": platform.platform(),
        "packages": {name: _version(name) for name in packages},
        "device": torch.cuda.get_device_name()
        if torch.cuda.is_available()
        else platform.processor() or platform.machine(),
        "threads": torch.get_num_threads(),
        "git": git_state(),
    }


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:  # onnxruntime-gpu goes by another name
        return None
