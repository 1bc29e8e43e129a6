"""The betting confidence sequence for the mean of numbers in [0, 1] (Waudby-Smith & Ramdas 2023).

"Estimating means of bounded random variables by betting", JRSS B 86(1): the hedged capital process
with predictable plug-in bets, and its form for draws without replacement. For a candidate mean m,

    K⁺_t(m) = Π_{i ≤ t} (1 + λ_i⁺ (x_i − m_i)),   λ_i⁺ = min(λ_i, c / m_i),
    K⁻_t(m) = Π_{i ≤ t} (1 − λ_i⁻ (x_i − m_i)),   λ_i⁻ = min(λ_i, c / (1 − m_i)),

are nonnegative martingales if m is the mean, so that max(K⁺, K⁻)/2 ever reaches 1/δ with probability
at most δ (Ville). With replacement m_i = m; without, m_i is the mean of what is left under m.
K⁺ falls with m and K⁻ rises, so the candidates that survive are an interval, found by bisection.
K⁻ of x at m is K⁺ of 1 − x at 1 − m: only the lower end is written.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

# The paper suggests 1/2 or 3/4. Classifiers worth measuring have µ(x) near 1, where 3/4 is tighter.
TRUNCATION = 0.75
BISECTIONS = 36  # 2⁻³⁶ of the range: 1.5e-11
NEWTON_STEPS = 12  # at most; two are usual
CLOSE = 1e-8  # a step of Newton's method after which the next would be far below 2⁻³⁶
TOGETHER = 1 << 14  # numbers of several studies
TINY = 1e-300  # in place of 0, where it would divide


class Horizon(NamedTuple):
    """The size at which the sequence should be tightest: n values, or as many as a half-width will take.

    It must be fixed before the data are seen; it moves widths, never validity."""

    planned: int | None = None
    target: float | None = None


def bets(values: Array, delta: float, horizon: Horizon) -> Array:
    """values (..., T) → λ (..., T), each a function of earlier values only (predictable plug-in).

    λ_t = sqrt(2 log(2/δ) / (σ̂²_{t−1} · t log(1 + t))), or with n instead of t log(1 + t) when n values
    are planned; µ̂_t = (1/2 + Σ x) / (t + 1) and σ̂²_t = (1/4 + Σ (x_i − µ̂_i)²) / (t + 1). A target half-width w
    plans n̂_t = 2 log(2/δ) σ̂²_{t−1} / w² values, which earlier values know too, and no more than n.
    """
    time = np.arange(1, values.shape[-1] + 1, dtype=np.float64)
    mean = (0.5 + values.cumsum(-1)) / (time + 1)
    variance = (0.25 + np.square(values - mean).cumsum(-1)) / (time + 1)
    before = np.concatenate([np.full_like(variance[..., :1], 0.25), variance[..., :-1]], axis=-1)
    size = time * np.log1p(time) if horizon.planned is None else np.full_like(time, horizon.planned)
    if horizon.target is not None:
        wanted = 2 * np.log(2 / delta) * before / horizon.target**2
        size = wanted if horizon.planned is None else np.minimum(size, wanted)
    wager: Array = np.sqrt(2 * np.log(2 / delta) / (before * size))
    return wager


def left_means(values: Array, mean: Array, population: int | None) -> Array:
    """m_i (..., T), or (..., 1) where all are the same, for one candidate mean (...) per study."""
    if population is None:
        return mean[..., None]
    drawn = np.arange(values.shape[-1], dtype=np.float64)
    before = values.cumsum(-1) - values
    # Rounding alone can carry a possible candidate outside [0, 1].
    left: Array = np.clip((population * mean[..., None] - before) / (population - drawn), 0, 1)
    return left


def log_capital(values: Array, wager: Array, mean: Array, population: int | None) -> Array:
    """log K⁺_t(m), (..., T), for one candidate mean (...) per study."""
    candidate = left_means(values, mean, population)
    # min(λ, c/m) without dividing by m, which may be 0.
    stake = TRUNCATION * wager / np.maximum(TRUNCATION, wager * candidate)
    logs: Array = np.log1p(stake * (values - candidate)).cumsum(-1)
    return logs


def possible(values: Array, population: int | None) -> tuple[Array, Array]:
    """The means that no data can exclude: [0, 1], or what the numbers not yet drawn leave open."""
    total = values.sum(-1)
    if population is None:
        return np.zeros_like(total), np.ones_like(total)
    return total / population, (total + (population - values.shape[-1])) / population


def lower_end(values: Array, delta: float, horizon: Horizon, population: int | None) -> Array:
    """The lower end (...) of the running intersection at time T; +∞ where every candidate is excluded.

    The point returned is itself excluded (or the least possible one), so rounding only widens. It is where bisection
    ends. Where that is, Newton's method says far sooner, and two candidates are then enough to be sure. Studies go
    together as far as a cache holds them.
    """
    leading, flat = values.shape[:-1], values.reshape(-1, values.shape[-1])
    size = max(1, TOGETHER // values.shape[-1])
    ends = [_lower_ends(flat[start : start + size], delta, horizon, population) for start in range(0, len(flat), size)]
    return np.concatenate([*ends, np.zeros(0)]).reshape(leading)


def _lower_ends(values: Array, delta: float, horizon: Horizon, population: int | None) -> Array:
    """The lower ends (S,) of values (S, T)."""
    wager, threshold = bets(values, delta, horizon), float(np.log(2 / delta))
    low, high = possible(values, population)
    end, inside = _cell(_near_end(values, wager, threshold, population), low, high, population)
    # K⁺ falls with m: what lies below an excluded candidate is excluded too, and what lies above a survivor survives.
    out, kept = _excluded(values, wager, end, threshold, population), end == low
    sure = np.where(out, ~_excluded(values, wager, inside, threshold, population), kept)
    if not sure.all():
        end[~sure] = _bisected(values[~sure], wager[~sure], threshold, population)
    return end


def _excluded(
    values: Array, wager: Array, mean: Array, threshold: float, population: int | None
) -> npt.NDArray[np.bool_]:
    """Whether the capital has ever reached the threshold, (S,) for one candidate mean (S,) per study."""
    beaten: npt.NDArray[np.bool_] = log_capital(values, wager, mean, population).max(-1) >= threshold
    return beaten


def _bisected(values: Array, wager: Array, threshold: float, population: int | None) -> Array:
    """The lower ends (S,), by bisection from all that is possible."""
    low, high = possible(values, population)
    untouched = ~_excluded(values, wager, low, threshold, population)
    empty = _excluded(values, wager, high, threshold, population)
    inside, outside = high, low
    for _ in range(BISECTIONS):
        middle = (inside + outside) / 2
        out = _excluded(values, wager, middle, threshold, population)
        inside, outside = np.where(out, inside, middle), np.where(out, middle, outside)
    end: Array = np.where(empty, np.inf, np.where(untouched, low, outside))
    return end


def _near_end(values: Array, wager: Array, threshold: float, population: int | None) -> Array:
    """Close to the m (S,) at which the greatest capital is the threshold, or the least possible m if it is less there.

    Newton's method, kept between an excluded candidate and a survivor. Bets are small, so that log K⁺ is nearly
    Σ λ(x − m) − λ²(x − m)²/2, which gives the start."""
    least, above = possible(values, population)
    below, studies, times = least, np.arange(len(values)), np.arange(values.shape[-1])
    middle = (wager * values).sum(-1) / wager.sum(-1)
    lost = np.square(wager * (values - middle[:, None])).sum(-1) / 2
    near: Array = np.clip(middle - (threshold + lost) / wager.sum(-1), below, above)
    for _ in range(NEWTON_STEPS):
        capital, falls = _growth(values, wager, near, population)
        best = capital.argmax(-1)
        excess = capital[studies, best] - threshold
        below, above = np.where(excess >= 0, near, below), np.where(excess >= 0, above, near)
        step = excess / np.maximum((falls * (times <= best[:, None])).sum(-1), TINY)
        wanted = near + step
        wanted = np.where(wanted >= below, wanted, np.where(below == least, least, (below + above) / 2))
        near = np.where(wanted <= above, wanted, np.where(above == least, least, (below + above) / 2))
        if np.all((np.abs(step) < CLOSE) | (above == least)):
            break
    return near


def _growth(values: Array, wager: Array, mean: Array, population: int | None) -> tuple[Array, Array]:
    """log K⁺_t(m) (S, T), and by how much each term of it falls with m."""
    candidate = left_means(values, mean, population)
    cut = wager * candidate > TRUNCATION
    if cut.any():
        stake = np.where(cut, TRUNCATION / np.maximum(candidate, TINY), wager)
        growth = 1 + stake * (values - candidate)
        falls = np.where(cut, stake * values / np.maximum(candidate, TINY), stake) / growth
    else:
        growth = 1 + wager * (values - candidate)
        falls = wager / growth
    if population is not None:
        falls *= population / (population - np.arange(values.shape[-1], dtype=np.float64))
    return np.log(growth).cumsum(-1), falls


def _cell(near: Array, low: Array, high: Array, population: int | None) -> tuple[Array, Array]:
    """Between which two candidates (S,) bisection of [low, high] would end, if `near` were where exclusion ends."""
    if population is None:  # halves of [0, 1] are exact
        outside = np.minimum(np.floor(near * 2**BISECTIONS), 2**BISECTIONS - 1) / 2**BISECTIONS
        return outside, outside + 2**-BISECTIONS
    inside, outside = high, low
    for _ in range(BISECTIONS):
        middle = (inside + outside) / 2
        out = middle <= near
        inside, outside = np.where(out, inside, middle), np.where(out, middle, outside)
    return outside, inside
