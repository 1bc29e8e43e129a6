"""What was measured, and on what: image sets, nuisances with their priors, and the environment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from brittle.engine.live_objects import is_live
from brittle.engine.view import ImageSetSummary
from brittle.errors import BrittleError
from brittle.nuisances import nuisances
from brittle.nuisances.titles import named_title
from brittle.report.page.loaded import LoadedRun
from brittle.report.page.names import SpokenNames
from brittle.report.page.words import size
from brittle.types import InScales, Nuisance


def cells_asked(run: LoadedRun) -> list[tuple[str, str]]:
    """Each image set under each nuisance that a measure was asked about."""
    asked = (each for each in run.job.assignments.values() if each.asked)
    cells = ((cell.images, cell.nuisance) for each in asked for cell in each.cells())
    return list(dict.fromkeys(cell for cell in cells if all(cell)))


def image_set(run: LoadedRun, name: str) -> dict[str, Any]:
    told, chosen = run.summary["image_sets"][name], run.chosen(name)
    labels = None if chosen is None else chosen.images.labels
    unlabelled = 0 if labels is None else int((labels < 0).sum())
    present = len(told["classes"]) if labels is None else len(set(labels[labels >= 0].tolist()))
    shapes = [ImageSetSummary.read(told).shape] if chosen is None else list(chosen.images.shapes)
    return {
        "name": name,
        "entry": run.study.images[name],
        "images": told["images"],
        "population": told["population"],
        "size": size(shapes) if len(shapes) > 1 or told.get("shapes", 1) == 1 else f"up to {size(shapes)}",
        "classes": present,
        "unlabelled": "none has a label" if unlabelled == told["images"] else f"{unlabelled} without a label",
        "all_labelled": not unlabelled,
    }


def nuisance_of(run: LoadedRun, images: str, nuisance: str) -> dict[str, Any]:
    """What a nuisance's prior means on an image set: as computed now, or as the run has noted it."""
    if images in run.job.images and nuisance in run.job.nuisances:
        prior = run.job.prior(images, nuisance)
    else:
        noted = (row for row in _rows(run.summary["measures"]) if row.get("nuisance") == nuisance)
        prior = next((row["prior"] for row in noted if row.get("image_set") == images and "prior" in row), "not loaded")
    title = spoken_names(run).titles.get(nuisance, nuisance)
    return {"title": title, "name": nuisance, "spec": _spec(run, nuisance), "images": images, "prior": prior}


def _spec(run: LoadedRun, nuisance: str) -> str:
    space = run.job.nuisances.get(nuisance)
    made = nuisance if space is None or isinstance(space, InScales) else nuisances.spec_of(space)
    return run.study.nuisances.get(nuisance, made)


def spoken_names(run: LoadedRun) -> SpokenNames:
    """What people call the nuisances of a run; those that can't be loaded any more go by what the study calls them."""
    named = (row.get("nuisance") for row in _rows(run.summary["measures"]))
    every = dict.fromkeys([*run.study.nuisances, *run.job.nuisances, *(name for name in named if name)])
    return SpokenNames({name: spoken_name(run, name) for name in every})


def spoken_name(run: LoadedRun, name: str) -> str:
    """Of one nuisance; also of one that a measure makes for itself, which goes by its spec."""
    return named_title(name, _spec(run, name), _nuisance(run, name))


def _nuisance(run: LoadedRun, name: str) -> Nuisance | None:
    """The nuisance itself; one that was not loaded is made for its title, where that runs nobody's code."""
    spec = _spec(run, name)
    if name in run.job.nuisances or is_live(spec) or nuisances.runs_code(spec):
        return run.job.nuisances.get(name)
    try:
        return nuisances.build(spec)
    except (BrittleError, OSError):
        return None


def _rows(value: Any) -> Iterator[Mapping[str, Any]]:
    """Every dictionary in the lists of a summary's entries."""
    for entry in value.values():
        for rows in entry.values():
            if isinstance(rows, list):
                yield from (row for row in rows if isinstance(row, dict))


def flat(value: Any, prefix: str = "") -> dict[str, str]:
    """Nested values as a table of two columns."""
    if not isinstance(value, dict):
        return {prefix: "none" if value is None else str(value)}
    return {line: text for key, item in value.items() for line, text in flat(item, f"{prefix} {key}".strip()).items()}
