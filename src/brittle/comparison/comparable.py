"""Whether two runs are of the same images and the same θ: what has to agree, and a line that says what does not.

θ is a function of the seed, the nuisance's kind and options, the id of the image and the number of the draw. Names of
image sets and nuisances are the study's, so each name that both runs have must mean the same in both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from brittle.comparison.recorded import RecordedRun
from brittle.engine.live_objects import why_unknown
from brittle.errors import BrittleError
from brittle.nuisances import nuisances
from brittle.registry import did_you_mean

BUNDLED = "bundled:"  # weights that come with Brittle, whose version is recorded
ANOTHER = "Measure the other one again, with the same seed, images and nuisances."


def refuse_other_study(name: str, study: Mapping[str, Any], other: RecordedRun) -> None:
    """Raises where a study, carried out or not, can't be compared with a run: another seed, no image set in common, or
    another nuisance under one name."""
    if study["seed"] != other.study["seed"]:
        why = f"their seeds differ ({study['seed']} and {other.study['seed']}), so their θ do"
        raise _refusal(name, other, why)
    if not set(study["images"]) & set(other.study["images"]):
        names = f"{', '.join(study['images'])} and {', '.join(other.study['images'])}"
        raise _refusal(name, other, f"they have no image set of one name in common ({names})", "Give both one name.")
    for nuisance, spec in study.get("nuisances", {}).items():
        before = other.study.get("nuisances", {}).get(nuisance, spec)
        if str(spec) != str(before):
            raise _refusal(name, other, f"the nuisance {nuisance!r} is {spec} in one and {before} in the other")


def refuse_incomparable(run: RecordedRun, other: RecordedRun) -> None:
    """Raises where nothing of two runs may be set side by side, or where a name means two things."""
    refuse_other_study(run.name, run.study, other)
    for name in run.study["images"]:
        if name in other.study["images"]:
            _refuse_other_images(run, other, name)
    for name in run.study.get("nuisances", {}):
        if name in other.study.get("nuisances", {}):
            _refuse_unknown_nuisance(run, other, name)
    made, before = (each.facts.get("nuisances", {}) for each in (run, other))
    changed = next((name for name in made if name in before and made[name] != before[name]), None)
    if changed is not None:
        raise _refusal(run.name, other, f"the nuisance {changed!r}, or its code, has changed between them")


def _refuse_other_images(run: RecordedRun, other: RecordedRun, name: str) -> None:
    (count, source), (other_count, other_source) = (each.facts["sources"][name] for each in (run, other))
    same_images = run.facts["images"][name] == other.facts["images"][name]
    if source != other_source or (count == other_count and not same_images):
        raise _refusal(run.name, other, f"the image set {name!r} holds other images or labels in one than in the other")


def _refuse_unknown_nuisance(run: RecordedRun, other: RecordedRun, name: str) -> None:
    """Where the same text may stand for something else: a live object that can't be known again, code that an earlier
    version has not recorded."""
    spec = str(run.study["nuisances"][name])
    if why := why_unknown(spec):
        raise _refusal(run.name, other, f"the nuisance {name!r} can't be compared, since {why}")
    for each in (run, other):
        if name not in each.facts.get("nuisances", {}) and nuisances.runs_code(spec):
            why = f"{each.name} has not recorded the code of the nuisance {name!r}"
            raise _refusal(run.name, other, why, "Run it again.")


def refuse_other_measure(run: RecordedRun, other: RecordedRun, measure: str) -> None:
    """Raises where what a measure estimates is not the same in both."""
    for option in ("estimand", "design"):
        first, second = (each.study["measures"][measure].get(option) for each in (run, other))
        if first != second:
            why = f"the {option} of {measure!r} is {first} in one and {second} in the other"
            raise _refusal(run.name, other, why)


def paired_classifiers(run: RecordedRun, other: RecordedRun, named: Sequence[str] = ()) -> dict[str, str]:
    """Classifier of a run → the one of the other run that it is compared with: of the same name, or as named
    (`new=old`); where each run has only one, these."""
    found = {name: name for name in run.classifiers if name in other.classifiers}
    for text in named:
        new, equals, old = text.rpartition("=")
        if not equals:
            raise BrittleError(f"--pair is {text!r}, which names no two classifiers", "Write --pair NEW=OLD.")
        for name, each in ((new, run), (old, other)):
            if name not in each.classifiers:
                raise BrittleError(f"{each.name} has no classifier {name!r}", did_you_mean(name, each.classifiers))
        found[new] = old
    if not found and len(run.classifiers) == len(other.classifiers) == 1:
        found = {run.classifiers[0]: other.classifiers[0]}
    if not found:
        names = f"{', '.join(run.classifiers)} and {', '.join(other.classifiers)}"
        remedy = f"Say which to compare: --pair {run.classifiers[0]}={other.classifiers[0]}."
        raise _refusal(run.name, other, f"they have no classifier of one name in common ({names})", remedy)
    return found


def same_classifier(run: RecordedRun, other: RecordedRun, name: str, before: str) -> bool:
    """Whether a classifier is known to be the same function in both runs: its spec, the files behind it and how it was
    carried out, and, of what a package brings, that package's version."""

    def identity(each: RecordedRun, classifier: str) -> tuple[Any, ...]:
        files = each.facts["files"].get(classifier, "")
        spec = str(each.study["classifiers"][classifier]["spec"])
        carried = each.study["precision"], each.facts["compiled"].get(classifier)
        packages = each.environment.get("packages", {})
        return spec, files, carried, packages

    known = identity(run, name)
    unknown = name in run.facts.get("unknown", {}) or before in other.facts.get("unknown", {})
    spec, files, *_ = known
    return known == identity(other, before) and not unknown and bool(files or spec.startswith(BUNDLED))


def differences_in_environment(run: RecordedRun, other: RecordedRun) -> list[str]:
    """What else may have moved numbers, a phrase each: versions, device, precision."""
    said = []
    versions, before = (each.environment.get("packages", {}) for each in (run, other))
    changed = [f"{name} {before[name]} → {versions[name]}" for name in versions if before.get(name, versions[name]) !=
               versions[name]]  # fmt: skip
    if changed:
        said.append(", ".join(changed))
    for key in ("device", "platform"):
        values = [str(each.environment.get(key, "")) for each in (other, run)]
        if values[0] != values[1]:
            said.append(f"{key} {values[0]} → {values[1]}")
    if run.study["precision"] != other.study["precision"]:
        said.append(f"precision {other.study['precision']} → {run.study['precision']}")
    return said


def _refusal(name: str, other: RecordedRun, why: str, remedy: str = ANOTHER) -> BrittleError:
    return BrittleError(f"{name} and {other.name} can't be compared: {why}", remedy)
