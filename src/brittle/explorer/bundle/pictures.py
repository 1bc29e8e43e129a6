"""Which images of a run go into a bundle, and their pixels, θ of draws and extras as files of plain numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from brittle.explorer.points import point_cells
from brittle.explorer.session import Session
from brittle.images.base import ImageSet

MOST_DRAWS, FEWEST_DRAWS = 64, 8  # of every image under every nuisance, whose θ are kept
MOST_NUMBERS = 1 << 20  # of them together


@dataclass(frozen=True)
class KeptImages:
    """Images of a set that are in the bundle: all of one shape, since graphs are."""

    name: str
    places: Sequence[int]  # in planned order of the run
    shape: tuple[int, int, int]
    others: int  # images of the set that are left out

    def written(self, images: ImageSet, folder: Path, file: str) -> dict[str, Any]:
        """Writes their pixels; says how they are to be read."""
        batch = images.batch(list(self.places))
        ids = batch.ids.tolist()
        stored = batch.images if batch.images.dtype == torch.uint8 else batch.images.float()
        exact = stored if stored.dtype == torch.uint8 else _as_bytes(stored)
        (folder / file).write_bytes(np.ascontiguousarray(exact.numpy()).tobytes())
        return {"file": file, "ids": ids, "shape": list(self.shape), "bytes": exact.dtype == torch.uint8}


def _as_bytes(images: torch.Tensor) -> torch.Tensor:
    """Images as uint8 where that loses nothing, otherwise as they are."""
    whole = (images * 255).round().to(torch.uint8)
    return whole if torch.equal(whole.float() / 255, images) else images


def chosen_images(session: Session, count: int) -> Mapping[str, KeptImages]:
    """By image set, as many images: those with points first, then the first ones, of the shape that most have."""
    found = {}
    for name, chosen in session.run.job.images.items():
        images = chosen.images
        total = len(images.ids)
        first = dict.fromkeys(place for place in _with_points(session, name) if place < total)
        order = [*first, *(place for place in range(min(total, 4 * count)) if place not in first)][: 4 * count]
        shapes = [images.batch([place]).images.shape[1:] for place in order]
        commonest = Counter(shapes).most_common(1)[0][0]
        places = [place for place, shape in zip(order, shapes, strict=True) if shape == commonest][:count]
        channels, height, width = commonest
        found[name] = KeptImages(name, sorted(places), (channels, height, width), total - len(places))
    return found


def _with_points(session: Session, name: str) -> list[int]:
    ids = session.run.job.images[name].images.ids.tolist()
    where = {image: place for place, image in enumerate(ids)}
    found: list[int] = []
    for each in point_cells(session):
        if each.cell.images == name and each.sampled:
            found += [where[image] for image in each.images if image in where]
    return found
