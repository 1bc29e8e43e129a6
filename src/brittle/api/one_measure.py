"""One measure on live objects and specs alike, without a study file."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from brittle.api.carried_out import How, carried_out
from brittle.api.paths import given_classifier, given_images
from brittle.engine.assemble import Things
from brittle.engine.carry_out import Done
from brittle.engine.live import Opened
from brittle.errors import BrittleError
from brittle.images import image_set
from brittle.images.base import ImageSet
from brittle.images.selection import Selection
from brittle.measures.base import ClassifierFacts
from brittle.nuisances.suites import by_name
from brittle.registry import did_you_mean
from brittle.study import MeasureEntry

IT = "classifier"  # the name of the only one


def one_measure(
    kind: str,
    options: Mapping[str, Any],
    classifier: Any,
    images: Any,
    nuisance: Any | None,
    selection: Selection,
    seed: int,
    how: How,
    *,
    train: Any | None = None,
    train_selection: Selection | None = None,
    groups: Mapping[str, str] | None = None,
    attributes: Mapping[str, Mapping[str, Any]] | None = None,
) -> Done:
    """A measure of a classifier, or of several by name, on one image set under one nuisance or a list of them, or under
    what it uses where None is given, carried out. `train` is the image set that the classifiers were trained on,
    `groups` says which of them are runs of one model, and `attributes` what a study's entries would say of them."""
    classifiers = named_classifiers(classifier)
    whole = opened(images)
    spaces = by_name(nuisance)
    given = {key: value for key, value in options.items() if value is not None}
    sets, trained_on = {whole.name: (source_of(images, whole), selection)}, {}
    if train is not None:
        seen = opened(train)
        name = seen.name if seen.name != whole.name else f"{seen.name}-train"
        sets[name] = (source_of(train, seen), train_selection or Selection())
        trained_on[whole.name] = name
    if spaces and whole.shifts:
        given["nuisances"] = tuple(spaces)
    facts = facts_of(classifiers, groups, attributes)
    wanted = {kind: MeasureEntry(kind=kind, **given)}
    return carried_out(Things(classifiers, sets, spaces, wanted, seed, trained_on, facts), how)


def named_classifiers(classifier: Any) -> Mapping[str, Any]:
    """Classifiers by name: a dictionary of them, or the only one."""
    if isinstance(classifier, (list, tuple)):
        raise BrittleError("the classifiers have no names", "Give a dictionary: {'mine': …, 'theirs': …}.")
    if isinstance(classifier, Mapping) and not classifier:
        raise BrittleError("no classifier is given", "Give a dictionary with at least one: {'mine': …}.")
    several = classifier if isinstance(classifier, Mapping) else {IT: classifier}
    return {name: given_classifier(each) for name, each in several.items()}


def refuse_several(what: str, names: Collection[str], remedy: str) -> None:
    """Where one result is asked for."""
    if len(names) > 1:
        raise BrittleError(f"{len(names)} {what} are given, and one result is asked for", remedy)


def facts_of(
    classifiers: Mapping[str, Any],
    groups: Mapping[str, str] | None,
    attributes: Mapping[str, Mapping[str, Any]] | None = None,
) -> dict[str, ClassifierFacts]:
    """What a study's entries would say of classifiers."""
    of_group, told = groups or {}, attributes or {}
    for what, named in (("groups", of_group), ("attributes", told)):
        stranger = next((name for name in named if name not in classifiers), None)
        if stranger is not None:
            known = did_you_mean(stranger, classifiers)
            raise BrittleError(f"{what} names {stranger!r}, which is not a classifier", known)
    return {
        name: ClassifierFacts(name, (), group=of_group.get(name, ""), attributes=told.get(name, {}))
        for name in classifiers
    }


def opened(images: Any) -> ImageSet:
    """The image set itself; one that was opened for its caller already knows its spec."""
    return images.images if isinstance(images, Opened) else image_set(images)


def source_of(images: Any, found: ImageSet) -> Opened | ImageSet:
    """An image set that was opened, with the spec that names it, where one does."""
    if isinstance(images, Opened):
        return images
    spec = given_images(images)
    return Opened(spec, found) if isinstance(spec, str) else found
