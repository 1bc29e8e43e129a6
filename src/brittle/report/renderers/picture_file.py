"""Strips of pictures as one file, for a paper or a slide (Fawzi & Frossard 2016, figure 2)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from brittle.errors import BrittleError
from brittle.files import write_durably
from brittle.report.blocks.pictures import Card, Pixels, Strip
from brittle.report.blocks.wording import plain
from brittle.report.page.pictures import EXACT_UP_TO, from_uri, to_picture
from brittle.report.page.words import short
from brittle.report.renderers.canvas import styled
from brittle.report.renderers.figures import SOFT, UNTRUSTED
from brittle.report.renderers.resolve import Made

INCHES = 1.15  # a picture's side
BADGE = 0.25  # the room for what stands beneath and above it
DOTS = 200  # per inch
LETTERS = 17  # above a picture


def write_strips(path: Path, strips: Sequence[Strip], title: str, pixels: Made) -> None:
    """A row per strip, each picture with what stands above it; `pixels` (C, H, W) are those of sources."""
    kind = path.suffix.lstrip(".").lower() or "png"
    if kind not in Figure().canvas.get_supported_filetypes():
        raise BrittleError(f"pictures can't be written as .{kind}", "Name the file .png, .pdf or .svg.")
    columns = max(2, *(len(strip.cards) for strip in strips))
    with styled():
        figure = Figure((INCHES * columns, (INCHES + BADGE) * len(strips) + 0.4), layout="constrained")
        figure.set_layout_engine("constrained", h_pad=BADGE / 4, w_pad=0.02)
        grid = figure.subplots(len(strips), columns, squeeze=False)
        for row, strip in zip(grid, strips, strict=True):
            _strip(row, strip, pixels)
        figure.suptitle(title, fontsize=9)
        write_durably(path, lambda to: figure.savefig(to, dpi=DOTS, format=kind, metadata=_undated(kind)))


def _strip(row: np.ndarray[tuple[int], np.dtype[np.object_]], strip: Strip, pixels: Made) -> None:
    for axes in row:
        axes.set_axis_off()
    for axes, card in zip(row, strip.cards, strict=False):
        _show(axes, card, pixels)
    if strip.badge:
        row[0].text(
            0.5, -0.04, strip.badge, transform=row[0].transAxes, ha="center", va="top", fontsize=6.5, color="white",
            bbox={"facecolor": UNTRUSTED, "edgecolor": "none", "pad": 1.5}, in_layout=False,
        )  # fmt: skip
    if strip.text:
        beside = row[len(strip.cards)] if len(strip.cards) < len(row) else row[-1]
        beside.text(
            0, 0.5, plain(strip.text), transform=beside.transAxes, va="center", fontsize=7, color=SOFT, in_layout=False
        )  # fmt: skip


def _show(axes: Axes, card: Card, pixels: Made) -> None:
    if card.source is None:
        return
    picture = from_uri(card.source.uri) if isinstance(card.source, Pixels) else to_picture(pixels[card.source])
    shown = np.asarray(picture)
    smooth = "none" if max(shown.shape[:2]) <= EXACT_UP_TO else "antialiased"
    axes.imshow(shown, cmap="gray", vmin=0, vmax=255, interpolation=smooth)
    colour = UNTRUSTED if card.role == "wrong" else "black"
    axes.set_title(short(plain(card.caption), LETTERS), fontsize=8, color=colour, pad=2)


def _undated(kind: str) -> dict[str, None] | None:
    """The same draws give the same bytes."""
    return {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
