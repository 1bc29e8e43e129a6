"""Fawzi & Frossard 2016, figure 3 in kind: photographs, and what three networks take their transformations for.

    python papers/fawzi2016/figure3.py
    python papers/fawzi2016/figure3.py --amplitude 8 --to small.png --labels "white wolf" hen convertible microwave

Makes the transformed photographs again from the θ that table2.py kept in figure3.parquet; no network is needed. A dash
stands where a network is wrong untouched or no (further) kept draw has another label.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pyarrow.parquet as pq
import torch
from matplotlib.axes import Axes
from PIL import Image
from table2 import HERE, photographs, prior

import brittle

SHOWN = ("gyromitra", "white wolf", "lampshade", "kuvasz", "chime", "croquet ball")
INCHES = 1.5  # a picture's side
CHANGED, FAINT = "#9c1f0a", "#5c5c5c"


def transformed(images: brittle.ImageSet, row: Mapping[str, Any]) -> torch.Tensor:
    """T_θ x (3, H, W)."""
    theta = torch.tensor(row["theta"])[None]
    return brittle.nuisance(prior(row["amplitude"])).apply(images.batch([row["image"]]), theta)[0]


def chosen(rows: Sequence[Mapping[str, Any]], label: str, network: str, most: int) -> list[Mapping[str, Any]]:
    """The draws of a photograph to show, those with different predictions first."""
    here = [row for row in rows if row["label"] == label and row["network"] == network]
    firsts = {row["predicted"]: row for row in reversed(here)}
    unusual = [row for row in here if firsts[row["predicted"]] is row]
    return [*unusual, *(row for row in here if firsts[row["predicted"]] is not row)][:most]


def draw(
    images: brittle.ImageSet, rows: Sequence[Mapping[str, Any]], labels: Sequence[str], most: int, to: Path
) -> None:
    networks = list(dict.fromkeys(row["network"] for row in rows))
    columns = 1 + most * len(networks)
    figure, grid = plt.subplots(
        len(labels), columns, figsize=(INCHES * columns, (INCHES + 0.2) * len(labels) + 0.3), squeeze=False
    )
    figure.subplots_adjust(left=0.005, right=0.995, bottom=0.005, top=1 - 0.5 / figure.get_figheight(), wspace=0.03)
    for line, label in zip(grid, labels, strict=True):
        for axes in line:
            axes.set_axis_off()
        show(line[0], images.batch([images.classes.index(label)]).images[0], label, "black")
        for place, network in enumerate(networks):
            here = line[1 + most * place : 1 + most * (place + 1)]
            for axes, row in itertools.zip_longest(here, chosen(rows, label, network, most)):
                if row is None:
                    axes.text(0.5, 0.5, "–", transform=axes.transAxes, ha="center", color=FAINT)
                else:
                    show(axes, transformed(images, row), row["predicted"], CHANGED)
    heads = ["photograph", *(f"Lite {network[-1]}" for network in networks for _ in range(most))]
    for axes, head in zip(grid[0], heads, strict=True):
        axes.text(0.5, 1.17, head, transform=axes.transAxes, ha="center", va="bottom", fontsize=9, color=FAINT)
    figure.savefig(to, dpi=60)
    with Image.open(to) as picture:  # photographs make large files in full colour
        picture.convert("RGB").quantize(192).save(to, optimize=True)


def show(axes: Axes, image: torch.Tensor, title: str, colour: str) -> None:
    axes.imshow(np.asarray(image.permute(1, 2, 0).clamp(0, 1)))
    axes.set_title(title if len(title) <= 21 else title[:20] + "…", fontsize=8.5, color=colour, pad=2)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data/imagenet-sample"), help="the photographs")
    parser.add_argument("--draws", type=Path, default=HERE / "figure3.parquet", help="what table2.py kept")
    parser.add_argument("--amplitude", type=float, help="of the prior, in pixels; the largest there is by default")
    parser.add_argument("--labels", nargs="+", default=list(SHOWN), help="photographs to show")
    parser.add_argument("--each", type=int, default=2, help="transformations a network")
    parser.add_argument("--to", type=Path, default=HERE / "figure3.png", help="the picture's file")
    options = parser.parse_args()
    rows = pq.read_table(options.draws).to_pylist()
    amplitude = options.amplitude or max(row["amplitude"] for row in rows)
    rows = [row for row in rows if row["amplitude"] == amplitude]
    draw(photographs(options.data), rows, options.labels, options.each, options.to)


if __name__ == "__main__":
    main()
