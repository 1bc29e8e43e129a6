"""An empirical-Bernstein confidence sequence for a mean of varying means, read at round ends.

Howard, Ramdas, McAuliffe & Sekhon 2021, "Time-uniform, nonparametric, nonasymptotic confidence
sequences", Annals of Statistics 49(2). Theorem 4: for X_i in [0, 1] and any predictable X̂_i in [0, 1],
with probability 1 − 2α, at all t,

    |Σ_{i ≤ t} (X_i − E_{i−1} X_i)| < u(V_t),   V_t = Σ_{i ≤ t} (X_i − X̂_i)²,

where u is a sub-exponential uniform boundary of scale c = 1 and crossing probability α. Here u is the
gamma-exponential mixture boundary (Proposition 9). A round is one fresh θ for each of P images, so at
the end of every round the mean of the E_{i−1} X_i is the same number: ρ of exactly this image set.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import gammainc, gammaln

Array = npt.NDArray[np.float64]

# ρ must be fixed before the data. It is tuned to V_t at the end of the plan, for which the variance of
# p(ℓ | θ, x) over θ is guessed: an eighth of the largest possible over a plan of rounds, a third where the reading
# stops at a half-width, since it goes on the longer the larger the variance is. A wrong guess costs width,
# never validity.
GUESSED_VARIANCE = 1 / 32
GUESSED_VARIANCE_AT_A_STOP = 1 / 12
DEFAULT_ROUNDS = 16
NEWTON_STEPS = 50


def tuned_rho(intrinsic_time: float, alpha: float) -> float:
    """The ρ for which the boundary is near its tightest at V = intrinsic_time (Howard et al.'s tuning rule)."""
    doubled = 2 * np.log(1 / alpha)
    return float(intrinsic_time / (doubled + np.log1p(doubled)))


def log_mixture(deviation: Array, variance: Array, rho: float) -> Array:
    """log m(s, v) of the gamma-exponential mixture (Proposition 9 with c = 1), s ≥ 0.

    m(s, v) = ∫ exp(λs − ψ(λ)v) dF(λ), ψ(λ) = −log(1 − λ) − λ, with 1 − λ ~ Gamma(ρ, rate ρ) on (0, 1].
    """
    a, b = variance + rho, deviation + variance + rho
    constant = rho * np.log(rho) - gammaln(rho) - np.log(gammainc(rho, rho))
    logs: Array = constant + gammaln(a) + np.log(gammainc(a, b)) - a * np.log(b) + deviation + variance
    return logs


def boundary(variance: Array, alpha: float, rho: float) -> Array:
    """u(v): the s at which log m(s, v) = log(1/α).

    log m is convex and increasing in s, so Newton's steps, after the first, come down from above and stop
    at or above the root.
    """
    a = variance + rho
    deviation: Array = np.sqrt(2 * np.log(1 / alpha) * a)
    for _ in range(NEWTON_STEPS):
        b = deviation + a
        slope = 1 - a / b + np.exp((a - 1) * np.log(b) - b - gammaln(a)) / gammainc(a, b)
        step = (log_mixture(deviation, variance, rho) - np.log(1 / alpha)) / slope
        deviation = deviation - step
        if np.all(np.abs(step) <= 1e-9 * (1 + deviation)):
            break
    return deviation


def predictions(values: Array) -> Array:
    """values (..., R, P) → X̂ (..., R, P): the mean of that image's earlier values and of one more number.

    That number is the mean of everything before, other images' values and one 1/2 included, so that the
    first round is not centred on 1/2.
    """
    rounds, images = values.shape[-2:]
    flat = values.reshape(*values.shape[:-2], rounds * images)
    overall = (0.5 + flat.cumsum(-1) - flat) / np.arange(1, rounds * images + 1)
    own = values.cumsum(-2) - values
    centres: Array = (overall.reshape(values.shape) + own) / np.arange(1, rounds + 1)[:, None]
    return np.clip(centres, 0, 1)


def planned_time(images: int, delta: float, planned: int | None, target: float | None) -> float:
    """V_t at the end of the plan, or where the half-width reaches the target: n = 2 log(2/δ) σ² / w² values of σ²."""
    at_the_end = (DEFAULT_ROUNDS if planned is None else planned) * images * GUESSED_VARIANCE
    if target is None:
        return at_the_end
    at_the_stop = float(2 * np.log(2 / delta) * (GUESSED_VARIANCE_AT_A_STOP / target) ** 2)
    return at_the_stop if planned is None else min(at_the_stop, at_the_end)


def round_ends(values: Array, delta: float, planned: int | None, target: float | None) -> tuple[Array, Array]:
    """values (..., R, P) → lower and upper ends (..., R) after each round, not yet intersected or clipped."""
    rounds, images = values.shape[-2:]
    rho = tuned_rho(planned_time(images, delta, planned, target), delta / 2)
    variance = np.square(values - predictions(values)).sum(-1).cumsum(-1)
    count = images * np.arange(1, rounds + 1)
    centre = values.sum(-1).cumsum(-1) / count
    half_width = boundary(variance, delta / 2, rho) / count
    return centre - half_width, centre + half_width
