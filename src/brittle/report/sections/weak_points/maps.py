"""Maps of weak points: the posterior of two parameters (Fawzi & Frossard 2016, figure 1), and where occluders hurt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray
from torch import Tensor

from brittle.engine.replay import Replay
from brittle.measures.outcomes import outcome
from brittle.measures.weak_points.posterior import log_likelihood
from brittle.memory import slices
from brittle.report.page.figures import WIDTH, svg
from brittle.report.page.pictures import EXACT_UP_TO, LONGEST, to_picture
from brittle.report.sections.weak_points.figures import POSTERIOR, RISING, UNTRUSTED
from brittle.types import Batch, Classifier, HidesPixels

REACH = 3.0  # standard deviations of the prior to either side
Numbers = NDArray[np.float64]


class PosteriorMap(NamedTuple):
    """p(not ℓ | T_θ x) p(θ | x), or p(θ | x) where the prediction is not ℓ, over a grid of two parameters, relative to
    its greatest value there."""

    title: str
    badge: str
    first: Numbers  # (n,) values of the first parameter
    second: Numbers  # (n,)
    density: Numbers  # (n, n), rows along the second
    theta: NDArray[np.float32]  # (k, 2) the kept draws
    still: tuple[float, float]  # the θ that changes nothing


@torch.inference_mode()
def posterior_on_grid(
    classifier: Classifier,
    replay: Replay,
    place: int,
    label: int,
    first: Tensor,
    second: Tensor,
    at_once: int,
    failing: bool = False,
) -> Tensor | None:
    """log p(not ℓ | T_θ x) + log p(θ | x) of the image at `place`, (m, n) for θ = (first (n,), second (m,)); None where
    the prior has no density. With `failing` the prior alone, where the prediction is another label."""
    down, across = torch.meshgrid(second, first, indexing="ij")
    theta = torch.stack((across.flatten(), down.flatten()), -1)
    log_prior = replay.nuisance.log_prior(theta[None].double(), replay.images.batch([place]))
    if log_prior is None:
        return None
    found = []
    for part in slices(len(theta), at_once):
        answers = classifier.log_probs(replay.at(place, theta[part].float()))
        found.append(log_likelihood(outcome(answers, torch.full((len(theta[part]),), label)), failing))
    return (torch.cat(found) + log_prior[0]).view(len(second), len(first))


def grid_around(mean: float, deviation: float, side: int) -> Tensor:
    return torch.linspace(mean - REACH * deviation, mean + REACH * deviation, side, dtype=torch.float64)


def posterior_figure(key: str, maps: Sequence[PosteriorMap], names: tuple[str, str]) -> Markup:
    def draw(figure: Figure) -> None:
        grid = figure.subplots(1, len(maps), squeeze=False)
        for axes, each in zip(grid[0], maps, strict=True):
            half = (each.first[1] - each.first[0]) / 2, (each.second[1] - each.second[0]) / 2
            mesh = axes.imshow(
                each.density, cmap=RISING, vmin=0, vmax=1, interpolation="none", origin="lower", aspect="auto",
                extent=(each.first[0] - half[0], each.first[-1] + half[0], each.second[0] - half[1],
                        each.second[-1] + half[1]),
            )  # fmt: skip
            axes.plot(*each.theta.T, ".", color=POSTERIOR, markersize=3.4, markeredgewidth=0, alpha=0.85)
            axes.plot(*each.still, "+", color="black", markersize=8, markeredgewidth=1.2)
            axes.set_title(each.title, fontsize=9, color=UNTRUSTED if each.badge else "black")
            axes.set_xlabel(names[0], fontsize=9)
            axes.tick_params(labelsize=8)
            axes.locator_params(nbins=6)
        grid[0][0].set_ylabel(names[1], fontsize=9)
        bar = figure.colorbar(mesh, ax=grid[0].tolist(), shrink=0.8, pad=0.01, ticks=[0, 0.5, 1])
        bar.set_label("posterior / its maximum", fontsize=8)
        bar.ax.tick_params(labelsize=8)

    about = f"Posterior over {names[0]} and {names[1]} with kept draws, for {'; '.join(each.title for each in maps)}"
    return svg(key, (WIDTH, 3.3), about, draw)


class OcclusionMap(NamedTuple):
    """How often each pixel is hidden, by the prior and by weak points."""

    title: str
    badge: str
    picture: Tensor  # (C, H, W)
    prior: Numbers  # (H, W) shares of draws
    posterior: Numbers  # (H, W)


@torch.inference_mode()
def hidden_share(nuisance: HidesPixels, batch: Batch, theta: Tensor) -> Numbers:
    """(H, W): how many of the draws θ (k, d) hide each pixel, as a share; all have the same weight."""
    height, width = batch.images.shape[-2:]
    total = torch.zeros(height, width, dtype=torch.float64)
    for part in slices(len(theta), 256):
        same = batch.take(torch.zeros(part.stop - part.start, dtype=torch.int64))
        total += nuisance.hidden_pixels(theta[part], same)[:, 0].double().sum(0)
    return np.asarray((total / len(theta)).numpy())


def averaged(maps: Sequence[OcclusionMap], title: str) -> OcclusionMap | None:
    """The mean over images; None where they differ in shape."""
    if len({each.picture.shape for each in maps}) != 1:
        return None
    return OcclusionMap(
        title,
        "",
        torch.stack([each.picture for each in maps]).mean(0),
        np.mean([each.prior for each in maps], 0),
        np.mean([each.posterior for each in maps], 0),
    )


def occlusion_figure(key: str, maps: Sequence[OcclusionMap]) -> Markup:
    """A row per map: the picture, where the prior hides, where weak points hide, and the difference."""

    def draw(figure: Figure) -> None:
        grid = figure.subplots(len(maps), 4, squeeze=False)
        for row, each in zip(grid, maps, strict=True):
            _picture(row[0], each.picture)
            row[0].set_ylabel(each.title, fontsize=9, color=UNTRUSTED if each.badge else "black")
            most = max(float(each.prior.max()), float(each.posterior.max()), 1e-9)
            for axes, shares in ((row[1], each.prior), (row[2], each.posterior)):
                mesh = axes.imshow(shares, cmap=RISING, vmin=0, vmax=most, interpolation="none")
            _bar(figure, mesh, row[2], "share of draws")
            gap = each.posterior - each.prior
            _picture(row[3], each.picture, faint=True)
            reach = max(float(np.abs(gap).max()), 1e-9)
            scale = ScalarMappable(Normalize(-reach, reach), "PuOr_r")
            colours = scale.to_rgba(gap)
            colours[..., 3] = np.clip(2 * np.abs(gap) / reach, 0, 0.85)  # where nothing differs the image shows
            row[3].imshow(colours, interpolation="none")
            _bar(figure, scale, row[3], "difference")
        for axes, title in zip(
            grid[0], ("image", "prior hides", "weak points hide", "weak points − prior"), strict=True
        ):
            axes.set_title(title, fontsize=9)
        for axes in grid.flat:
            axes.set_xticks([])
            axes.set_yticks([])
            for side in axes.spines.values():
                side.set_visible(False)

    about = f"Where occluders hide pixels, in the prior and in weak points: {'; '.join(each.title for each in maps)}"
    return svg(key, (WIDTH, 0.3 + 1.95 * len(maps)), about, draw)


def _picture(axes: Axes, image: Tensor, faint: bool = False) -> None:
    picture = to_picture(image)
    height, width = image.shape[1:]
    if max(picture.size) > EXACT_UP_TO:
        picture.thumbnail((LONGEST, LONGEST))
    shown = 128 + np.asarray(picture.convert("L")) // 2 if faint else np.asarray(picture)
    extent = (-0.5, width - 0.5, height - 0.5, -0.5)
    axes.imshow(shown, cmap="gray", vmin=0, vmax=255, interpolation="none", extent=extent)


def _bar(figure: Figure, mesh: ScalarMappable, axes: Axes, name: str) -> None:
    bar = figure.colorbar(mesh, ax=axes, shrink=0.85, pad=0.02)
    bar.set_label(name, fontsize=8)
    bar.ax.tick_params(labelsize=7)
    bar.locator = MaxNLocator(4)
    bar.update_ticks()
