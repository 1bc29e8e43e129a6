"""Rows of a summary, image set by image set, and what their groups are called."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from brittle.report.blocks.text import Text
from brittle.report.page.section import MeasureRun, Row, Summary


def by_set(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """Image set → its rows."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row["image_set"], []).append(row)
    return found


def of_set(rows: Iterable[Row], images: str, nuisance: str = "") -> list[Row]:
    """Those of an image set, or of an image set under a nuisance."""
    return [row for row in rows if row["image_set"] == images and nuisance in ("", row.get("nuisance"))]


def cells(summary: Summary) -> list[tuple[Sequence[Row], Sequence[Row]]]:
    """The results and the comparisons of each image set under each nuisance."""
    results, pairs = summary["results"], summary["comparisons"]
    every = dict.fromkeys((row["image_set"], row["nuisance"]) for row in results)
    return [(of_set(results, *cell), of_set(pairs, *cell)) for cell in every]


def on_set(run: MeasureRun, images: str, otherwise: str) -> str:
    """The title of all that is said of an image set, where there is more than one."""
    return f"On {images}" if run.many_sets else otherwise


def with_set(run: MeasureRun, title: str, images: str) -> Text:
    """A title, such as a nuisance's name, with the image set where there is more than one."""
    return (title, f", on {images}") if run.many_sets else title
