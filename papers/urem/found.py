"""What redo.py wrote, read back: every network with what was measured of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

Array = NDArray[Any]
Columns = dict[str, Array]
WHITE = 255
KEYS = ("depth", "budget", "variant", "seed")
Key = tuple[int, int, str, int]


def read(file: Path) -> Columns:
    table = pq.read_table(file)
    return {
        name: np.asarray(table[name].to_pylist()) if name != "classes" else _lists(table) for name in table.column_names
    }


def _lists(table: Any) -> Array:
    found = np.empty(len(table), dtype=object)
    found[:] = [tuple(each) for each in table["classes"].to_pylist()]
    return found


def chosen(columns: Columns, **wanted: Any) -> Columns:
    """The rows in which columns have these values."""
    kept = np.logical_and.reduce([columns[key] == value for key, value in wanted.items()])
    return {name: values[kept] for name, values in columns.items()}


class Network(NamedTuple):
    """What was measured of one network."""

    facts: dict[str, Any]
    label: dict[int, int]  # of each image
    right: frozenset[int]
    sigma: dict[str, dict[int, float]]  # noise → image → σ*
    broke: dict[str, dict[int, bool]]
    linf: dict[float, dict[tuple[int, int], float]]  # rate → (image, target) → size in 255ths; infinite where it failed

    def random(self, noise: str, images: Iterable[int]) -> float:
        return float(np.mean([self.sigma[noise][image] for image in images]))

    def targeted(self, rate: float, images: Iterable[int], targets: frozenset[int] | None = None) -> float:
        """Mean over pairs that were reached."""
        sizes = self.sizes(rate, images, targets)
        return float(np.mean(sizes[np.isfinite(sizes)]))

    def sizes(self, rate: float, images: Iterable[int], targets: frozenset[int] | None = None) -> Array:
        among = frozenset(images)
        return np.asarray(
            [
                size
                for (image, target), size in self.linf[rate].items()
                if image in among and (targets is None or target in targets)
            ]
        )


def networks(found: Path, part: str, keys: Sequence[str] = KEYS) -> dict[Any, Network]:
    """(depth, budget, variant, seed), or the network's name → what was measured."""
    names, clean, breaking, targeted = (
        read(found / f"{part}-{name}.parquet") for name in ("networks", "clean", "breaking", "targeted")
    )
    made = {}
    for place in range(len(names[keys[0]])):
        wanted = {key: names[key][place].item() for key in keys}
        own, noisy, changed = (chosen(columns, **wanted) for columns in (clean, breaking, targeted))
        noises = {noise: chosen(noisy, noise=noise) for noise in np.unique(noisy["noise"])}
        rates = {float(rate): chosen(changed, rate=rate) for rate in np.unique(changed["rate"])}
        sizes = {rate: np.where(each["reached"], WHITE * each["linf"], np.inf) for rate, each in rates.items()}
        made[tuple(wanted.values())] = Network(
            {name: values[place] for name, values in names.items()},
            dict(zip(own["image"].tolist(), own["label"].tolist(), strict=True)),
            frozenset(own["image"][own["right"]].tolist()),
            {n: dict(zip(each["image"].tolist(), each["sigma"].tolist(), strict=True)) for n, each in noises.items()},
            {n: dict(zip(each["image"].tolist(), each["broke"].tolist(), strict=True)) for n, each in noises.items()},
            {
                rate: dict(
                    zip(zip(each["image"].tolist(), each["target"].tolist(), strict=True), sizes[rate], strict=True)
                )
                for rate, each in rates.items()
            },
        )
    return made
