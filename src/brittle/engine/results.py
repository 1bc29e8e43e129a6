"""From stored rows to results: what was found for every classifier, image set and nuisance of a job."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from brittle.engine.job import CLEAN, Chosen, Job
from brittle.engine.rows import to_columns
from brittle.engine.store import Cell, Store
from brittle.engine.watch import Watch
from brittle.errors import BrittleError
from brittle.images.base import ImageSet
from brittle.measures.summary import Finding, compare_all, summarise
from brittle.types import Nuisance

NEAR_CHANCE = 0.1  # of the way from chance to perfection: an accuracy below that is called near chance


def findings(job: Job, store: Store, images: str, nuisance: str) -> dict[str, Finding]:
    """Per classifier: the tally of its finished prefix, and its clean rows."""
    chosen = job.images[images]
    units = job.units(images, nuisance)
    found = {}
    for name in job.classifiers:
        clean = clean_columns(job, store, images, name)
        watch = Watch(job.measure, units, len(chosen.images), len(chosen.whole), clean["predicted"])
        for span, rows in store.read(Cell(name, images, nuisance)):
            watch.feed(span, to_columns(rows))
        if watch.reach.images == 0:
            raise BrittleError(
                f"the run holds nothing of {name!r} under {nuisance!r} yet", "Give `brittle run` again to go on."
            )
        found[name] = Finding(watch.tally, watch.reach, clean)
    return found


def clean_columns(job: Job, store: Store, images: str, classifier: str) -> dict[str, NDArray[Any]]:
    """The clean rows in planned order; images not reached are left at −1."""
    count = len(job.images[images].images)
    units = job.units(images, CLEAN)
    columns: dict[str, NDArray[Any]] = {
        "predicted": np.full(count, -1, dtype=np.int64),
        "rank": np.full(count, -1, dtype=np.int64),
        "log_p_label": np.full(count, np.nan),
        "log_p_predicted": np.full(count, np.nan),
    }
    for span, rows in store.read(Cell(classifier, images, CLEAN)):
        here = slice(units[span.first].first_image, units[span.end - 1].end_image)
        for name, values in columns.items():
            values[here] = rows[name].to_numpy()
    return columns


def summary(job: Job, store: Store) -> dict[str, Any]:
    """summary.json: a result per (image set, nuisance, classifier), paired comparisons, warnings, and what was used.

    Each interval of ρ is given twice: on its own, and simultaneous over all of them. Comparisons are simultaneous."""
    results, comparisons, warnings = [], [], []
    cells = len(job.images) * len(job.nuisances)
    count = len(job.classifiers)
    families = (cells * count, cells * max(1, count * (count - 1) // 2))
    for images, chosen in job.images.items():
        for nuisance, space in job.nuisances.items():
            found = findings(job, store, images, nuisance)
            names = {"image_set": images, "nuisance": nuisance}
            prior = _prior(space, chosen.images)
            rows = [
                {"classifier": name, **names, "prior": prior, "seed": job.seed}
                | summarise(job.measure, finding, chosen.subject, families[0])
                for name, finding in found.items()
            ]
            results += rows
            comparisons += [names | pair for pair in compare_all(job.measure, found, chosen.subject, families[1])]
            warnings += _near_chance(job, nuisance, rows)
        warnings += _chosen_otherwise(job, images)
    warnings = list(dict.fromkeys(warnings))
    return {
        "results": results,
        "comparisons": comparisons,
        "warnings": warnings,
        "classifiers": {name: {"labels": list(each.labels)} for name, each in job.classifiers.items()},
        "image_sets": {name: _described(chosen) for name, chosen in job.images.items()},
        "skipped": {name: list(chosen.whole.skipped) for name, chosen in job.images.items()},
    }


def _described(chosen: Chosen) -> dict[str, Any]:
    images = chosen.images
    described = {
        "images": len(images),
        "population": len(chosen.whole),
        "shape": list(images.shape),
        "classes": list(images.classes),
    }
    if len(images.shapes) > 1:
        described |= {"median_shape": list(images.median_shape), "shapes": len(images.shapes)}
    return described


def _prior(space: Nuisance, images: ImageSet) -> str:
    """What the prior means on these images; where they differ in size, on the one in the middle."""
    _, height, width = images.median_shape
    meant = space.describe(height, width)
    return meant if len(images.shapes) == 1 else f"{meant} (on the median image, {width}×{height})"


def _chosen_otherwise(job: Job, name: str) -> list[str]:
    """What a user may not expect of the images: fewer than asked for, or classes matched by number."""
    chosen, lines = job.images[name], []
    if chosen.asked is not None and chosen.asked > len(chosen.images):
        lines.append(f"the image set {name!r} has {len(chosen.images)} images; {chosen.asked} were asked for")
    classes = chosen.images.classes
    for classifier, each in job.classifiers.items():
        if classes and len(classes) != len(each.labels) and not set(classes) <= set(each.labels):
            shown = ", ".join(f"{label} = {number}" for number, label in enumerate(classes[:3]))
            lines.append(
                f"the classes of {name!r} go to the {len(each.labels)} classes of {classifier!r} by number "
                f"({shown}, …): "
                "if that is wrong, name the classifier's classes with labels=…"
            )
    return lines


def _near_chance(job: Job, nuisance: str, rows: list[dict[str, Any]]) -> list[str]:
    """A prior can destroy the label itself: then even the best classifier guesses."""
    labelled = [row for row in rows if row["accuracy_nuisance"] is not None]
    if not labelled:
        return []
    best = max(labelled, key=lambda row: row["accuracy_nuisance"])
    chance = 1 / len(job.classifiers[best["classifier"]].labels)
    low = chance + NEAR_CHANCE * (1 - chance)
    if best["accuracy_nuisance"] >= low:
        return []
    if max(row["accuracy_clean"] for row in labelled) < low:
        return [
            f"even the best classifier is near chance on the untouched images (accuracy {best['accuracy_clean']:.3f}): "
            "check range, mean, std and channels, and the order of the labels"
        ]
    return [
        f"under {nuisance} even the best classifier is near chance (accuracy {best['accuracy_nuisance']:.3f}, "
        f"chance {chance:.3f}): this prior may destroy the label itself; look at its draws"
    ]
