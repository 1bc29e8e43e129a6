"""One measure on live objects and specs alike, without a study file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from brittle.engine.assemble import Things
from brittle.engine.carry_out import Done, run_things
from brittle.images import image_set
from brittle.images.selection import Selection
from brittle.nuisances import nuisances
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
) -> Any:
    """A measure of some classifiers on one image set under one nuisance, or under what it uses where None is given,
    ready to be carried out in memory."""
    whole = image_set(images)
    spaces = (
        {} if nuisance is None else {nuisance if isinstance(nuisance, str) else nuisances.spec_of(nuisance): nuisance}
    )
    given = {key: value for key, value in options.items() if value is not None}
    things = Things(
        classifiers, {whole.name: (whole, selection)}, spaces, {kind: MeasureEntry(kind=kind, **given)}, seed
    )

    def carried_out(device: str | None, batch: int | None, progress: Progress | None) -> Done:
        return run_things(things, device=device, batch=batch, progress=progress)

    return carried_out
