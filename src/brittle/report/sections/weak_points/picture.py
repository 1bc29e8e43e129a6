"""Weak points as one picture for a paper or a slide (Fawzi & Frossard 2016, figure 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from brittle.engine.replay import Replay
from brittle.errors import BrittleError
from brittle.files import write_durably
from brittle.report.page.figures import styled
from brittle.report.page.label_names import LabelNames
from brittle.report.page.pictures import EXACT_UP_TO, to_picture
from brittle.report.sections.weak_points.draws import read_draws, shown_images
from brittle.report.sections.weak_points.figures import UNTRUSTED
from brittle.report.sections.weak_points.strips import PictureSource, Strip, strips

INCHES = 1.15  # a picture's side
BADGE = 0.25  # the room for what stands beneath and above it
DOTS = 200  # per inch


def write_weak_points(
    path: Path,
    entry: Mapping[str, Any],
    rows: pa.Table,
    replay: Replay,
    names: LabelNames,
    images: int | Sequence[int],
) -> None:
    """Writes a picture of one entry of the summary: `rows` hold its draws, `names` are those of the classifier's
    labels, and `images` says how many images are shown, or which by their ids."""
    per_image = entry["per_image"]
    if isinstance(images, int):
        chosen = shown_images(per_image, images)
    else:
        by_id = {row["id"]: row for row in per_image}
        chosen = [by_id[id] for id in images]
    if not chosen:
        raise BrittleError("there is no image to show: all are wrong untouched", "Name some by their ids.")
    source = PictureSource(replay, names)
    shown = strips(source, chosen, read_draws([rows], [row["id"] for row in chosen]))
    write_strips(path, shown, f"Weak points under {entry['nuisance']}")


def write_strips(path: Path, shown: Sequence[Strip], title: str) -> None:
    """A row per image: the original with its label, then mistakes with what the classifier says above each."""
    kind = path.suffix.lstrip(".").lower() or "png"
    if kind not in Figure().canvas.get_supported_filetypes():
        raise BrittleError(f"pictures can't be written as .{kind}", "Name the file .png, .pdf or .svg.")
    columns = 1 + max(1, *(len(strip.mistakes) for strip in shown))
    with styled():
        figure = Figure((INCHES * columns, (INCHES + BADGE) * len(shown) + 0.4), layout="constrained")
        figure.set_layout_engine("constrained", h_pad=BADGE / 4, w_pad=0.02)
        grid = figure.subplots(len(shown), columns, squeeze=False)
        for row, strip in zip(grid, shown, strict=True):
            _strip(row, strip)
        figure.suptitle(title, fontsize=9)
        write_durably(path, lambda to: figure.savefig(to, dpi=DOTS, format=kind, metadata=_undated(kind)))


def _strip(row: np.ndarray[tuple[int], np.dtype[np.object_]], strip: Strip) -> None:
    for axes in row:
        axes.set_axis_off()
    _show(row[0], strip.original, strip.label)
    if strip.badge:
        row[0].text(
            0.5, -0.04, strip.badge, transform=row[0].transAxes, ha="center", va="top", fontsize=6.5, color="white",
            bbox={"facecolor": UNTRUSTED, "edgecolor": "none", "pad": 1.5}, in_layout=False,
        )  # fmt: skip
    for axes, mistake in zip(row[1:], strip.mistakes, strict=False):
        _show(axes, mistake.image, mistake.label, UNTRUSTED)
    if strip.note:
        grey = "#5c5c5c"
        row[1].text(
            0, 0.5, strip.note, transform=row[1].transAxes, va="center", fontsize=7, color=grey, in_layout=False
        )


def _show(axes: Axes, image: Tensor, label: str, colour: str = "black") -> None:
    smooth = "none" if max(image.shape[1:]) <= EXACT_UP_TO else "antialiased"
    axes.imshow(np.asarray(to_picture(image)), cmap="gray", vmin=0, vmax=255, interpolation=smooth)
    axes.set_title(label if len(label) <= 17 else label[:16] + "…", fontsize=8, color=colour, pad=2)


def _undated(kind: str) -> dict[str, None] | None:
    """The same draws give the same bytes."""
    return {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
