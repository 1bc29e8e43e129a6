"""Corruption errors (Hendrycks & Dietterich 2019): errors over the scales of a shift, set against those of a reference.

    CE = Σₛ Eₛ / Σₛ Eₛ^ref,     rCE = Σₛ (Eₛ − E₀) / Σₛ (Eₛ^ref − E₀^ref),     s over the scales above 0.

CNS-Bench 2025 prints rCE as its equation 6 and labels it CE. mCE and mean rCE are means over shifts. Intervals are
percentiles of a bootstrap over images: a resampled image brings all its scales, all its shifts, and the reference's
answers with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from brittle.statistics.seeded import generator_of

Array = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]

# Hendrycks & Dietterich 2019, ImageNet-C: AlexNet's top-1 error, mean over the five severities of each corruption, as
# their repository (hendrycks/robustness) gives it, and on the clean validation set, as their table 1 prints it.
ALEXNET = {
    "gaussian_noise": 0.886428,
    "shot_noise": 0.894468,
    "impulse_noise": 0.922640,
    "defocus_blur": 0.819880,
    "glass_blur": 0.826268,
    "motion_blur": 0.785948,
    "zoom_blur": 0.798360,
    "snow": 0.866816,
    "frost": 0.826572,
    "fog": 0.819324,
    "brightness": 0.564592,
    "contrast": 0.853204,
    "elastic_transform": 0.646056,
    "pixelate": 0.717840,
    "jpeg_compression": 0.606500,
}
ALEXNET_CLEAN = 0.435
ALEXNET_SEVERITIES = 5
MOST_AT_ONCE = 1 << 22  # numbers of a block of resamples
NOTHING = 1e-9  # sums of errors are multiples of one over the number of paths, up to rounding


class Errors(NamedTuple):
    """A classifier's errors on the images of one shift: of each image, the sum over the scales above 0 and, times the
    number of scales, its error at scale 0. The second is NaN where there is no scale 0."""

    images: Ids  # (M,)
    shifted: Array  # (M,) Σₛ eₛ
    clean: Array  # (M,) S·e₀
    scales: int  # S, above 0

    @classmethod
    def of(cls, images: Ids, right: Array, clean: Array) -> Errors:
        """From shares of right answers: right (M, S) at the scales above 0, clean (M,) at 0."""
        scales = right.shape[1]
        return cls(images, (1 - right).sum(1), scales * (1 - clean), scales)

    @property
    def drop(self) -> Array:
        return self.shifted - self.clean

    def unknown(self) -> Errors:
        """The same images, of which nothing is known."""
        nothing = np.full(len(self.images), np.nan)
        return self._replace(shifted=nothing, clean=nothing)


class Ratio(NamedTuple):
    """A ratio to the reference; None where the reference has no error, or no drop, to divide by. The interval is None
    too where that happens in so many resamples that an end of it does not exist."""

    value: float | None
    interval: tuple[float, float] | None


class CorruptionErrors(NamedTuple):
    """CE and rCE of one classifier, by shift and as means over the shifts; a mean is None where a shift has none."""

    ce: Mapping[str, Ratio]
    rce: Mapping[str, Ratio]
    mce: Ratio
    mean_rce: Ratio


def published_alexnet(shift: str, images: Ids, scales: int) -> Errors:
    """AlexNet's published errors, the same for every image: nothing of them is resampled."""
    count = len(images)
    return Errors(images, np.full(count, scales * ALEXNET[shift]), np.full(count, scales * ALEXNET_CLEAN), scales)


def corruption_errors(
    errors: Mapping[str, Mapping[str, Errors]],
    reference: Mapping[str, Errors],
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> dict[str, CorruptionErrors]:
    """Of several classifiers: errors by shift, and the reference's on the same images."""
    for classifier, own in errors.items():
        for shift, other in reference.items():
            if not np.array_equal(own[shift].images, other.images):
                raise ValueError(f"{classifier}, {shift}: the reference was measured on other images")
    shifts = list(reference)
    stacked = [[*(own[shift] for own in errors.values()), reference[shift]] for shift in shifts]
    columns = [np.stack([each.shifted for each in every] + [each.drop for each in every], 1) for every in stacked]
    totals = resampled([reference[shift].images for shift in shifts], columns, resamples, seed)
    found = {}
    for place, classifier in enumerate(errors):
        ce, rce = {}, {}
        for shift, total in zip(shifts, totals, strict=True):
            shifted, drop = np.split(total, 2, axis=1)
            ce[shift] = _ratio(shifted[:, place], shifted[:, -1])
            rce[shift] = _ratio(drop[:, place], drop[:, -1])
        found[classifier] = CorruptionErrors(
            {shift: _summed_up(each, confidence) for shift, each in ce.items()},
            {shift: _summed_up(each, confidence) for shift, each in rce.items()},
            _summed_up(np.mean(list(ce.values()), 0), confidence),
            _summed_up(np.mean(list(rce.values()), 0), confidence),
        )
    return found


def resampled(images: Sequence[Ids], columns: Sequence[Array], resamples: int, seed: int) -> list[Array]:
    """Columns (M, C) of the images (M,) of several shifts → their sums (1 + B, C): first over the images themselves,
    then over resamples of all images. An image that several shifts share occurs equally often in all of them."""
    union, place = np.unique(np.concatenate([*images]), return_inverse=True)
    ends = np.cumsum([len(each) for each in images])
    places = [place[end - len(each) : end] for each, end in zip(images, ends, strict=True)]
    generator = generator_of(seed)
    parts: list[list[Array]] = [[each.sum(0)[None]] for each in columns]
    for first in range(0, resamples, step := max(1, MOST_AT_ONCE // len(union))):
        counts = np.empty((min(step, resamples - first), len(union)))
        for row in counts:
            row[:] = np.bincount(generator.integers(len(union), size=len(union)), minlength=len(union))
        for part, where, each in zip(parts, places, columns, strict=True):
            part.append(counts[:, where] @ each)
    return [np.concatenate(part) for part in parts]


def _ratio(own: Array, reference: Array) -> Array:
    """(1 + B,); NaN where the reference has nothing to divide by."""
    usable = reference > NOTHING
    return np.where(usable, own / np.where(usable, reference, 1.0), np.nan)


def _summed_up(ratios: Array, confidence: float) -> Ratio:
    value, drawn = ratios[0], ratios[1:]
    if np.isnan(value):
        return Ratio(None, None)
    tail = (1 - confidence) / 2
    if np.isnan(drawn).mean() > tail:
        return Ratio(float(value), None)
    low, high = np.nanquantile(drawn, [tail, 1 - tail])
    return Ratio(float(value), (float(min(low, value)), float(max(high, value))))
