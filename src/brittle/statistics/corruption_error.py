"""Corruption errors (Hendrycks & Dietterich 2019): errors over the scales of a shift, set against those of a reference.

    CE = Σₛ Eₛ / Σₛ Eₛ^ref,     rCE = Σₛ (Eₛ − E₀) / Σₛ (Eₛ^ref − E₀^ref),     s over the scales above 0.

CNS-Bench 2025 prints rCE as its equation 6 and labels it CE. mCE and mean rCE are means over shifts.

Intervals are percentiles of a Bayesian bootstrap over images (Rubin 1981): images have random weights, each the same in
all its scales, all its shifts, and the reference's answers. For the upper end one more image is thought of, on which
the classifier is wrong and the reference right at every scale; for the lower end one with right and wrong exchanged.
Where nothing but right answers, or nothing but wrong ones, were seen, nothing would vary without it. Over one scale and
a reference that is known, both ends are Clopper and Pearson's (1934), exact for any number of images.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from brittle.statistics.estimate import Estimate
from brittle.statistics.seeded import generator_of

Array = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]
Range = tuple[float, float]

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


class ShiftErrors(NamedTuple):
    """A classifier's errors on the images of one shift: of each image, the sum over the scales above 0 and, times the
    number of scales, its error at scale 0. The second is NaN where there is no scale 0. Published errors are known, and
    don't vary."""

    images: Ids  # (M,)
    shifted: Array  # (M,) Σₛ eₛ
    clean: Array  # (M,) S·e₀
    scales: int  # S, above 0
    published: bool = False

    @classmethod
    def of(cls, images: Ids, right: Array, clean: Array) -> ShiftErrors:
        """From shares of right answers: right (M, S) at the scales above 0, clean (M,) at 0."""
        scales = right.shape[1]
        return cls(images, (1 - right).sum(1), scales * (1 - clean), scales)

    @property
    def drop(self) -> Array:
        return self.shifted - self.clean

    def range_of(self, values: Array) -> Range:
        """The least and the greatest of a reference on an image more; of published errors only what they are."""
        return (float(values[0]), float(values[0])) if self.published else (0.0, float(self.scales))

    def unknown(self) -> ShiftErrors:
        """The same images, of which nothing is known."""
        nothing = np.full(len(self.images), np.nan)
        return self._replace(shifted=nothing, clean=nothing)


class CorruptionErrors(NamedTuple):
    """CE and rCE of one classifier, by shift and as means over the shifts. There is none where the reference has no
    error, or no drop, to divide by, and no mean where a shift has none; and no interval where the drop vanishes in so
    many resamples that an end of it does not exist."""

    ce: Mapping[str, Estimate]
    rce: Mapping[str, Estimate]
    mce: Estimate
    mean_rce: Estimate


def published_alexnet(shift: str, images: Ids, scales: int) -> ShiftErrors:
    """AlexNet's published errors, the same for every image."""
    shifted, clean = (np.full(len(images), scales * error) for error in (ALEXNET[shift], ALEXNET_CLEAN))
    return ShiftErrors(images, shifted, clean, scales, published=True)


def corruption_errors(
    errors: Mapping[str, Mapping[str, ShiftErrors]],
    reference: Mapping[str, ShiftErrors],
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
    totals, extra = resampled([reference[shift].images for shift in shifts], columns, resamples, seed)
    found = {}
    for place, (classifier, own) in enumerate(errors.items()):
        ce, rce = {}, {}
        for shift, total in zip(shifts, totals, strict=True):
            shifted, drop = np.split(total, 2, axis=1)
            other, scales = reference[shift], reference[shift].scales
            weight = 0 * extra if own[shift] is other else extra
            ce[shift] = _ratios(shifted[:, place], shifted[:, -1], weight, (0, scales), other.range_of(other.shifted))
            rce[shift] = _ratios(drop[:, place], drop[:, -1], weight, (-scales, scales), other.range_of(other.drop))
        found[classifier] = CorruptionErrors(
            {shift: _summed_up(each, confidence) for shift, each in ce.items()},
            {shift: _summed_up(each, confidence) for shift, each in rce.items()},
            _summed_up(np.mean(list(ce.values()), 0), confidence),
            _summed_up(np.mean(list(rce.values()), 0), confidence),
        )
    return found


def resampled(images: Sequence[Ids], columns: Sequence[Array], resamples: int, seed: int) -> tuple[list[Array], Array]:
    """Columns (M, C) of the images (M,) of several shifts → their sums (1 + B, C), first over the images themselves,
    then with random weights; and the weight (1 + B,) of one image more, at first 0. An image that several shifts share
    weighs the same in all of them."""
    union, place = np.unique(np.concatenate([*images]), return_inverse=True)
    ends = np.cumsum([len(each) for each in images])
    places = [place[end - len(each) : end] for each, end in zip(images, ends, strict=True)]
    generator = generator_of(seed)
    extra = np.append(0.0, generator.standard_exponential(resamples))
    parts: list[list[Array]] = [[each.sum(0)[None]] for each in columns]
    for first in range(0, resamples, step := max(1, MOST_AT_ONCE // len(union))):
        weights = generator.standard_exponential((min(step, resamples - first), len(union)))
        for part, where, each in zip(parts, places, columns, strict=True):
            part.append(weights[:, where] @ each)
    return [np.concatenate(part) for part in parts], extra


def _ratios(own: Array, other: Array, extra: Array, own_range: Range, other_range: Range) -> Array:
    """(2, 1 + B) of sums (1 + B,), for the lower end and for the upper: with an image of weight `extra` on which the
    classifier has the least and the reference the greatest that is possible, and the other way round. NaN where the
    reference has nothing to divide by."""
    above = np.stack([own + each * extra for each in own_range])
    below = np.stack([other + each * extra for each in other_range[::-1]])
    usable = below > NOTHING
    return np.where(usable, above / np.where(usable, below, 1.0), np.nan)


def _summed_up(ratios: Array, confidence: float) -> Estimate:
    value, drawn, tail = float(ratios[0, 0]), ratios[:, 1:], (1 - confidence) / 2
    if np.isnan(value) or (np.isnan(drawn).mean(1) > tail).any():
        return Estimate(value)
    low, high = np.nanquantile(drawn[0], tail), np.nanquantile(drawn[1], 1 - tail)
    return Estimate(value, float(min(low, value)), float(max(high, value)))
