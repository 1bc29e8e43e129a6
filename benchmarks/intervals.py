"""Coverage and width of the three intervals beside Hoeffding's, by simulation, as a Markdown table.

    python benchmarks/intervals.py

Seeded; about two minutes on one core. Each row is 2,000 studies at confidence 0.95. "coverage" and "half-width"
read the interval once, at the planned size; "stopped" reads it at every fifth of that size and stops at the
first half-width within the tolerance. Hoeffding's half-width is that of a mean of as many independent values,
and holds at the planned size only; for (a) and (c) the values are the images, for (b) rounds × images. A second
table gives the mean number of images that a tolerance takes (and the coverage there), over 200 studies; a third, over
2,000, how far the mean at the stop is from ρ on average when an interval is read every 32 images, as `measure` does; a
fourth, over 10,000, how often the running intersection, before it is widened, leaves out the mean of its own values.
`--only outside` prints that one alone.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from brittle.statistics.betting import Horizon, lower_end
from brittle.statistics.intervals import (
    Bounds,
    betting_bounds,
    finite_bounds,
    hoeffding_half_width,
    rounds_bounds,
    theorem1_images,
)

Array = npt.NDArray[np.float64]
CONFIDENCE, STUDIES, STEPS = 0.95, 2000, 5


class Case(NamedTuple):
    name: str
    truth: float
    planned: int
    values_per_step: int
    tolerance: float
    bounds_at: Callable[[int], Bounds]


def share(bounds: Bounds, truth: float) -> float:
    return float(np.mean((bounds.low <= truth) & (truth <= bounds.high)))


def stop(case: Case) -> tuple[float, float]:
    """Coverage and mean size when each study stops at the first reading within the tolerance."""
    sizes = sorted({max(1, round(case.planned * step / STEPS)) for step in range(1, STEPS + 1)})
    covered, size_at_stop = np.zeros(STUDIES), np.zeros(STUDIES)
    running = np.ones(STUDIES, dtype=bool)
    for size in sizes:
        bounds = case.bounds_at(size)
        ends = running & ((bounds.half_width <= case.tolerance) | (size == sizes[-1]))
        covered[ends] = ((bounds.low <= case.truth) & (case.truth <= bounds.high))[ends]
        size_at_stop[ends] = size
        running &= ~ends
    return float(covered.mean()), float(size_at_stop.mean())


def populations(rng: np.random.Generator, images: int = 400) -> Iterable[Case]:
    distributions: dict[str, tuple[Callable[[tuple[int, int]], Array], float]] = {
        "µ̂ = 0 or 1, evenly": (lambda shape: (rng.random(shape) < 0.5).astype(np.float64), 0.5),
        "µ̂ = 0 or 1, 0.95 of them 1": (lambda shape: (rng.random(shape) < 0.95).astype(np.float64), 0.95),
        "µ̂ ~ Beta(1/2, 1/2)": (lambda shape: rng.beta(0.5, 0.5, shape), 0.5),
        "µ̂ ~ Beta(8, 0.4)": (lambda shape: rng.beta(8, 0.4, shape), 8 / 8.4),
        "µ̂ ~ Beta(20, 20)": (lambda shape: rng.beta(20, 20, shape), 0.5),
    }
    for name, (draw, truth) in distributions.items():
        values = draw((STUDIES, images))

        def planned(size: int, values: Array = values) -> Bounds:
            return betting_bounds(values[:, :size], CONFIDENCE, planned=images)

        tolerance = 1.5 * float(planned(images).half_width.mean())
        yield Case(f"(a) {name}, M = {images}", truth, images, 1, tolerance, planned)
        if truth == 0.5 and "evenly" in name:

            def unplanned(size: int, values: Array = values) -> Bounds:
                return betting_bounds(values[:, :size], CONFIDENCE)

            tolerance = 1.5 * float(unplanned(images).half_width.mean())
            yield Case(f"(a) the same, nothing planned, M = {images}", truth, images, 1, tolerance, unplanned)


def sets(rng: np.random.Generator, images: int = 100, rounds: int = 20) -> Iterable[Case]:
    mixed = np.concatenate([np.full(images // 2, 0.001), np.full(images // 2, 0.999)])
    spread = np.linspace(0.01, 0.99, images)
    shape = (STUDIES, rounds, images)
    cases: dict[str, tuple[Array, float]] = {
        "p = 0 or 1, µ(x) = 1/2": ((rng.random(shape) < 0.5).astype(np.float64), 0.5),
        "p = 0 or 1, µ(x) evenly spread": ((rng.random(shape) < spread).astype(np.float64), 0.5),
        "p = 0 or 1, µ(x) = 0.001 or 0.999": ((rng.random(shape) < mixed).astype(np.float64), 0.5),
        "p ~ Beta(8, 0.4)": (rng.beta(8, 0.4, shape), 8 / 8.4),
    }
    for name, (values, truth) in cases.items():

        def at(size: int, values: Array = values) -> Bounds:
            return rounds_bounds(values[:, :size], CONFIDENCE, planned=rounds)

        tolerance = 1.5 * float(at(rounds).half_width.mean())
        yield Case(f"(b) {name}, {rounds} rounds × {images}", truth, rounds, images, tolerance, at)


def finite(rng: np.random.Generator, population: int = 1000, draws: int = 20) -> Iterable[Case]:
    for name, mu in {
        "µ ~ Beta(1/2, 1/2)": rng.beta(0.5, 0.5, population),
        "µ ~ Beta(8, 0.4)": rng.beta(8, 0.4, population),
    }.items():
        order = rng.permuted(np.tile(np.arange(population), (STUDIES, 1)), axis=-1)
        for images in (200, 800):
            values = rng.binomial(draws, mu[order[:, :images]]) / draws

            def at(size: int, values: Array = values, images: int = images) -> Bounds:
                return finite_bounds(values[:, :size], CONFIDENCE, population=population, draws=draws, planned=images)

            tolerance = 1.5 * float(at(images).half_width.mean())
            label = f"(c) {name}, {images} of {population}, N = {draws}"
            yield Case(label, float(mu.mean()), images, 1, tolerance, at)


def images_needed(draw: Callable[[tuple[int, int]], Array], truth: float, tolerance: float, **plan: float) -> str:
    """Mean number of images at which the half-width is within the tolerance, looked at every 5 %, and the coverage."""
    studies, most = 200, 8000
    values = draw((studies, most))
    stopped, covered = np.full(studies, most), np.zeros(studies, dtype=bool)
    running, size = np.ones(studies, dtype=bool), 32
    while running.any() and size <= most:
        places = np.flatnonzero(running)
        bounds = betting_bounds(values[places, :size], CONFIDENCE, **plan)  # type: ignore[arg-type]
        ends = bounds.half_width <= tolerance
        stopped[places[ends]] = size
        covered[places[ends]] = ((bounds.low <= truth) & (truth <= bounds.high))[ends]
        running[places[ends]] = False
        size = max(size + 32, int(size * 1.05))
    if running.any():
        return f"over {most} in {running.mean():.1%} of studies"
    return f"{stopped.mean():.0f} ({covered.mean():.3f})"


def stopping(rng: np.random.Generator) -> None:
    print("\n| (a) values | tolerance | theorem 1, first bound | nothing planned | tolerance as target |")
    print("| --- " * 5 + "|")
    distributions: dict[str, tuple[Callable[[tuple[int, int]], Array], float]] = {
        "0 or 1, evenly": (lambda shape: (rng.random(shape) < 0.5).astype(np.float64), 0.5),
        "Beta(1/2, 1/2)": (lambda shape: rng.beta(0.5, 0.5, shape), 0.5),
        "0 or 1, 0.95 of them 1": (lambda shape: (rng.random(shape) < 0.95).astype(np.float64), 0.95),
        "Beta(8, 0.4)": (lambda shape: rng.beta(8, 0.4, shape), 8 / 8.4),
    }
    for name, (draw, truth) in distributions.items():
        for tolerance in (0.05, 0.02):
            plain = images_needed(draw, truth, tolerance)
            meant = images_needed(draw, truth, tolerance, target=tolerance)
            print(
                f"| {name} | {tolerance} | {theorem1_images(tolerance, 1 - CONFIDENCE)} | {plain} | {meant} |",
                flush=True,
            )


def bias(rng: np.random.Generator) -> None:
    """Stopping when the interval is narrow prefers studies whose values vary little, which near 1 are the high ones."""
    print("\n| (a) values | tolerance | mean of ρ̂ − ρ (standard error) | mean half-width | mean images |")
    print("| --- " * 5 + "|")
    most = 1600
    for name, draw, truth in (
        ("0 or 1, 0.8 of them 1", lambda shape: (rng.random(shape) < 0.8).astype(np.float64), 0.8),
        ("0 or 1, 0.95 of them 1", lambda shape: (rng.random(shape) < 0.95).astype(np.float64), 0.95),
        ("Beta(2, 0.5)", lambda shape: rng.beta(2, 0.5, shape), 0.8),
        ("Beta(8, 0.4)", lambda shape: rng.beta(8, 0.4, shape), 8 / 8.4),
    ):
        values = draw((STUDIES, most))
        for tolerance in (0.05, 0.03):
            stopped, mean, width = np.full(STUDIES, most), values.mean(-1), np.full(STUDIES, np.nan)
            running = np.arange(STUDIES)
            for size in range(32, most + 1, 32):
                bounds = betting_bounds(values[running, :size], CONFIDENCE, planned=most, target=tolerance)
                ends = bounds.half_width <= tolerance
                at = running[ends]
                stopped[at], mean[at], width[at] = size, values[at, :size].mean(-1), bounds.half_width[ends]
                running = running[~ends]
                if not running.size:
                    break
            off = mean - truth
            print(
                f"| {name} | {tolerance} | {off.mean():+.4f} ({off.std() / math.sqrt(STUDIES):.4f}) "
                f"| {np.nanmean(width):.4f} | {stopped.mean():.0f} |",
                flush=True,
            )


def outside(rng: np.random.Generator) -> None:
    """How often `betting_bounds` has to widen the running intersection so that it holds the mean of the values."""
    images, studies, at_once = 1000, 10_000, 1000
    print(f"\n| (a) values, M = {images} | the mean lies outside the running intersection | coverage before widening |")
    print("| --- " * 3 + "|")
    for name, draw, truth in (
        ("0 or 1, evenly", lambda shape: (rng.random(shape) < 0.5).astype(np.float64), 0.5),
        ("0 or 1, 0.95 of them 1", lambda shape: (rng.random(shape) < 0.95).astype(np.float64), 0.95),
        ("Beta(1/2, 1/2)", lambda shape: rng.beta(0.5, 0.5, shape), 0.5),
        ("Beta(8, 0.4)", lambda shape: rng.beta(8, 0.4, shape), 8 / 8.4),
        ("Beta(20, 20)", lambda shape: rng.beta(20, 20, shape), 0.5),
    ):
        left_out, covered = 0, 0
        for _ in range(studies // at_once):
            values, horizon = draw((at_once, images)), Horizon(images, None)
            low = lower_end(values, 1 - CONFIDENCE, horizon, None)
            high = 1 - lower_end(1 - values, 1 - CONFIDENCE, horizon, None)
            mean = values.mean(-1)
            left_out += int(((mean < low) | (mean > high)).sum())
            covered += int(((low <= truth) & (truth <= high)).sum())
        print(f"| {name} | {left_out / studies:.2%} | {covered / studies:.4f} |", flush=True)


def theorem1() -> None:
    """The second bound where p(ℓ | θ, x) does not depend on θ, and the betting interval on the same data."""
    tolerance, images, draws, studies = 0.05, 8, 100, 4000
    mu = np.random.default_rng(2).beta(0.5, 0.5, (studies, images))
    kept = np.mean(np.abs(mu.mean(-1) - 0.5) <= tolerance)
    held = share(betting_bounds(mu, CONFIDENCE, planned=images), 0.5)
    print(
        f"\nTheorem 1, second bound, M = {images}, N = {draws}, t = {tolerance}: promised {CONFIDENCE}, kept in "
        f"{kept:.3f} of {studies} studies; the betting interval covers in {held:.3f}."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--only", choices=["outside"], help="one table alone")
    if parser.parse_args().only:
        outside(np.random.default_rng(4))
        return
    rng = np.random.default_rng(0)
    columns = "values", "coverage", "half-width", "Hoeffding's", "tolerance", "coverage, stopped", "mean size, stopped"
    print("| " + " | ".join(columns) + " |")
    print("| --- " * len(columns) + "|")
    for cases in (populations(rng), sets(rng), finite(rng)):
        for case in cases:
            bounds = case.bounds_at(case.planned)
            covered, size = stop(case)
            hoeffding = hoeffding_half_width(case.planned * case.values_per_step, CONFIDENCE)
            print(
                f"| {case.name} | {share(bounds, case.truth):.4f} | {bounds.half_width.mean():.4f} | {hoeffding:.4f} "
                f"| {case.tolerance:.4f} | {covered:.4f} | {size:.0f} of {case.planned} |",
                flush=True,
            )
    stopping(rng)
    bias(np.random.default_rng(3))
    outside(np.random.default_rng(4))
    theorem1()


if __name__ == "__main__":
    main()
