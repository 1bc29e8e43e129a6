"""The page's figures: the grid, perturbation matrices (UREM, figures 8 to 10), bubbles (6) and layers (7)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import skips
from fashion import PLAIN, VARIED
from found import WHITE, Columns, Key, Network, chosen, networks, read
from tables import matrix, outcomes

from brittle.classifiers.bundled import FASHION_LABELS
from brittle.report.page.colours import MARKERS, OKABE_ITO

mpl.use("agg")

import matplotlib.pyplot as plt

SHOWN = ("full", "half", "five", "three")
DPI = 130


def draw(found: Path, out: Path) -> None:
    """Every figure whose data is there."""
    nets: dict[Key, Network] = {}
    if (found / "grid-networks.parquet").exists():
        nets = networks(found, "grid")
        save(grid(nets), out / "grid.png")
    if (found / "skips-networks.parquet").exists():
        save(skips.drawn(skips.trained(found), plt), out / "skips.png")
    if nets and (found / "variants-networks.parquet").exists():
        save(matrices(nets | networks(found, "variants")), out / "matrices.png")
    if (found / "lite-networks.parquet").exists():
        photographed = {key[0]: net for key, net in networks(found, "lite", ("network",)).items()}
        save(bubbles(nets, photographed), out / "bubbles.png")
    disturbed = layer_tables(found)
    if disturbed:
        save(layers(disturbed), out / "layers.png")


def layer_tables(found: Path) -> dict[str, Columns]:
    """A network's name → its layers."""
    made = {}
    if (found / "grid-layers.parquet").exists():
        whole = read(found / "grid-layers.parquet")
        made |= {f"{depth} convolutions": chosen(whole, depth=depth) for depth in np.unique(whole["depth"])}
    if (found / "skips-layers.parquet").exists():
        whole = read(found / "skips-layers.parquet")
        for depth, kind in sorted(set(zip(whole["depth"].tolist(), whole["variant"].tolist(), strict=True))):
            words = "convolutions" if kind == PLAIN else "with skips"
            made[f"{depth} {words}"] = chosen(whole, depth=depth, variant=kind)
    if (found / "lite-layers.parquet").exists():
        whole = read(found / "lite-layers.parquet")
        made |= {name: chosen(whole, network=name) for name in np.unique(whole["network"])}
    return made


def save(figure: Any, file: Path) -> None:
    figure.savefig(file, dpi=DPI, bbox_inches="tight", metadata={"Software": None})
    plt.close(figure)


def grid(nets: dict[Key, Network]) -> Any:
    """Accuracy, σ* and targeted size against parameters, a line per depth; a dot is a training."""
    told = outcomes(nets)
    depth, budget = (np.asarray([key[place] for key in nets]) for place in (0, 1))
    size = np.asarray([net.facts["parameters"] for net in nets.values()])
    shown = {
        "accuracy, %": "test accuracy, %",
        "σ*, path": "σ* of 255, one field per image",
        "σ*, fresh": "σ* of 255, fresh noise",
        next(reversed(told)): f"{next(reversed(told))}: L∞ in 255ths",
    }
    figure, axes = plt.subplots(1, len(shown), figsize=(3.3 * len(shown), 3.2), constrained_layout=True)
    for axis, (name, title) in zip(axes, shown.items(), strict=True):
        for place, d in enumerate(sorted(set(depth.tolist()))):
            colour, here = OKABE_ITO[place], depth == d
            cells = sorted(set(budget[here].tolist()))
            means = [told[name][here & (budget == b)].mean() for b in cells]
            label = f"{d} convolutions"
            axis.plot(cells, means, color=colour, marker=MARKERS[place], label=label)
            shifted = size[here] * (1 + 0.06 * (place - 1))
            axis.scatter(shifted, told[name][here], s=10, color=colour, alpha=0.5, linewidths=0)
        axis.set(xscale="log", xlabel="parameters", title=title)
        axis.set_xticks(sorted(set(budget.tolist())), [f"{b // 1000}k" for b in sorted(set(budget.tolist()))])
        axis.minorticks_off()
        axis.title.set_fontsize(9)
    axes[0].legend(fontsize=8)
    return figure


def matrices(nets: dict[Key, Network]) -> Any:
    """From each class (rows) to each other (columns): means over images and, where classes are the same, seeds."""
    depths = sorted({key[0] for key in nets if key[1] == VARIED})
    parts = [part for part in SHOWN if any(key[2] == part for key in nets)]
    drawn = {
        (d, part): matrix(
            [net for key, net in nets.items() if key[:3] == (d, VARIED, part) and (key[3] == 0 or part in SHOWN[:2])],
            range(len(FASHION_LABELS)),
        )
        for d in depths
        for part in parts
    }
    top = float(np.nanmax(list(drawn.values())))
    figure, axes = plt.subplots(
        len(depths), len(parts), figsize=(2.9 * len(parts), 2.9 * len(depths)), constrained_layout=True, squeeze=False
    )
    image = None
    for (d, part), values in drawn.items():
        axis = axes[depths.index(d), parts.index(part)]
        image = axis.imshow(values, vmin=0, vmax=top, cmap="viridis")
        axis.set_title(f"{d} convolutions, {part}", fontsize=9)
        axis.set_xticks(range(len(FASHION_LABELS)), FASHION_LABELS, rotation=90, fontsize=6)
        axis.set_yticks(range(len(FASHION_LABELS)), FASHION_LABELS, fontsize=6)
    figure.colorbar(image, ax=axes, shrink=0.6, label="L∞ to p(target) ≥ 0.9, in 255ths")
    return figure


def bubbles(nets: dict[Key, Network], photographed: dict[str, Network]) -> Any:
    """Polar: an angle per target, the radius the change that it takes, as % of the value range."""
    figure = plt.figure(figsize=(10, 4.6), constrained_layout=True)
    small = {f"{key[0]} convolutions": net for key, net in nets.items() if key[1:] == (VARIED, "full", 0)}
    halves = [("a FashionMNIST image", small), ("a photograph", photographed)]
    for place, (title, which) in enumerate(halves):
        if not which:
            continue
        common = frozenset.intersection(*(net.right for net in which.values()))
        rate = max(next(iter(which.values())).linf)
        image = next(image for image, _ in next(iter(which.values())).linf[rate] if image in common)
        axis = figure.add_subplot(1, 2, place + 1, projection="polar")
        for number, (name, net) in enumerate(sorted(which.items())):
            around = sorted((target, size) for (of, target), size in net.linf[rate].items() if of == image)
            angles = 2 * np.pi * np.arange(len(around)) / len(around)
            radius = np.asarray([100 * size / WHITE for _, size in around])
            closed = (np.append(angles, angles[0]), np.append(radius, radius[0]))
            axis.plot(*closed, color=OKABE_ITO[number], marker=MARKERS[number], markersize=3, label=name, linewidth=1)
        if place == 0:
            names = [FASHION_LABELS[target] for target, _ in around]
            axis.set_xticks(angles, names, fontsize=7)
        else:
            axis.set_xticks([])
        axis.set_rlim(0)
        axis.tick_params(axis="y", labelsize=7)
        axis.set_title(f"{title}: % of the value range", fontsize=9)
        axis.legend(fontsize=7, loc="lower left", bbox_to_anchor=(-0.15, -0.12))
    return figure


def layers(tables: dict[str, Columns]) -> Any:
    """σ of multiplicative noise on a layer at which the prediction changes, and P* there, as in figure 7."""
    figure, axes = plt.subplots(
        -(-len(tables) // 3), 3, figsize=(11, 3.2 * -(-len(tables) // 3)), constrained_layout=True, squeeze=False
    )
    for axis, (name, columns) in zip(axes.flat, tables.items(), strict=False):
        place = np.arange(len(columns["number"]))
        other = axis.twinx()
        bars: dict[str, Any] = {"capsize": 2, "linewidth": 1, "markersize": 4, "linestyle": "none"}
        axis.errorbar(place - 0.1, columns["mean"], columns["spread"], color=OKABE_ITO[0], marker="o", **bars)
        other.errorbar(place + 0.1, columns["p_star"], columns["p_star_spread"], color=OKABE_ITO[1], marker="s", **bars)
        ticks = [str(each) for each in columns["number"][:-1]] + ["weights"]
        axis.set_xticks(place, ticks, rotation=90, fontsize=7)
        axis.set(xlabel="layer (0 is the input)", title=name, ylim=(0, None))
        other.set_ylim(0, 1)
        axis.set_ylabel("σ* (dots, mean ± sd)", color=OKABE_ITO[0], fontsize=8)
        other.set_ylabel("P* (squares)", color=OKABE_ITO[1], fontsize=8)
    return figure
