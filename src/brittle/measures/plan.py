"""How a measure's work is cut into units: rectangles of images × draws in an order fixed beforehand.

The cut depends on the study alone, never on batch size, device or workers, because early stopping
looks at the ends of units and must give the same answer everywhere.
"""

from __future__ import annotations

from typing import NamedTuple


class Span(NamedTuple):
    """Units [first, end) in planned order."""

    first: int
    end: int


class Unit(NamedTuple):
    """Images [first_image, end_image) × draws [first_draw, end_draw), image by image."""

    first_image: int
    end_image: int
    first_draw: int
    end_draw: int

    @property
    def images(self) -> int:
        return self.end_image - self.first_image

    @property
    def draws(self) -> int:
        return self.end_draw - self.first_draw

    @property
    def rows(self) -> int:
        return self.images * self.draws


def rows_per_unit(numbers_per_image: int) -> int:
    """About 32 million numbers: seconds of work for a small network, so that a kill loses little."""
    return max(64, min(1 << 15, (1 << 25) // numbers_per_image))


def by_image(images: int, draws: int, images_per_unit: int, draws_per_unit: int) -> list[Unit]:
    """All draws of the first images, then all draws of the next."""
    return [
        Unit(image, min(image + images_per_unit, images), draw, min(draw + draws_per_unit, draws))
        for image in range(0, images, images_per_unit)
        for draw in range(0, draws, draws_per_unit)
    ]


def by_round(images: int, draws: int, images_per_unit: int, draws_per_unit: int) -> list[Unit]:
    """The first draws of all images, then the next draws of all."""
    return [
        Unit(image, min(image + images_per_unit, images), draw, min(draw + draws_per_unit, draws))
        for draw in range(0, draws, draws_per_unit)
        for image in range(0, images, images_per_unit)
    ]
