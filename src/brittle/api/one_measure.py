"""One measure on live objects and specs alike, without a study file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from brittle.engine.assemble import Things
from brittle.engine.carry_out import Done, run_things
from brittle.images import image_set
from brittle.images.selection import Selection
from brittle.measures.base import ClassifierFacts
from brittle.nuisances.suites import by_name
from brittle.progress import Progress
from brittle.study import MeasureEntry

IT = "classifier"  # the name of the only one


def one_measure(
    kind: str,
    options: Mapping[str, Any],
    classifiers: Mapping[str, Any],
    images: Any,
    nuisance: Any | None,
    selection: Selection,
    seed: int,
    *,
    train: Any | None = None,
    train_selection: Selection | None = None,
    groups: Mapping[str, str] | None = None,
) -> Any:
    """A measure of some classifiers on one image set under one nuisance or a list of them, or under what it uses where
    None is given, ready to be carried out in memory. `train` is the image set that the classifiers were trained on, and
    `groups` says which of them are runs of one model."""
    whole = image_set(images)
    spaces = by_name(nuisance)
    given = {key: value for key, value in options.items() if value is not None}
    sets, trained_on = {whole.name: (whole, selection)}, {}
    if train is not None:
        seen = image_set(train)
        name = seen.name if seen.name != whole.name else f"{seen.name}-train"
        sets[name] = (seen, train_selection or Selection())
        trained_on[whole.name] = name
    if spaces and whole.shifts:
        given["nuisances"] = tuple(spaces)
    things = Things(
        classifiers,
        sets,
        spaces,
        {kind: MeasureEntry(kind=kind, **given)},
        seed,
        trained_on,
        {name: ClassifierFacts(name, (), group=group) for name, group in (groups or {}).items()},
    )

    def carried_out(device: str | None, batch: int | None, progress: Progress | None) -> Done:
        return run_things(things, device=device, batch=batch, progress=progress)

    return carried_out
