"""The figures of the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import gather
import matplotlib.pyplot as plt
import numpy as np
import paper
import plan
import together
from matplotlib.axes import Axes

COLOURS = {"basic": "#0072B2", "mixup": "#E69F00", "fmix": "#009E73", "cutmix": "#CC79A7", "rm": "#56B4E9"}
MARKS = {"basic": "o", "mixup": "s", "fmix": "^", "cutmix": "D", "rm": "v"}
DPI = 110
Row = Mapping[str, Any]


def bars(found: Path, part: str, shown: Sequence[tuple[str, str]], out: Path) -> None:
    """Figures 2, 8, 9, 11 and 15: the change of wrong predictions into each class, a bar per run."""
    rows = gather.read(found, part, "interference")
    row_of = together.joined if part in plan.BY_ITSELF else tables_row
    picked = [
        (title, row)
        for group, nuisance in shown
        for title, row in [(f"{group}, {nuisance}", row_of(rows, group, nuisance))]
        if row is not None
    ]
    if not picked:
        return
    columns = min(len(picked), 2)
    lines = -(-len(picked) // columns)
    figure, grid = plt.subplots(lines, columns, figsize=(5.2 * columns, 2.9 * lines), squeeze=False, sharex=True)
    for axes, (title, row) in zip(grid.flat, picked, strict=False):
        increases = np.asarray(row["increases"])  # (K, runs)
        width = 0.8 / increases.shape[1]
        for run in range(increases.shape[1]):
            axes.bar(np.arange(len(increases)) + (run + 0.5) * width - 0.4, increases[:, run], width, color="#0072B2")
        axes.axhline(0, color="#444444", linewidth=0.8)
        axes.set_title(title, fontsize=10)
        axes.set_xticks(range(len(increases)), row["class_names"], rotation=60, ha="right", fontsize=8)
        axes.set_ylabel("points of images", fontsize=8)
        axes.spines[["top", "right"]].set_visible(False)
    for axes in list(grid.flat)[len(picked) :]:
        axes.set_axis_off()
    figure.tight_layout()
    figure.savefig(out, dpi=DPI)
    plt.close(figure)


def tables_row(rows: Sequence[Row], group: str, nuisance: str) -> Row | None:
    return next((row for row in rows if (row["group"], row["nuisance"]) == (group, nuisance)), None)


def _curve(axes: Axes, rows: Sequence[Row], model: str, value: str, ends: str, dashed: bool = False) -> None:
    points = sorted(rows, key=lambda row: row["share"])
    if not points or any(row[value] is None for row in points):
        return
    shares = [100 * row["share"] for row in points]
    style = "--" if dashed else "-"
    name = paper.TITLES.get(model, model) + (", textured" if dashed else "")
    axes.plot(shares, [row[value] for row in points], style, marker=MARKS[model], color=COLOURS[model], label=name)
    bounds = [row[ends] for row in points]
    if all(each is not None and None not in each for each in bounds):
        low, high = zip(*bounds, strict=True)
        axes.fill_between(shares, low, high, color=COLOURS[model], alpha=0.12, linewidth=0)


def occlusion(found: Path, part: str, suffix: str, out: Path) -> None:
    """Figures 3, 5, 10 and 12: CutOcclusion and iOcclusion, black and textured."""
    rows = [row for row in gather.read(found, part, "occlusion") if (row["sort"], row["run"]) == ("group", "occluded")]
    if not rows:
        return
    figure, grid = plt.subplots(2, 2, figsize=(10.4, 7), sharex=True)
    for column, (plain, textured, title) in enumerate(
        (("rectangle", "rectangle-mnist", "rectangles"), ("cam", "cam-mnist", "Grad-CAM masks"))
    ):
        for model in paper.MODELS:
            for nuisance, dashed in ((plain, False), (textured, True)):
                here = [row for row in rows if (row["name"], row["nuisance"]) == (model + suffix, nuisance)]
                _curve(grid[0, column], here, model, "accuracy", "accuracy_interval", dashed)
                if here and all(row["divisible"] for row in here):
                    points = sorted(here, key=lambda row: row["share"])
                    grid[1, column].plot(
                        [100 * row["share"] for row in points],
                        [row["iocclusion"] for row in points],
                        "--" if dashed else "-",
                        marker=MARKS[model],
                        color=COLOURS[model],
                    )
        grid[0, column].set_title(f"CutOcclusion, {title}", fontsize=10)
        grid[1, column].set_title(f"iOcclusion, {title}", fontsize=10)
        grid[1, column].set_xlabel("hidden share, %")
        grid[1, column].axhline(1, color="#bbbbbb", linewidth=0.8)
        grid[1, column].axhline(0, color="#bbbbbb", linewidth=0.8)
    grid[0, 0].set_ylabel("accuracy")
    grid[1, 0].set_ylabel("gap occluded / gap clean")
    grid[0, 1].legend(fontsize=7, ncols=2, frameon=False)
    for axes in grid.flat:
        axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(out, dpi=DPI)
    plt.close(figure)


def typical(found: Path, out: Path) -> None:
    """Figures 4 and 6: typical against tail images."""
    rows = [row for row in gather.read(found, "main", "occlusion") if (row["sort"], row["run"]) == ("group", "typical")]
    if not rows:
        return
    figure, grid = plt.subplots(1, 2, figsize=(10.4, 3.6), sharex=True)
    for model in ("basic", "fmix"):
        for kind, dashed in (("typical", False), ("tail", True)):
            here = sorted(
                (row for row in rows if (row["name"], row["image_set"], row["nuisance"]) == (model, kind, "rectangle")),
                key=lambda row: row["share"],
            )
            shares = [100 * row["share"] for row in here]
            style = "--" if dashed else "-"
            for axes, value in ((grid[0], "accuracy"), (grid[1], "relative")):
                axes.plot(
                    shares,
                    [row[value] for row in here],
                    style,
                    marker=MARKS[model],
                    color=COLOURS[model],
                    label=f"{paper.TITLES[model]}, {kind}",
                )
    grid[0].set_ylabel("accuracy (CutOcclusion)")
    grid[1].set_ylabel("accuracy relative to clean, A/A₀")
    grid[0].legend(fontsize=8, frameon=False)
    for axes in grid:
        axes.set_xlabel("hidden share, %")
        axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(out, dpi=DPI)
    plt.close(figure)


def random_labels(found: Path, out: Path) -> None:
    """Figure 13: networks that have learnt random labels by heart."""
    rows = [row for row in gather.read(found, "random", "occlusion") if row["sort"] == "classifier"]
    if not rows:
        return
    figure, grid = plt.subplots(1, 2, figsize=(10.4, 3.6), sharey=True)
    for axes, nuisance in zip(grid, ("cam", "rectangle"), strict=True):
        for model in ("basic", "fmix"):
            for seed, name in enumerate(sorted({row["name"] for row in rows if row["name"].startswith(model)})):
                here = sorted(
                    (row for row in rows if (row["name"], row["nuisance"]) == (name, nuisance)),
                    key=lambda row: row["share"],
                )
                axes.plot(
                    [100 * row["share"] for row in here],
                    [row["iocclusion"] for row in here],
                    marker=MARKS[model],
                    color=COLOURS[model],
                    label=f"{paper.TITLES[model]}, random labels" if not seed else None,
                )
        axes.set_title("Grad-CAM masks" if nuisance == "cam" else "rectangles", fontsize=10)
        axes.set_xlabel("hidden share, %")
        axes.spines[["top", "right"]].set_visible(False)
    grid[0].set_ylabel("iOcclusion")
    grid[0].legend(fontsize=8, frameon=False)
    figure.tight_layout()
    figure.savefig(out, dpi=DPI)
    plt.close(figure)


def draw(found: Path, out: Path) -> None:
    models = ("basic", "mixup", "cutmix", "fmix")
    bars(found, "main", [(model, "shuffle-2") for model in models], out / "shuffled.png")
    bars(found, "main", [(model, "patch") for model in models], out / "patched.png")
    bars(found, "main", [(model, "patch-mnist") for model in models], out / "textured.png")
    bars(found, "reduced", [(f"{model}-without", "patch-mnist") for model in models], out / "reduced.png")
    bars(found, "converged", [(each, "patch") for each in together.BAGNETS[:4]], out / "bagnets.png")
    occlusion(found, "main", "", out / "occlusion.png")
    occlusion(found, "long", "-long", out / "occlusion-long.png")
    typical(found, out / "typical.png")
    random_labels(found, out / "random.png")
