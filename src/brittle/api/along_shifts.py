"""What is derived from failure points of several classifiers: rankings, corruption errors, accuracy on the line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from brittle.api.carried_out import How, Ids, Shown, Where, carried_out
from brittle.api.one_measure import facts_of, named_classifiers, opened, source_of
from brittle.engine.assemble import Things
from brittle.images.selection import Selection
from brittle.measures.base import ClassifierFacts
from brittle.nuisances.suites import by_name
from brittle.results import CorruptionErrors, Lines, Rankings
from brittle.study import MeasureEntry

Nuisances = Any  # a spec or an object, several of them, or a dictionary by name
FAILURE_POINTS = "failure-points"


def rank(
    classifiers: Mapping[str, Any],
    images: Any,
    nuisances: Nuisances = (),
    *,
    severities: Sequence[float] = (),
    repeats: int = 1,
    sigma: float = 1.0,
    confidence: float = 0.95,
    count: int | None = None,
    where: Where = (),
    ids: Ids = (),
    seed: int = 0,
    device: str | None = None,
    batch: int | None = None,
    out: str | Path | None = None,
    progress: Shown = None,
) -> Rankings:
    """Classifiers, by name, ranked at every severity by accuracy and by drop, with ties, and those that change places.

    `nuisances` is one, several, or a dictionary by name; an image set in scales brings its own. Ties are by overlap of
    intervals of `sigma` standard errors, and by paired tests that are all right together with probability `confidence`.
    """
    options = {"sigma": sigma, "confidence": confidence}
    along = {"severities": tuple(severities), "repeats": repeats}
    things = _things("ranking", options, along, classifiers, images, nuisances, Selection.of(count, where, ids), seed)
    return Rankings.of(carried_out(things, How(device, batch, out, progress)), "ranking")


def corruption_error(
    classifiers: Mapping[str, Any],
    images: Any,
    nuisances: Nuisances = (),
    *,
    reference: str = "",
    severities: Sequence[float] = (),
    repeats: int = 1,
    confidence: float = 0.95,
    resamples: int = 2000,
    count: int | None = None,
    where: Where = (),
    ids: Ids = (),
    seed: int = 0,
    device: str | None = None,
    batch: int | None = None,
    out: str | Path | None = None,
    progress: Shown = None,
) -> CorruptionErrors:
    """CE and rCE of classifiers, by name, against one of them, `reference`, or the first; and their means over shifts.

    `nuisances` as for `rank`.
    """
    options = {"reference": reference, "confidence": confidence, "resamples": resamples}
    along = {"severities": tuple(severities), "repeats": repeats}
    kind, selection = "corruption-error", Selection.of(count, where, ids)
    things = _things(kind, options, along, classifiers, images, nuisances, selection, seed)
    return CorruptionErrors.of(carried_out(things, How(device, batch, out, progress)), kind)


def line(
    classifiers: Mapping[str, Any],
    images: Any,
    nuisances: Nuisances = (),
    *,
    id: Any | None = None,
    baseline: Sequence[str] = (),
    attributes: Mapping[str, Mapping[str, Any]] | None = None,
    groups: Mapping[str, str] | None = None,
    family: str = "architecture",
    severities: Sequence[float] = (),
    repeats: int = 1,
    confidence: float = 0.95,
    count: int | None = None,
    where: Where = (),
    ids: Ids = (),
    seed: int = 0,
    device: str | None = None,
    batch: int | None = None,
    out: str | Path | None = None,
    progress: Shown = None,
) -> Lines:
    """Accuracy under shifts against accuracy without, over at least five classifiers, by name.

    `id` is the image set that accuracy without a shift is of, `images` themselves by default; `attributes` and `groups`
    say of classifiers what a study's entries would. `nuisances` as for `rank`.
    """
    options: dict[str, Any] = {"baseline": tuple(baseline), "family": family, "confidence": confidence}
    along = {"severities": tuple(severities), "repeats": repeats}
    facts = facts_of(classifiers, groups, attributes)
    selection = Selection.of(count, where, ids)
    things = _things("line", options, along, classifiers, images, nuisances, selection, seed, facts, id)
    return Lines.of(carried_out(things, How(device, batch, out, progress)), "line")


def _things(
    kind: str,
    options: Mapping[str, Any],
    along: Mapping[str, Any],
    classifiers: Mapping[str, Any],
    images: Any,
    nuisances: Nuisances,
    selection: Selection,
    seed: int,
    facts: Mapping[str, ClassifierFacts] | None = None,
    other: Any | None = None,
) -> Things:
    """A measure and the failure points that it is derived from, which are sought on `images` alone."""
    whole = opened(images)
    sets: dict[str, tuple[Any, Selection]] = {whole.name: (source_of(images, whole), selection)}
    if other is not None:
        identical = opened(other)
        name = identical.name if identical.name != whole.name else f"{identical.name} (id)"
        sets[name] = (source_of(other, identical), Selection())
        options = {**options, "id": name}
    spaces = by_name(nuisances)
    # An image set in scales has its own shifts in place of nuisances; here those that are given are meant.
    meant = {"nuisances": tuple(spaces)} if spaces and whole.shifts else {}
    measures = {
        FAILURE_POINTS: MeasureEntry(kind=FAILURE_POINTS, images=(whole.name,), **meant, **along),
        kind: MeasureEntry(kind=kind, **meant, **options),
    }
    return Things(named_classifiers(classifiers), sets, spaces, measures, seed, facts=facts or {})
