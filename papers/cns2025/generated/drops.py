"""How accuracies fall along the scale: by which images are kept (figure 3), and whether a diffusion classifier's falls
more slowly (figure 14)."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import torch
from benchmark import FOLDER, ImageTable, opened_table
from numpy.typing import NDArray
from torch import Tensor
from work import CLASSES, SCALES, Work, spread

from brittle.classifiers import classifier
from brittle.classifiers.base import AdaptedClassifier
from brittle.generation.drops import drop_curve, growth_apart
from classifiers import MEASURED, opened, predicted

KEPT = {
    "all": None,
    "filter": "annotations.json",
    "text alone": "annotations_text.json",
    "proxy labels": "annotations_labels.json",
}
DIFFUSION = "diffusion"


def selections(work: Work) -> None:
    """Each classifier on all images, on those that the filter keeps, on those that text alignment alone keeps, and on
    those that the proxy does not call out of class."""
    table, rows, failures = opened_table(work), [], []
    pixels = table.pixels()
    for name in MEASURED:
        right = (predicted(opened(work, name), pixels).numpy() == table.label).astype(float)
        for kept in KEPT:
            chosen = kept_files(work, kept)
            for shift in work.sizes.shifts:
                rows += curve_rows(
                    {"classifier": name, "kept": kept, "shift": shift}, right, *table.paths(shift, chosen)
                )
            everything = [table.paths(shift, chosen) for shift in work.sizes.shifts]
            places = np.concatenate([each for each, _ in everything])
            group = np.concatenate([each for _, each in everything])
            rows += curve_rows({"classifier": name, "kept": kept, "shift": "all"}, right, places, group)
        failures += [{"classifier": name} | row for row in _first_failures(work, table, right)]
    work.write("drops", rows)
    work.write("failures", failures)


def _first_failures(work: Work, table: ImageTable, right: NDArray[np.float64]) -> list[dict[str, Any]]:
    """Section 3.3, figures 13 and 30: the share of the paths that the filter keeps, by the scale at which they first go
    wrong."""
    rows, chosen = [], kept_files(work, "filter")
    for shift in work.sizes.shifts:
        places, _ = table.paths(shift, chosen)
        wrong = right[places] == 0
        first = np.where(wrong.any(1), wrong.argmax(1), len(SCALES))
        for place, scale in enumerate((*SCALES, None)):
            here = int((first == place).sum())
            rows.append({"shift": shift, "first_wrong_at": scale, "paths": here, "of": len(places)})
    return rows


def diffusion(work: Work) -> None:
    """The pipeline itself as a classifier beside the others, on paths that the filter keeps, or on all."""
    table, chosen = opened_table(work), kept_files(work, "filter")
    shifts = ("snow", "fog")[: work.sizes.diffusion_shifts] if not work.tiny else ("fog",)
    pixels, places, groups = table.pixels(), [], []
    for shift in shifts:
        found, group = table.paths(shift, chosen)
        if not len(found):
            found, group = table.paths(shift)
        places.append(found)
        groups.append(group)
    right = {DIFFUSION: _asked(work, _diffusion_classifier(work), pixels, table, places)}
    right |= {name: _asked(work, opened(work, name), pixels, table, places) for name in MEASURED}
    curves, apart = [], []
    for shift, where, group in [
        *zip(shifts, places, groups, strict=True),
        ("all", *map(np.concatenate, (places, groups))),
    ]:
        for name, each in right.items():
            curves += curve_rows({"classifier": name, "shift": shift}, each, where, group)
        for name in MEASURED:
            found = growth_apart(right[DIFFUSION][where], right[name][where], SCALES, group)
            about = {"classifier": name, "shift": shift, "verdict": found.verdict, "paths": len(group)}
            apart.append(about | spread("growth", found.growth) | spread("last_drop", found.drop[-1]))
    work.write("diffusion-curves", curves)
    work.write("diffusion-apart", apart)


def _diffusion_classifier(work: Work) -> AdaptedClassifier:
    labels, samples = "/".join(CLASSES), work.sizes.diffusion_samples
    return classifier(
        f"diffusion:{work.folder / 'pipeline'},labels={labels},samples={samples},fit=pad", device=str(work.device)
    )


def _asked(
    work: Work, model: AdaptedClassifier, pixels: Tensor, table: ImageTable, places: list[NDArray[np.int64]]
) -> NDArray[np.float64]:
    """(n,) whether each image is classified correctly; images that nobody asks about count as wrong."""
    wanted = np.unique(np.concatenate([each.ravel() for each in places]))
    first = {int(place): place for place in wanted}
    same: dict[bytes, int] = {}
    for place in wanted:  # images at scale 0 are the same under every shift
        first[int(place)] = same.setdefault(pixels[place].numpy().tobytes() + bytes([table.label[place]]), int(place))
    single = sorted(set(first.values()))
    answers = dict(zip(single, predicted(model, pixels[torch.tensor(single)]).tolist(), strict=True))
    right = np.zeros(len(pixels))
    for place in wanted:
        right[place] = answers[first[int(place)]] == table.label[place]
    return right


def kept_files(work: Work, kept: str) -> set[str] | None:
    name = KEPT[kept]
    file = work.folder / FOLDER / "filter" / name if name else None
    if file is None:
        return None
    if not file.is_file():
        return set()
    return {each["image"] for each in json.loads(file.read_text(encoding="utf-8"))["images"]}


def curve_rows(
    about: dict[str, Any], right: NDArray[np.float64], places: NDArray[np.int64], group: NDArray[np.int64]
) -> list[dict[str, Any]]:
    """A row per scale; none where no path is kept."""
    if not len(places):
        return []
    found = drop_curve(right[places], SCALES, group)
    rows = []
    for place, scale in enumerate(SCALES):
        row = about | {"scale": scale, "paths": len(places)}
        row |= spread("accuracy", found.accuracy[place]) | spread("drop", found.drop[place])
        rows.append(row | spread("growth", found.growth))
    return rows
