"""Curved paths by SUNDIALS IDA, for small images: an index-1 differential-algebraic equation in n + 1 unknowns x, λ.

    0 = x' − v + λg                              v = (x₁ − x)/(1 − t), g = ∇m
    0 = g·v − λ‖g‖² − c' + κ(m − c)              c(t) from m(x₀) to m(x₁)

v is singular at t = 1: the solver stops before, and a straight segment that is checked like the rest closes the path.
"""

from __future__ import annotations

import importlib.util
import io
import math
from contextlib import redirect_stdout
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from brittle.errors import MissingPackage
from brittle.measures.connectedness.margin import level
from brittle.measures.connectedness.projected import STEEP, CurvedPaths, PathEnds, close_paths, frames_at
from brittle.measures.connectedness.walk import ClassRegion, follow_paths

RELATIVE, ABSOLUTE = 1e-4, 1e-5  # tolerances: a float32 network has no more to give
MOST_STEPS = 100  # between two of the times asked for
DIFFERENCE = 1e-3  # in pixel values, for the curvature of m

Numbers = NDArray[np.float64]


class SolvedPath(NamedTuple):
    """One path at the times that were asked for; where the solver failed, its last point stands for the rest."""

    nodes: Tensor  # (T, C, H, W)
    arrived: bool
    calls: int


def require_ida() -> None:
    if importlib.util.find_spec("sksundae") is None:
        raise MissingPackage("scikit-sundae", "ode", "a curved path by SUNDIALS IDA (method=torch does without)")


def by_ida(
    inside: ClassRegion, ends: PathEnds, until: float, steps: int, points: int, kappa: float, frames: bool = False
) -> CurvedPaths:
    """Paths from the first to the second image of each pair, one after another."""
    times = -np.expm1(np.linspace(0, math.log1p(-until), steps + 1))
    solved = [_PathEquation(inside, ends, pair, kappa).solved(times) for pair in range(len(ends.margin))]
    nodes = torch.stack([each.nodes for each in solved])
    arrived, calls = (
        torch.tensor(each, device=nodes.device)
        for each in ([each.arrived for each in solved], [each.calls for each in solved])
    )
    found = follow_paths(inside, steps, ends.margin, lambda pair, at: nodes[pair, at])
    found = found._replace(calls=found.calls + calls)
    checked = close_paths(inside, found, nodes[:, -1], ends.end, arrived, points)
    return CurvedPaths(checked, arrived, torch.full_like(calls, steps), frames_at(nodes, times, ends.end, frames))


class _PathEquation:
    """The equation of one pair, as IDA asks for it: y is x and then λ, in float64."""

    def __init__(self, inside: ClassRegion, ends: PathEnds, pair: int, kappa: float) -> None:
        self.inside, self.kappa, self.calls = inside, kappa, 0
        self.start, self.label = ends.start[pair], inside.labels[pair : pair + 1]
        self.to = _flat(ends.end[pair])
        self.c_start, self.rise = float(ends.m_start[pair]), float(ends.m_end[pair] - ends.m_start[pair])

    def solved(self, times: Numbers) -> SolvedPath:
        from sksundae.ida import IDA  # an optional package, which takes a moment to import

        x = _flat(self.start)
        _, (g,) = self.levels(x[None])
        v = self.to - x
        factor = (g @ v - self.rise) / max(g @ g, STEEP)
        solver = IDA(
            self.residual,
            jacfn=self.jacobian,
            algebraic_idx=[len(x)],
            rtol=RELATIVE,
            atol=ABSOLUTE,
            max_num_steps=MOST_STEPS,
        )
        with redirect_stdout(io.StringIO()):  # where the solver prints why it failed
            found = solver.solve(times, np.append(x, factor), np.append(v - factor * g, 0.0))
        there = np.asarray(found.y)[:, : len(x)]
        there = np.concatenate((there, np.repeat(there[-1:], len(times) - len(there), 0)))
        arrived = bool(found.success) and len(found.y) == len(times) and bool(np.isfinite(there).all())
        nodes = torch.from_numpy(np.nan_to_num(there)).to(self.start).view(-1, *self.start.shape)
        return SolvedPath(nodes, arrived, self.calls)

    def levels(self, x: Numbers) -> tuple[Numbers, Numbers]:
        """x (B, n) → m (B,), ∇m (B, n)"""
        images = torch.from_numpy(x.copy()).to(self.start).view(-1, *self.start.shape)
        self.calls += len(images)
        self.inside.tick(len(images))
        found = level(self.inside.classifier, images, self.label.expand(len(images)))
        return found.m.double().cpu().numpy(), found.g.flatten(1).double().cpu().numpy()

    def residual(self, t: float, y: Numbers, slope: Numbers, out: Numbers) -> None:
        x, factor = y[:-1], y[-1]
        (m,), (g,) = self.levels(x[None])
        v = (self.to - x) / (1 - t)
        c = self.c_start + t * self.rise
        out[:-1] = slope[:-1] - v + factor * g
        out[-1] = g @ v - factor * (g @ g) - self.rise + self.kappa * (m - c)

    def jacobian(self, t: float, y: Numbers, slope: Numbers, res: Numbers, cj: float, out: Any) -> None:
        """∂F/∂y + cj ∂F/∂y', with the curvature of m by differences of its gradient, all in one batch."""
        x, factor = y[:-1], y[-1]
        n, eye = len(x), np.eye(len(x))
        _, g = self.levels(np.concatenate((x[None], x + DIFFERENCE * eye, x - DIFFERENCE * eye)))
        curvature = (g[1 : n + 1] - g[n + 1 :]) / (2 * DIFFERENCE)
        curvature = (curvature + curvature.T) / 2
        g, left = g[0], 1 - t
        out[:n, :n] = (cj + 1 / left) * eye + factor * curvature
        out[:n, n] = g
        out[n, :n] = curvature @ ((self.to - x) / left - 2 * factor * g) - g / left + self.kappa * g
        out[n, n] = -(g @ g)


def _flat(image: Tensor) -> Numbers:
    return image.flatten().double().cpu().numpy()
