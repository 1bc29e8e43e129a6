"""Where occluding rectangles hurt a face recogniser: maps over the aligned face, shares of its regions, and a gallery.

A weak point hides more than a prior draw, and what hides more hides the middle of the image most. So weak points are
also held against prior draws that hide as much: given the hidden area, either prior is uniform over rectangles, and
what then differs is where they lie.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
import torch
from faces import SIDE
from figure4 import COLUMNS, PRIOR_NAMES, PRIORS, REGIONS, Drawn, Experiment, prior_draws
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import FixedLocator, NullLocator, PercentFormatter
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

import brittle
from brittle.measures.weak_points.diagnosis import TRUSTED
from brittle.nuisances.ops.rectangles import union_area
from brittle.report.blocks.pictures import Card, Pixels, Strip
from brittle.report.page.pictures import data_uri
from brittle.report.renderers.canvas import STYLE
from brittle.report.renderers.figures import SCALES
from brittle.report.renderers.picture_file import write_strips
from brittle.report.sections.weak_points.maps import hidden_share

BINS = 24
REACH = 2.0  # of the map of ratios, to either side of 1
Numbers = NDArray[np.float64]


class Maps(NamedTuple):
    """Shares of draws that hide each pixel, under one prior."""

    prior: Numbers  # (H, W)
    metropolis: Numbers  # (n, H, W), image by image
    reference: Numbers  # (n, H, W)
    matched: Numbers  # (H, W) of prior draws that hide as much as the reference's
    matched_metropolis: Numbers  # (H, W) as much as Metropolis's


def maps_of(experiment: Experiment, seed: int) -> dict[str, Maps]:
    pool = {prior: prior_draws(prior, seed) for prior in PRIORS}
    everything = torch.cat(list(pool.values()))
    return {
        prior: Maps(
            share(pool[prior]),
            each_share(experiment.drawn[prior, "metropolis"]),
            each_share(experiment.drawn[prior, "auto"]),
            area_matched(experiment.drawn[prior, "auto"], everything),
            area_matched(experiment.drawn[prior, "metropolis"], everything),
        )
        for prior in PRIORS
    }


def share(theta: Tensor) -> Numbers:
    nothing = brittle.Batch(torch.zeros(1, 1, SIDE, SIDE), torch.zeros(1).long(), torch.zeros(1).long())
    return hidden_share(brittle.nuisance(PRIORS["flat"]), nothing, theta)  # type: ignore[arg-type]


def each_share(drawn: Drawn) -> Numbers:
    return np.stack([share(torch.from_numpy(theta)) for theta in drawn.theta])


def areas(theta: Tensor) -> Tensor:
    """Hidden pixels (k,); a real corner stands for the nearest whole one."""
    return union_area((theta + 0.5).floor().view(-1, 3, 4).double())


def area_matched(drawn: Drawn, pool: Tensor) -> Numbers:
    """(H, W): prior draws weighted so that they hide as many pixels as the weak points, bin by bin. Bins in which no
    prior draw lies are left out."""
    wanted, there = areas(torch.from_numpy(drawn.theta).flatten(0, 1)), areas(pool)
    edges = torch.quantile(wanted, torch.linspace(0, 1, BINS + 1, dtype=torch.float64))[1:-1].contiguous()
    which, total = torch.bucketize(there, edges), np.zeros((SIDE, SIDE))
    counts = torch.bincount(torch.bucketize(wanted, edges), minlength=BINS)
    lowest, highest, used = wanted.min(), wanted.max(), 0
    for place in range(BINS):
        some = pool[(which == place) & (there >= lowest) & (there <= highest)]
        if len(some):
            total += float(counts[place]) * share(some)
            used += int(counts[place])
    return total / used


def region_share(values: Numbers, region: str | None) -> Numbers:
    """(…, H, W) → (…): the mean over a region, or over the whole image."""
    rows, columns = (REGIONS[region], COLUMNS) if region else (slice(None), slice(None))
    return np.asarray(values[..., rows, columns].mean((-2, -1)))


def write_map(path: Path, experiment: Experiment, maps: dict[str, Maps]) -> None:
    """A row per prior: mean face, prior, Metropolis, reference, and reference against prior draws that hide as much."""
    face = experiment.faces.images.mean(0)
    with mpl.rc_context(STYLE):  # type: ignore[arg-type]
        figure = Figure((11, 4.9), layout="constrained")
        grid = figure.subplots(len(maps), 5)
        for row, (prior, each) in zip(grid, maps.items(), strict=True):
            row[0].imshow(face, cmap="gray", vmin=0, vmax=255)
            row[0].set_ylabel(PRIOR_NAMES[prior], fontsize=9)
            outline(row[0], "#E69F00", named=True)
            shares = each.prior, each.metropolis.mean(0), each.reference.mean(0)
            most = max(float(values.max()) for values in shares)
            for axes, values in zip(row[1:4], shares, strict=True):
                mesh = axes.imshow(values, cmap=SCALES["rising"], vmin=0, vmax=most)
                outline(axes, "#555555")
            bar = figure.colorbar(mesh, ax=row[3], shrink=0.8, pad=0.02, format=PercentFormatter(1, 0))
            bar.ax.tick_params(labelsize=7)
            bar.set_label("of draws hide it", fontsize=8)
            scale = ScalarMappable(LogNorm(1 / REACH, REACH), "PuOr_r")
            row[4].imshow(scale.to_rgba(each.reference.mean(0) / each.matched))
            row[4].contour(face, levels=[70, 90, 110], colors="black", linewidths=0.3, alpha=0.5)
            outline(row[4], "#222222")
            bar = figure.colorbar(scale, ax=row[4], shrink=0.8, pad=0.02)
            bar.ax.yaxis.set_major_locator(FixedLocator([0.5, 0.7, 1, 1.4, 2]))
            bar.ax.yaxis.set_minor_locator(NullLocator())
            bar.ax.set_yticklabels(["½", "0.7", "1", "1.4", "2"], fontsize=7)
            bar.set_label("times as often", fontsize=8)
        titles = (
            f"mean of {len(experiment.faces.people)} faces",
            "prior hides",
            "weak points hide\n(Metropolis)",
            "weak points hide\n(default sampler)",
            "default sampler against\nprior draws that hide as much",
        )
        for axes, title in zip(grid[0], titles, strict=True):
            axes.set_title(title, fontsize=9)
        for axes in grid.flat:
            axes.set(xticks=[], yticks=[])
            axes.spines[:].set_visible(False)
        figure.savefig(path, dpi=130)
    shrink(path)


def outline(axes: Axes, colour: str, named: bool = False) -> None:
    left, width = COLUMNS.start, COLUMNS.stop - COLUMNS.start
    for name, rows in REGIONS.items():
        corner = left - 0.5, rows.start - 0.5
        axes.add_patch(Rectangle(corner, width, rows.stop - rows.start, fill=False, edgecolor=colour, linewidth=0.8))
        if named:
            axes.text(left + 1.5, rows.start + 1, name, color=colour, fontsize=6.5, va="top")


def shown(drawn: Drawn, place: int, person: int, most: int) -> NDArray[np.int64]:
    """Which draws of a person the gallery shows: different ones, taken for somebody else."""
    wrong = np.flatnonzero(drawn.predicted[place] != person)
    _, firsts = np.unique(drawn.theta[place][wrong], axis=0, return_index=True)
    return np.random.default_rng(person).permutation(wrong[np.sort(firsts)])[:most]


def write_gallery(
    path: Path, experiment: Experiment, which: tuple[str, str], title: str, people: int, each: int
) -> None:
    """The first people, and some occluded faces that are taken for another person."""
    nuisance: Any = brittle.nuisance(PRIORS[which[0]])
    drawn, strips = experiment.drawn[which], []
    for place, person in enumerate(experiment.faces.people.tolist()[:people]):
        face = experiment.faces.tensor[place]
        chosen = shown(drawn, place, person, each)
        batch = brittle.Batch(face[None], torch.tensor([person]), torch.tensor([person]))
        many = batch.take(torch.zeros(len(chosen), dtype=torch.int64))
        pictures = nuisance.apply(many, torch.from_numpy(drawn.theta[place][chosen])) if len(chosen) else []
        mistakes = tuple(
            Card(Pixels(data_uri(picture)), f"s{taken + 1}", role="wrong")
            for picture, taken in zip(pictures, drawn.predicted[place][chosen].tolist(), strict=True)
        )
        status = drawn.about[place]["status"]
        note = "" if mistakes else "No draw is taken for another person."
        original = Card(Pixels(data_uri(face)), f"s{person + 1}")
        strips.append(Strip((original, *mistakes), note, "" if status == TRUSTED else status))
    write_strips(path, strips, title, {})
    shrink(path)


def shrink(path: Path) -> None:
    """The same picture in 256 colours."""
    Image.open(path).convert("RGB").quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)
