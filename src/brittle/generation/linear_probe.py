"""A linear probe: multinomial logistic regression on an encoder's features.

Dünkel et al. 2025 (A.9.1) use DINOv2 with a linear head to find images that need no label. Here it minimises mean
cross-entropy + penalty / 2 · ‖W‖², which has one minimum, found by L-BFGS.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import optimize
from scipy.special import log_softmax

from brittle.errors import BrittleError

Array = NDArray[np.float64]
STEPS = 1000


@dataclass(frozen=True, eq=False)
class LinearProbe:
    """Features (n, D) → scores (n, K)."""

    weight: Array  # (D, K)
    bias: Array  # (K,)

    def scores(self, features: Array) -> Array:
        found: Array = np.asarray(features, dtype=np.float64) @ self.weight + self.bias
        return found

    def predicted(self, features: Array) -> NDArray[np.int64]:
        return np.asarray(self.scores(features).argmax(1), dtype=np.int64)


def fit_probe(features: Array, labels: NDArray[np.int64], classes: int, penalty: float = 1e-3) -> LinearProbe:
    """The probe of features (n, D) with labels (n,)."""
    if not len(features) or len(features) != len(labels):
        raise BrittleError(f"there are {len(features)} features and {len(labels)} labels", "Give one label each.")
    values = np.asarray(features, dtype=np.float64)
    wanted = np.eye(classes)[labels]
    shape = (values.shape[1] + 1, classes)

    def loss(flat: Array) -> tuple[float, Array]:
        both = flat.reshape(shape)
        logs = log_softmax(values @ both[:-1] + both[-1], axis=1)
        wrong = (np.exp(logs) - wanted) / len(values)
        gradient = np.concatenate([values.T @ wrong + penalty * both[:-1], wrong.sum(0)[None]])
        value = -float((logs * wanted).sum()) / len(values) + penalty / 2 * float((both[:-1] ** 2).sum())
        return value, gradient.ravel()

    found = optimize.minimize(
        loss,
        np.zeros(shape[0] * shape[1]),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": STEPS, "maxfun": 2 * STEPS, "gtol": 1e-7, "ftol": 1e-14},
    )
    both = np.asarray(found.x).reshape(shape)
    return LinearProbe(both[:-1], both[-1])
