"""Whether the things that a study names are still those that its run began with: what unchanged specs and names can't
tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch

from brittle.engine.check.before_work import Answers
from brittle.engine.job import FORMAT, Job
from brittle.engine.live_objects import is_live
from brittle.engine.store.place import Place
from brittle.errors import BrittleError
from brittle.images.fingerprint import fingerprint

KEPT = {  # what begun.json keeps, and the sort of things that it is kept of
    "images": "images",
    "most": "images",
    "files": "classifiers",
    "private": "classifiers",
    "unknown": "classifiers",
    "answers": "classifiers",
    "machine": "classifiers",
    "compiled": "classifiers",
}
CACHE = ""  # in place of the hash of a private value that calls fill
SAME_MACHINE = 1e-6  # of log-probabilities, relative: what float32 promises where nothing else has changed
OTHER_MACHINE = 0.01  # another device, library or batch rounds otherwise; more than TF32 makes of it
REMEDY = "Give that one, add this one under another name, or run into another folder."


class TriedClassifiers(NamedTuple):
    """What was found out about the classifiers of a job when they were tried."""

    answers: Answers
    called: Mapping[str, Mapping[str, str]]  # live classifier → its private values after some calls
    machine: str  # all that last digits may depend on


def refuse_other_inputs(
    job: Job, tried: TriedClassifiers, kept: Mapping[str, Mapping[str, Any]], run: Place
) -> dict[str, Any]:
    """What is to be kept of a job's things. Refuses to resume where images or classifiers behind unchanged names are no
    longer what is `kept` of them."""
    most = {name: _same_images(job, name, kept["most"].get(name), run) for name in job.entries["images"]}
    files = {name: entry["files"] for name, entry in job.entries["classifiers"].items()}
    for name, found in files.items():
        refuse_unknown(f"classifier {name!r}", kept["unknown"].get(name, ""), run)
        if kept["files"].get(name, found) != found:
            live = is_live(job.entries["classifiers"][name]["spec"])
            raise _other_object(name, run, "weights, code or options") if live else _other_files(name, run)
    private = _private(job, tried, kept["private"], run)
    for name, sets in tried.answers.items():
        same = kept["machine"].get(name, tried.machine) == tried.machine
        for there, found_there in sets.items():
            before = kept["answers"].get(name, {}).get(there)
            if before is not None and not same_answers(before, found_there, same):
                raise BrittleError(
                    f"classifier {name!r} no longer answers as it did when the run in {run} began",
                    "Restore its weights, add it under another name, or run into another folder.",
                )
    return {
        "format": FORMAT,
        "images": {name: entry["fingerprint"] for name, entry in job.entries["images"].items()},
        "sources": {name: [entry["count"], entry["source"][-1]] for name, entry in job.entries["images"].items()},
        "most": most,
        "files": {**files, **kept["files"]},
        "nuisances": dict(job.entries["nuisances"]),
        "private": private,
        "unknown": {name: each.unknown for name, each in job.live.items() if each.unknown},
        "answers": {name: sets | kept["answers"].get(name, {}) for name, sets in tried.answers.items()},
        "machine": {**dict.fromkeys(tried.answers, tried.machine), **kept["machine"]},
        "compiled": {name: job.ways.get(name, "no") for name in job.classifiers} | dict(kept["compiled"]),
        "classifiers": {name: each.stored_values() for name, each in job.facts.items()},
        "shifts": {name: list(each.images.shifts) for name, each in job.images.items() if each.images.shifts},
    }


def _same_images(job: Job, name: str, kept: Sequence[Any] | None, run: Place) -> list[Any]:
    """The most images that were ever chosen of a set, and their fingerprint, which must be what it was."""
    entry = job.entries["images"][name]
    now = [entry["count"], entry["fingerprint"]]
    if kept is None:
        return now
    count, before = kept
    there = job.images[name].whole
    again = entry["fingerprint"] if count == entry["count"] else fingerprint(there.choose(count, job.seed))
    if again != before:
        raise BrittleError(
            f"the image set {name!r} is no longer what it was when the run in {run} began",
            "Restore it, or run into another folder.",
        )
    return max(now, list(kept), key=lambda each: int(each[0]))


def refuse_unknown(what: str, why: str, run: Place) -> None:
    """Refuses to resume where a live object can't be compared with the one that a run began with."""
    if why:
        raise BrittleError(
            f"the run in {run} can't be resumed: its {what} can't be compared with the one it began with, since {why}",
            "Run into another folder, or give one without that.",
        )


def _private(
    job: Job, tried: TriedClassifiers, kept: Mapping[str, Mapping[str, str]], run: Place
) -> dict[str, Mapping[str, str]]:
    """The private values of live classifiers; those that calls fill, now or when the run began, are caches."""
    found: dict[str, Mapping[str, str]] = {}
    for name, each in job.live.items():
        after, before = tried.called[name], kept.get(name)
        now = {key: value if each.private.get(key) == value else CACHE for key, value in after.items()}
        for key in sorted(now.keys() | (before or {}).keys()) if before is not None else ():
            values = now.get(key, CACHE), (before or {}).get(key, CACHE)
            if CACHE not in values and values[0] != values[1]:
                raise _other_object(name, run, f"values of {key}")
        found[name] = now | dict(before or {})
    return found


def _other_object(name: str, run: Place, differing: str) -> BrittleError:
    return BrittleError(
        f"the classifier {name!r} is not the one that the run in {run} began with: its {differing} are others", REMEDY
    )


def _other_files(name: str, run: Place) -> BrittleError:
    return BrittleError(
        f"the files that the classifier {name!r} is made from have changed since the run in {run} began",
        "Restore them, add it under another name, or run into another folder.",
    )


def same_answers(before: Sequence[Sequence[float]], after: Sequence[Sequence[float]], same_machine: bool) -> bool:
    """Whether log-probabilities are the same but for rounding. Where more or fewer images were asked about, those that
    both have are compared."""
    common = min(len(before), len(after))
    if not common:
        return len(before) == len(after)
    alike = same_machine and len(before) == len(after)
    first, second = (torch.tensor(each[:common], dtype=torch.float64) for each in (before, after))
    if first.shape != second.shape:
        return False
    apart = (first - second).abs() / first.abs().clamp(min=1)
    return bool((apart <= (SAME_MACHINE if alike else OTHER_MACHINE)).all())
