"""Weak points as one picture for a paper or a slide (Fawzi & Frossard 2016, figure 2)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from brittle.errors import BrittleError
from brittle.report.blocks import Pictures
from brittle.report.page.loaded import LoadedRun
from brittle.report.page.section import Row
from brittle.report.renderers.picture_file import write_strips
from brittle.report.renderers.resolve import pixels_of
from brittle.report.sections.weak_points.draws import read_draws, shown_images
from brittle.report.sections.weak_points.strips import strips


def write_weak_points(path: Path, run: LoadedRun, entry: Row, rows: pa.Table, images: int | Sequence[int]) -> None:
    """Writes a picture of one entry of the summary: `rows` hold its draws, and `images` says how many images are shown,
    or which by their ids."""
    per_image = entry["per_image"]
    if isinstance(images, int):
        chosen = shown_images(per_image, images)
    else:
        by_id = {row["id"]: row for row in per_image}
        chosen = [by_id[id] for id in images]
    if not chosen:
        raise BrittleError("there is no image to show: all are wrong untouched", "Name some by their ids.")
    shown = strips(run, entry, chosen, read_draws([rows], [row["id"] for row in chosen]))
    write_strips(path, shown, f"Weak points under {entry['nuisance']}", pixels_of(run, [Pictures(shown)]))
