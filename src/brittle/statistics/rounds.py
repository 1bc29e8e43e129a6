"""An empirical-Bernstein confidence sequence for a mean of varying means, read at the ends of pairs of rounds.

Howard, Ramdas, McAuliffe & Sekhon 2021, "Time-uniform, nonparametric, nonasymptotic confidence
sequences", Annals of Statistics 49(2). S_t is sub-exponential with variance process V_t and scale 1 if
exp(λS_t − ψ(λ)V_t), ψ(λ) = −log(1 − λ) − λ, is bounded by a supermartingale that starts at 1, for every λ in [0, 1).
Then, with probability 1 − 2α, |S_t| < u(V_t) at all t, where u is a uniform boundary of crossing probability α. Here it
is the gamma-exponential mixture boundary (Proposition 9).

A round is one fresh observation in [0, 1] for each of P images, so at the end of every round the mean of all their
means µ is the same number: ρ of exactly this image set. Two rounds make a pair: observations y and y' of each image,
independent and with the same mean. S grows by y + y' − 2µ, and V by (y − y')², for

    E exp(λ(y + y' − 2µ) − ψ(λ)(y − y')²) ≤ 1.

Proof. Let A = y − µ, B = y' − µ. By Fan's inequality, exp(λξ − ψ(λ)ξ²) ≤ 1 + λξ for ξ ≥ −1 (the one behind Howard et
al.'s Theorem 4), with ξ = −|A − B|: the integrand is at most H(A, B) = exp(2λ max(A, B)) (1 − λ|A − B|). As a
function of A alone, H is linear below B, and there is no kink at B, beyond which its second derivative is
−4λ³(A − B) exp(2λA) ≤ 0: it is concave, and so it is in B. By Jensen's inequality, E H(A, B) ≤ E H(0, B) ≤ H(0, 0) = 1,
since A and B are independent with mean 0. The same of 1 − y and 1 − y' gives the other side.

No prediction of the images' means is needed, so that very different images, and few rounds, cost nothing. Where the
planned rounds are odd in number, the first is not part of a pair: Theorem 4 then adds (y − ŷ)² to V, ŷ being the mean
of what came before.
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
    """values (..., P) of one round → ŷ (..., P): for each image the mean of those before it, and of one 1/2."""
    before: Array = (0.5 + values.cumsum(-1) - values) / np.arange(1, values.shape[-1] + 1)
    return np.clip(before, 0, 1)


def planned_time(images: int, delta: float, planned: int | None, target: float | None, draws: int) -> float:
    """V_t at the end of the plan, or where the half-width reaches the target: n = 2 log(2/δ) σ² / w² values of σ²,
    which is guessed for a single draw, and for the mean of several falls with their number."""
    at_the_end = (DEFAULT_ROUNDS if planned is None else planned) * images * GUESSED_VARIANCE / draws
    if target is None:
        return at_the_end
    at_the_stop = float(2 * np.log(2 / delta) * (GUESSED_VARIANCE_AT_A_STOP / draws / target) ** 2)
    return at_the_stop if planned is None else min(at_the_stop, at_the_end)


def round_ends(
    values: Array, delta: float, planned: int | None, target: float | None, draws: int = 1
) -> tuple[Array, Array]:
    """values (..., R, P), each a mean of `draws` numbers in [0, 1] → lower and upper ends (..., E) after every pair of
    rounds, not yet intersected or clipped; none before the first pair is complete."""
    rounds, images = values.shape[-2:]
    alone = min(rounds, (DEFAULT_ROUNDS if planned is None else planned) % 2)
    rho = tuned_rho(planned_time(images, delta, planned, target, draws), delta / 2)
    first, paired = values[..., :alone, :], values[..., alone : rounds - (rounds - alone) % 2, :]
    apart = np.square(paired[..., ::2, :] - paired[..., 1::2, :]).sum(-1)
    variance = np.concatenate([np.square(first - predictions(first)).sum(-1), apart], -1).cumsum(-1)
    ends = np.concatenate([np.arange(alone), alone + 1 + 2 * np.arange(apart.shape[-1])])
    count = images * (ends + 1)
    centre = values.sum(-1).cumsum(-1)[..., ends] / count
    half_width = boundary(variance, delta / 2, rho) / count
    return centre - half_width, centre + half_width
