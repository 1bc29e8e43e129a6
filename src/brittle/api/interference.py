"""The DI index: whether the errors that a nuisance makes go to one class."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from brittle.api.carried_out import How, Ids, Shown, Where, carried_out
from brittle.api.one_measure import facts_of, named_classifiers, opened, source_of
from brittle.engine.assemble import Things
from brittle.errors import BrittleError
from brittle.images.selection import Selection
from brittle.nuisances.suites import by_name
from brittle.results import Interference
from brittle.study import MeasureEntry

KIND, ROBUSTNESS = "interference", "robustness"


def interference(
    classifier: Any,
    images: Any,
    nuisance: Any = None,
    *,
    groups: Mapping[str, str] | None = None,
    samples: int = 5,
    simulations: int = 4000,
    confidence: float = 0.95,
    count: int | None = None,
    where: Where = (),
    ids: Ids = (),
    seed: int = 0,
    device: str | None = None,
    batch: int | None = None,
    out: str | Path | None = None,
    progress: Shown = None,
) -> Interference:
    """Whether the errors that a nuisance makes go to one class: the DI index of each model under each nuisance.

    `classifier` may be a dictionary of several, by name, and `groups` says which of them are runs of one model: with
    several runs the index is high only where they agree. `nuisance` is one, or a list; an image set in scales brings
    its own. `samples` are the draws per image, `simulations` how often chance is simulated. The result has what a study
    with `[interference]` writes into summary.json; `rows` are those of robustness, from which it is derived.
    """
    classifiers = named_classifiers(classifier)
    whole, spaces = opened(images), by_name(nuisance)
    selection = Selection.of(count, where, ids)
    without = int((selection.choose(whole, seed).images.labels < 0).sum())
    if without:
        raise BrittleError(
            f"the DI index needs labels, and {without} of the images of {whole.name!r} have none",
            "Choose images with labels, with where=… or ids=….",
        )
    meant = {"nuisances": tuple(spaces)} if spaces and whole.shifts else {}
    measures = {
        ROBUSTNESS: MeasureEntry(kind=ROBUSTNESS, samples=samples, **meant),
        KIND: MeasureEntry(kind=KIND, simulations=simulations, confidence=confidence, **meant),
    }
    sets = {whole.name: (source_of(images, whole), selection)}
    things = Things(classifiers, sets, spaces, measures, seed, facts=facts_of(classifiers, groups))
    return Interference.of(carried_out(things, How(device, batch, out, progress)), KIND)
