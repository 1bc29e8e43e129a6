"""A finished run as its report sees it: the summary always, and everything else as far as it can still be loaded.

A report must be written even when the image file is gone or a classifier's package is no longer installed; what is
missing is said in it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import tomli_w

from brittle.engine.assemble import assemble
from brittle.engine.check.before_work import CHECKED_IMAGES
from brittle.engine.check.classifier_trial import settle
from brittle.engine.check.study_code import code_run_by, first_code_in
from brittle.engine.inputs import Inputs
from brittle.engine.job import Job
from brittle.engine.live_objects import is_live
from brittle.engine.replay import Replay, replay_of
from brittle.engine.run import FinishedRun
from brittle.engine.store.place import Place
from brittle.engine.store.run_folder import RunFolder, UnfinishedRun, environment
from brittle.engine.store.unit_store import Store
from brittle.engine.unfinished import summary_so_far
from brittle.engine.view import MeasureView, unfinished_summary
from brittle.errors import BrittleError
from brittle.images.selection import ChosenImages
from brittle.measures import measures
from brittle.report.page.label_names import LabelNames
from brittle.study import Study
from brittle.types import Classifier


@dataclass(frozen=True)
class LoadedRun:
    """What a report is made from. `job` holds what could be loaded."""

    path: Place | None  # the run folder, if it is kept
    study: Study
    study_text: str
    summary: dict[str, Any]
    environment: dict[str, Any]
    job: Job
    store: Store
    finished: datetime
    missing: tuple[str, ...] = ()  # a sentence for each thing that could not be loaded
    nothing: bool = False  # whether nothing was to be loaded
    notes: tuple[str, ...] = ()  # a sentence for each thing that a reader must know of the run before all else

    @cached_property
    def _views(self) -> dict[str, MeasureView]:
        return {}

    def view(self, measure: str) -> MeasureView:
        """The rows of one measure of the study; whether those of an image set can be read, `why_unreadable` says."""
        if measure not in self._views:
            self._views[measure] = MeasureView(self.job, self.store, measure)
        return self._views[measure]

    def why_unreadable(self, images: str, nuisance: str = "", classifiers: Sequence[str] = ()) -> str:
        """Why rows and pictures of an image set under a nuisance, as some classifiers saw them, can't be had any more;
        "" where they can."""
        if self.nothing:
            return "Nothing that the study names was loaded, so there are no pictures."
        if images not in self.job.images:
            return f"The image set {images} can't be loaded any more, so there are no pictures of it."
        if nuisance and nuisance not in self.job.nuisances:
            return f"The nuisance {nuisance} can't be loaded any more, so there are no pictures of it."
        if (needs := self.job.needs(nuisance)) and not set(classifiers) & self.job.classifiers.keys():
            return (
                f"This nuisance reads {', '.join(sorted(needs))}, which differs by classifier, and the classifier "
                "can't be loaded any more, so there are no pictures of it."
            )
        return ""

    def seen_by(self, nuisance: str, classifiers: Sequence[str]) -> list[str]:
        """Of some classifiers, those that see the same pictures: all, or the first that can be loaded where what the
        nuisance does differs by classifier."""
        if not self.job.needs(nuisance):
            return list(classifiers)
        return [name for name in classifiers if name in self.job.classifiers][:1]

    def replay(self, images: str, nuisance: str, classifier: str = "") -> Replay:
        """Makes the pictures of the run again, as a classifier saw them."""
        return replay_of(self.job, images, nuisance, classifier)

    def label_names(self, classifier: str, images: str) -> LabelNames:
        return LabelNames(
            self.summary["classifiers"][classifier]["labels"],
            self.summary["image_sets"][images]["classes"],
            self.job.facts[classifier].named,
        )

    def chosen(self, images: str) -> ChosenImages | None:
        """The images of the run, where they can still be loaded."""
        return self.job.images.get(images)

    def classifier(self, name: str) -> Classifier | None:
        """The classifier itself, where it can still be loaded."""
        return self.job.classifiers.get(name)

    @property
    def many_sets(self) -> bool:
        """Whether an image set must be named for a reader to know which one is meant."""
        return len(self.summary["image_sets"]) > 1

    @property
    def study_hash(self) -> str:
        return hashlib.sha256(self.study_text.encode()).hexdigest()

    @property
    def live(self) -> list[str]:
        """What no spec names: Python objects of the program that measured them."""
        entries = {**self.study.classifiers, **self.study.images}
        texts = {name: entry.spec for name, entry in entries.items()} | self.study.nuisances
        return [name for name, text in texts.items() if is_live(text)]

    @property
    def pictured(self) -> str:
        """The hash of the summary of a run whose live objects are all at hand; "" where they are not, or there are
        none."""
        return RunFolder(self.path).summary_hash() if self.path is not None and self.live and not self.missing else ""


def loaded_of(done: FinishedRun) -> LoadedRun:
    """A run that this process has carried out, with everything that it had; nothing is loaded again."""
    study = done.study
    if done.folder is None:
        text, now, when = tomli_w.dumps(study.resolved()), environment(), datetime.now(UTC)
    else:
        folder = RunFolder(done.folder)
        text, now = folder.study.read_text(), folder.read_environment()
        when = folder.summary.written()
    return LoadedRun(done.folder, study, text, done.summary, now, done.job, done.store, when)


def load(path: Path | Place, *, nothing: bool = False, unfinished: bool = False) -> LoadedRun:
    """Everything a report needs of the run in `path`. Loading runs code that the study names; with `nothing` no image,
    nuisance or classifier is loaded. A run that is `unfinished` may be, too: its summary then names its things and
    says nothing of measures."""
    folder, missing = RunFolder(path), list[str]()
    plain, begun = folder.read_study(), folder.read_begun()
    if lacking := sorted(plain["classifiers"].keys() - begun["files"].keys()):
        raise UnfinishedRun(
            f"the run in {folder.path} is not finished: nothing is known yet of {', '.join(lacking)}",
            "Give the command that began it again: it resumes.",
        )
    try:
        summary = folder.read_summary()
    except UnfinishedRun:
        if not unfinished:
            raise
        summary = {}
    known = _known_measures(plain["measures"], missing, nothing)
    study = Study.of(plain | {"measures": known}, str(folder.study))
    inputs = Inputs(study).measuring({name: study.measures[name] for name in known})

    def failed(sort: str, name: str, error: Exception) -> None:
        reason = error.what if isinstance(error, BrittleError) else str(error)
        missing.append(f"The {sort} {name} can't be loaded any more: {reason.rstrip('.')}.")

    job = assemble(inputs, "cpu", failed=failed, load=not nothing, shifts=begun.get("shifts"))
    if nothing:
        missing.append("Nothing that the study names was loaded, as was asked: what is shown comes from the summary.")
    images = {}
    for name, chosen in job.images.items():
        if begun["images"].get(name) == job.entries["images"][name]["fingerprint"]:
            images[name] = chosen
        else:
            failed("image set", name, BrittleError("its ids, labels or pixels are no longer those of the run"))
    classifiers = {}
    for name, classifier in job.classifiers.items():
        try:
            if job.entries["classifiers"][name]["files"] != begun["files"][name]:
                raise BrittleError("its files are no longer those of the run")
            shown = [images[each] for each in begun["answers"].get(name, ()) if each in images]
            classifiers[name] = _settled(classifier, shown)
        except (BrittleError, OSError) as error:
            failed("classifier", name, error)
    facts = {name: job.facts[name].with_stored(begun["classifiers"].get(name, {})) for name in study.classifiers}
    # Rows are known by the files that the run's classifiers were made from, whether these are still there or not.
    made_from = {name: entry | {"files": begun["files"][name]} for name, entry in job.entries["classifiers"].items()}
    entries = {**job.entries, "classifiers": made_from}
    ways = {name: way for name, way in begun["compiled"].items() if way != "no"}
    job = replace(job, images=images, classifiers=classifiers, facts=facts, entries=entries, ways=ways, _known={})
    return LoadedRun(
        folder.path,
        study,
        folder.study.read_text(),
        summary or unfinished_summary(job),
        folder.read_environment(),
        job,
        folder.store(job),
        (folder.summary if summary else folder.study).written(),
        tuple(missing),
        nothing,
    )


def load_so_far(path: Path | Place, *, nothing: bool = False) -> LoadedRun:
    """The same, and of a run that has not ended what its finished units say."""
    run = load(path, nothing=nothing, unfinished=not nothing)
    if run.summary["measures"]:
        return run
    summary, job, notes = summary_so_far(run.job, run.store)
    return replace(run, summary=summary, job=job, notes=notes)


def code_named(path: Path | Place) -> list[str]:
    """The things whose specs name code that loading the run in `path` would run, as `name (spec)`."""
    return code_run_by(RunFolder(path).read_study())


def _known_measures(entries: Mapping[str, Any], missing: list[str], nothing: bool) -> dict[str, Any]:
    """Leaves out measures whose package is no longer installed, and with `nothing` those from files of the user's own:
    their summaries still speak."""
    known = {}
    for name, entry in entries.items():
        if nothing and (code := first_code_in(entry)):
            missing.append(f"The measure {name} was not loaded: it comes from {code}.")
            continue
        try:
            measures.get(entry["kind"])
            known[name] = entry
        except BrittleError as error:
            missing.append(f"The measure {name} can't be loaded any more: {error.what}.")
    return known


def _settled(classifier: Classifier, chosen: list[ChosenImages]) -> Classifier:
    """Shows a classifier the images that the run settled it on, so that it answers as it did then."""
    for each in chosen:
        for group in each.images.groups(range(min(CHECKED_IMAGES, len(each.images)))):
            classifier = settle(classifier, group.batch.images)
    return classifier
