"""Robustness of a classifier, and of several side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from brittle.api.carried_out import How, Ids, Shown, Where
from brittle.api.one_measure import IT, one_measure, opened, refuse_several, source_of
from brittle.errors import BrittleError
from brittle.images.selection import Selection
from brittle.nuisances.suites import by_name
from brittle.results import Comparison, Measured


def measure(
    classifier: Any,
    images: Any,
    nuisance: Any = None,
    *,
    samples: int | None = None,
    tolerance: float | None = None,
    estimand: str = "population",
    confidence: float = 0.95,
    worst_of: int = 10,
    extra: Sequence[str] = (),
    count: int | None = None,
    where: Where = (),
    ids: Ids = (),
    seed: int = 0,
    device: str | None = None,
    batch: int | None = None,
    out: str | Path | None = None,
    progress: Shown = None,
) -> Measured:
    """ρ of a classifier under a nuisance, with its interval and what stands beside it.

    `classifier`, `images` and `nuisance` are specs or objects; an image set in scales brings its shift, one here.
    `count` images are drawn without replacement, after `where` (column=value) or `ids` has chosen among them. The
    result has what `brittle measure --json` prints. A network comes back as it was, so this can stand in a validation
    loop. `out` keeps rows and report in a folder; the same call with it resumes what is there. `progress` is shown in a
    terminal and a notebook, unless it is False.
    """
    whole = opened(images)
    if nuisance is None and len(whole.shifts) > 1:
        raise BrittleError(
            f"the image set {whole.name!r} brings {len(whole.shifts)} shifts, and one result is asked for",
            "Choose one with shifts=…, or use brittle.compare, which has a result for each.",
        )
    refuse_several("nuisances", by_name(nuisance), "Use brittle.compare, which has a result for each.")
    found = compare(
        {IT: classifier},
        source_of(images, whole),
        nuisance,
        samples=samples,
        tolerance=tolerance,
        estimand=estimand,
        confidence=confidence,
        worst_of=worst_of,
        extra=extra,
        count=count,
        where=where,
        ids=ids,
        seed=seed,
        device=device,
        batch=batch,
        out=out,
        progress=progress,
    )
    return Measured(found.done, found["results"][0] | {"warnings": found.summary["warnings"]})


def compare(
    classifiers: Mapping[str, Any],
    images: Any,
    nuisance: Any = None,
    *,
    samples: int | None = None,
    tolerance: float | None = None,
    estimand: str = "population",
    confidence: float = 0.95,
    worst_of: int = 10,
    extra: Sequence[str] = (),
    count: int | None = None,
    where: Where = (),
    ids: Ids = (),
    seed: int = 0,
    device: str | None = None,
    batch: int | None = None,
    out: str | Path | None = None,
    progress: Shown = None,
) -> Comparison:
    """Several classifiers, by name, on the same images and the same θ: a result each, and paired differences.

    Options as for `measure`.
    """
    options = {
        "samples": samples,
        "tolerance": tolerance,
        "estimand": estimand,
        "confidence": confidence,
        "worst-of": worst_of,
        "extra": tuple(extra),
    }
    selection, how = Selection.of(count, where, ids), How(device, batch, out, progress)
    done = one_measure("robustness", options, classifiers, images, nuisance, selection, seed, how)
    return Comparison(done, done.summary["measures"]["robustness"])
