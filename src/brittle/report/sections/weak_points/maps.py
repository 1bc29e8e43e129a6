"""Maps of weak points: the posterior of two parameters (Fawzi & Frossard 2016, figure 1), and where occluders hurt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import adaptive_avg_pool2d

from brittle.engine.replay import Replay
from brittle.measures.outcomes import outcome
from brittle.measures.weak_points.posterior import log_likelihood
from brittle.memory import slices
from brittle.report.blocks.figure import Axis, Cells, Figure, Image, Panel, Points, Role
from brittle.report.page.pictures import data_uri
from brittle.report.sections.weak_points.figures import ends
from brittle.types import Batch, Classifier, HidesPixels

REACH = 3.0  # standard deviations of the prior to either side
MOST_SQUARES = 96  # per side of a map; larger images have coarser ones
Numbers = NDArray[np.float64]
UPRIGHT = Axis(falling=True)  # of pictures


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


def posterior_figure(maps: Sequence[PosteriorMap], names: tuple[str, str]) -> Figure:
    return Figure(
        f"Posterior over {names[0]} and {names[1]} with kept draws, for {'; '.join(each.title for each in maps)}",
        tuple(_posterior(each, (names[0], "" if place else names[1])) for place, each in enumerate(maps)),
        "Dark: θ that the prior draws often and the classifier gets wrong. Dots are the weak points found; the cross "
        "is no change. Dots away from what is dark, or dark without dots, would be a sampler’s fault.",
        height=3.3,
    )


def _posterior(found: PosteriorMap, names: tuple[str, str]) -> Panel:
    x, y = ((float(axis[0]), float(axis[-1])) for axis in (found.first, found.second))
    first, second = (tuple(numbers.tolist()) for numbers in found.theta.T)
    return Panel(
        (
            Cells(_rows(found.density), x=x, y=y, label="posterior / its maximum"),
            Points(Role("posterior"), first, second, "dot", faint=True),
            Points(Role("reference"), found.still[:1], found.still[1:], "plus"),
        ),
        Axis(names[0], None, *ends([found.first, found.theta[:, 0]])),
        Axis(names[1], None, *ends([found.second, found.theta[:, 1]])),
        found.title,
        bool(found.badge),
    )


def _rows(values: Numbers) -> tuple[tuple[float, ...], ...]:
    return tuple(map(tuple, values.round(4).tolist()))


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


def occlusion_figure(maps: Sequence[OcclusionMap]) -> Figure:
    """A row per map: the picture, where the prior hides, where weak points hide, and the difference."""
    return Figure(
        f"Where occluders hide pixels, in the prior and in weak points: {'; '.join(each.title for each in maps)}",
        tuple(panel for each in maps for panel in _hidden(each)),
        "How often each pixel is hidden: by draws of the prior, and by weak points. On the right the difference: where "
        "it is positive, hiding the picture there leads to another label more often than elsewhere.",
        columns=4,
        height=2.1,
    )


def _hidden(found: OcclusionMap) -> Iterator[Panel]:
    height, width = found.picture.shape[1:]
    prior, posterior = map(_coarser, (found.prior, found.posterior))
    gap = posterior - prior
    most, reach = max(float(prior.max()), float(posterior.max()), 1e-9), max(float(np.abs(gap).max()), 1e-9)
    x, y = _middles(width, gap.shape[1]), _middles(height, gap.shape[0])
    image = Image(data_uri(found.picture), (0.0, width - 1.0), (0.0, height - 1.0))
    difference = Cells(_rows(gap), -reach, reach, "diverging", x, y, label="difference", over=True)
    yield Panel((image,), y=UPRIGHT, title=found.title, untrusted=bool(found.badge), equal=True)
    for title, each in (("prior hides", prior), ("weak points hide", posterior)):
        cells = Cells(_rows(each), high=most, x=x, y=y, label="share of draws")
        yield Panel((cells,), y=UPRIGHT, title=title, equal=True)
    yield Panel((replace(image, faint=True), difference), y=UPRIGHT, title="weak points − prior", equal=True)


def _coarser(values: Numbers) -> Numbers:
    height, width = (min(side, MOST_SQUARES) for side in values.shape)
    return np.asarray(adaptive_avg_pool2d(torch.from_numpy(values)[None], (height, width))[0].numpy())


def _middles(pixels: int, squares: int) -> tuple[float, float]:
    """Where the first and the last of some squares lie that cover a row of pixels."""
    half = 0.5 * pixels / squares
    return half - 0.5, pixels - half - 0.5
