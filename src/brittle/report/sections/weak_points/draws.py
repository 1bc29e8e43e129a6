"""Weak points read back: which images are shown, and what was kept of them."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray

from brittle.measures.weak_points.diagnosis import NOTHING, TRUSTED, judged
from brittle.measures.weak_points.summary import parameter_names
from brittle.nuisances.base.seeds import SEED_NAMES
from brittle.random import fold, stream_root, uniform
from brittle.report.page.section import Row
from brittle.types import Nuisance, ParameterUnits, ReadableTheta

SHOWN = "weak points shown"  # the stream that says which draws are shown

Columns = dict[str, NDArray[Any]]  # numbers of θ, by name


class ImageDraws(NamedTuple):
    """What is kept of one image: draws of equal weight from p(θ | not ℓ, x)."""

    theta: NDArray[np.float32]  # (k, d)
    predicted: NDArray[np.int32]  # (k,)
    probability: NDArray[np.float64]  # (k,) of the predicted label
    another: NDArray[np.bool_]  # (k,) whether that is another label than ℓ
    chain: NDArray[np.int32]  # (k,)
    step: NDArray[np.int32]  # (k,)


def read_draws(tables: Iterable[pa.Table], ids: Container[int]) -> dict[int, ImageDraws]:
    """The kept draws of the images with these ids; none of an image where nothing was found."""
    found: dict[int, list[ImageDraws]] = {}
    for table in tables:
        numbers = table["image"].to_numpy()
        for start, end in _stretches(numbers):
            if int(numbers[start]) in ids and table["found"][start].as_py():
                found.setdefault(int(numbers[start]), []).append(_draws(table.slice(start, end - start)))
    return {
        number: ImageDraws(*map(np.concatenate, zip(*parts, strict=True))) if len(parts) > 1 else parts[0]
        for number, parts in found.items()
    }


def _stretches(numbers: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Where an image's rows begin and end."""
    cuts = (np.flatnonzero(np.diff(numbers)) + 1).tolist()
    return list(zip([0, *cuts], [*cuts, len(numbers)], strict=True)) if len(numbers) else []


def _draws(rows: pa.Table) -> ImageDraws:
    theta = rows["theta"].combine_chunks().flatten().to_numpy().reshape(rows.num_rows, -1)
    whole = (rows[name].to_numpy() for name in ("chain", "step"))
    return ImageDraws(
        np.array(theta, np.float32),  # Arrow's own memory is read-only
        rows["predicted"].to_numpy(),
        np.exp(rows["log_p_predicted"].to_numpy().astype(np.float64)),
        rows["rank"].to_numpy() > 0,
        *whole,
    )


def shown_images(rows: Sequence[Row], most: int) -> list[Row]:
    """The images to show, one per label first: first those whose draws can be trusted, then the others, then those
    of which no draw has another label. What is wrong untouched says nothing about the nuisance and is left out."""
    ordered = sorted((row for row in rows if not row["already_wrong"]), key=_worth)
    firsts: dict[str, Row] = {}
    for row in ordered:
        firsts.setdefault(row["label"], row)
    rest = [row for row in ordered if firsts[row["label"]] is not row]
    return sorted([*firsts.values(), *rest][:most], key=_worth)


def _worth(row: Row) -> int:
    if row["status"] == NOTHING:
        return 3
    return 2 if row["leads_to"] is None else 0 if row["status"] == TRUSTED else 1


def trusted_images(rows: Sequence[Row], most: int) -> list[Row]:
    """The first images whose draws can be trusted and that are right untouched: those that may be pooled."""
    return [row for row in rows if row["status"] == TRUSTED and not row["already_wrong"]][:most]


def random_mistakes(draws: ImageDraws, id: int, seed: int, most: int) -> list[int]:
    """Places of some draws of another label, chosen at random (the paper's footnote 3); equal θ are shown once."""
    order = uniform(fold(stream_root(seed, SHOWN), id), len(draws.theta)).argsort().tolist()
    different: dict[bytes, int] = {}
    for place in order:
        if draws.another[place]:
            different.setdefault(draws.theta[place].tobytes(), place)
    return list(different.values())[:most]


def telling_parameters(entry: Row) -> list[Row]:
    """The entry's rows of parameters, most telling first: where θ is told in other numbers, those alone. Seeds tell
    nothing."""
    rows = [row for row in entry["parameters"] if row["parameter"] not in SEED_NAMES]
    return [row for row in rows if row.get("told")] or rows


def columns(entry: Row, nuisance: Nuisance, theta: NDArray[np.float32], size: tuple[int, int], most: int) -> Columns:
    """θ (k, d) on images of this height and width, as the numbers (k,) that tell most, by names with units."""
    places = judged(theta.shape[1]).tolist()
    named = {name: theta[:, place] for name, place in zip(parameter_names(nuisance, len(places)), places, strict=True)}
    if isinstance(nuisance, ReadableTheta):
        told = nuisance.read_theta(torch.from_numpy(theta), *size).numpy()
        named |= dict(zip(nuisance.readings, told.T, strict=True))
    names = [row["parameter"] for row in telling_parameters(entry) if row["parameter"] in named]
    return {with_unit(nuisance, name): named[name] for name in names[:most]}


def with_unit(nuisance: Nuisance, parameter: str) -> str:
    """shift x (share of the width); the name alone where there is no unit, or none that is known."""
    unit = "degrees" if parameter in ("angle", "direction") else ""
    if isinstance(nuisance, ParameterUnits):
        unit = nuisance.parameter_units.get(parameter, unit)
    return f"{parameter} ({unit})" if unit else parameter


def why_no_mistakes(row: Row) -> str:
    """What is said of an image whose draws lead to no other label: they show doubt, or there are none."""
    return "–" if row["status"] == NOTHING else "only doubts"
