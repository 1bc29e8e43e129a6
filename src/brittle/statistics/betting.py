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


def log_capital(values: Array, wager: Array, mean: Array, population: int | None) -> Array:
    """log K⁺_t(m), (..., T), for one candidate mean (...) per study."""
    candidate = mean[..., None]
    if population is not None:
        drawn = np.arange(values.shape[-1], dtype=np.float64)
        before = values.cumsum(-1) - values
        # Rounding alone can carry a possible candidate outside [0, 1].
        candidate = np.clip((population * candidate - before) / (population - drawn), 0, 1)
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

    The point returned is itself excluded (or the least possible one), so rounding only widens.
    """
    low, high = possible(values, population)
    wager = bets(values, delta, horizon)
    threshold = np.log(2 / delta)

    def excluded(mean: Array) -> npt.NDArray[np.bool_]:
        beaten: npt.NDArray[np.bool_] = log_capital(values, wager, mean, population).max(-1) >= threshold
        return beaten

    untouched, empty = ~excluded(low), excluded(high)
    inside, outside = high, low
    for _ in range(BISECTIONS):
        middle = (inside + outside) / 2
        out = excluded(middle)
        inside, outside = np.where(out, inside, middle), np.where(out, middle, outside)
    end: Array = np.where(empty, np.inf, np.where(untouched, low, outside))
    return end
