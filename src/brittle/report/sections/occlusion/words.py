"""Occlusion in words, and what of it is shown: a line per model, which is a classifier or the runs of a group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from brittle.report.page.section import Row, Summary
from brittle.report.page.words import counted
from brittle.report.sections.grouped import of_set


class DescribedModel(NamedTuple):
    """What is said of a classifier, or of several runs of one model."""

    name: str
    classifier: str  # itself, or the first of the group
    runs: int
    row: Row

    @property
    def named(self) -> str:
        return f"{self.name} ({self.runs} runs)" if self.runs > 1 else self.name

    @property
    def points(self) -> Sequence[Row]:
        return list(self.row["points"])


def models(summary: Summary, images: str, nuisance: str) -> list[DescribedModel]:
    """Groups, and classifiers without one, of one image set under one nuisance."""
    here, groups = (of_set(summary[key], images, nuisance) for key in ("results", "groups"))
    found = {row["group"]: DescribedModel(row["group"], row["classifiers"][0], row["runs"], row) for row in groups}
    for row in here:
        if row["group"] is None:
            found[row["classifier"]] = DescribedModel(row["classifier"], row["classifier"], 1, row)
    order = list(dict.fromkeys(row["group"] or row["classifier"] for row in here))
    return [found[name] for name in order]


def interplay(point: Row) -> tuple[float | None, Sequence[float] | None]:
    """iOcclusion at one share; of a group, the ratio of the means."""
    key = "iocclusion" if "iocclusion" in point else "ratio_of_means"
    return point[key], point[f"{key}_interval"]


def cells(summary: Summary) -> dict[str, list[str]]:
    """Image set → its nuisances, those with the same mask beside each other."""
    found: dict[str, dict[str, dict[str, None]]] = {}
    for row in summary["results"]:
        found.setdefault(row["image_set"], {}).setdefault(row["mask"], {})[row["nuisance"]] = None
    return {images: [name for names in masks.values() for name in names] for images, masks in found.items()}


def share(value: float | None) -> str:
    return "as drawn" if value is None else f"{100 * value:.3g} %"


def hidden_of(row: Row) -> str:
    """What shares are shares of."""
    if row["as_drawn"]:
        return "the share is drawn by the nuisance"
    return "shares are of each side" if row["share_of"] == "sides" else "shares are of the pixels"


def subject(row: Row) -> str:
    """1,000 images of test, 1,000 of train"""
    trained = "" if row["train_set"] is None else f", {counted(row['train_images'], 'image')} of {row['train_set']}"
    return f"{counted(row['images'], 'image')} of {row['image_set']}{trained}"


def some(points: Sequence[Any], most: int = 5) -> list[int]:
    """Places of a few points, evenly spaced from the first to the last."""
    count = min(most, len(points))
    return sorted({round(place * (len(points) - 1) / max(1, count - 1)) for place in range(count)})


def no_gap(row: Row) -> str:
    """Why there is no iOcclusion; "" where there is."""
    if row["train_set"] is None or row["divisible"]:
        return ""
    low, high = row["gap_interval"]
    why = "is too small to divide by" if high >= 0 else "is below 0: test images are the easier ones"
    return (
        f"the gap between training and test accuracy, {100 * row['gap']:.2f} points "
        f"[{100 * low:.2f}, {100 * high:.2f}], {why}"
    ).replace("-", "−")


def fillings(summary: Summary, images: str) -> Iterator[str]:
    """How much a number changes with what fills the mask, all else being equal (figures 3 and 5 of the paper)."""
    names = cells(summary)[images]
    for first, second in combinations(names, 2):
        if not _differ_in_filling(summary, images, first, second):
            continue
        for one, other in zip(models(summary, images, first), models(summary, images, second), strict=True):
            accuracy = max(abs(a["accuracy"] - b["accuracy"]) for a, b in zip(one.points, other.points, strict=True))
            pairs = [(interplay(a)[0], interplay(b)[0]) for a, b in zip(one.points, other.points, strict=True)]
            known = [abs(a - b) for a, b in pairs if a is not None and b is not None]
            also = f", and iOcclusion by up to {max(known):.2f}" if known else ""
            yield (
                f"{one.name}: from {one.row['filled_with']} ({first}) to {other.row['filled_with']} ({second}) "
                f"accuracy changes by up to {100 * accuracy:.1f} points{also}."
            )


def _differ_in_filling(summary: Summary, images: str, first: str, second: str) -> bool:
    one, other = (of_set(summary["results"], images, name)[0] for name in (first, second))
    return bool(one["mask"] == other["mask"] and one["filled_with"] != other["filled_with"])
