"""What is measured of every network here: breaking points under both kinds of noise, and targeted changes.

Rows are kept image by image, for images that are classified wrongly too: which are averaged is decided afterwards.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import torch

import brittle

NOISES = ("path", "fresh")
COMPILE = "no"  # each network is asked once, and others are being measured meanwhile
MOST_CLASSES = 1000  # where an image set has no names for them, a class is its number
Tables = dict[str, pa.Table]


def measured(
    classifier: brittle.Classifier,
    images: brittle.ImageSet,
    few: Sequence[int],
    about: Mapping[str, Any],
    *,
    rates: Sequence[float],
    steps: int,
    targets: Sequence[str] = ("all",),
    limit: float = 255,
    device: str,
    batch: int,
) -> Tables:
    """Tables `clean`, `breaking` and `targeted`; targeted changes are searched for the images whose ids are `few`.

    `about` names the network in every row. Labels and targets are the numbers of the classes in the whole data set."""
    numbers = np.asarray([int(name) for name in images.classes] or range(MOST_CLASSES))
    clean = clean_rows(classifier, images, numbers, device, batch)
    breaking = []
    for noise in NOISES:
        found = brittle.breaking_points(
            classifier, images, noise=noise, limit=limit, device=device, batch=batch, compile=COMPILE
        ).rows
        breaking.append(
            pa.table(
                {
                    "noise": pa.array([noise] * len(found)),
                    "image": found["image"],
                    "sigma": pa.array((found["place"].to_numpy() + 1).astype(np.float32)),  # in 255ths: the step is 1
                    "broke": found["broke"],
                    "to": pa.array(numbers[found["predicted"].to_numpy()].astype(np.int16)),
                    "p": pa.array(np.exp(found["log_p_predicted"].to_numpy())),
                }
            )
        )
    targeted = [
        targeted_rows(classifier, images.only(few), numbers, rate, steps, targets, device, batch) for rate in rates
    ]
    tables = {"clean": clean, "breaking": pa.concat_tables(breaking), "targeted": pa.concat_tables(targeted)}
    return {name: told(table, about) for name, table in tables.items()}


def clean_rows(
    classifier: brittle.Classifier, images: brittle.ImageSet, numbers: Any, device: str, batch: int
) -> pa.Table:
    """What the network says of each untouched image."""
    places = torch.arange(len(images)).split(batch)
    with torch.inference_mode():
        said = torch.cat([classifier.log_probs(images.batch(part, device).images).cpu() for part in places])
    labels = images.labels.numpy()
    return pa.table(
        {
            "image": pa.array(images.ids.numpy()),
            "label": pa.array(numbers[labels].astype(np.int16)),
            "predicted": pa.array(numbers[said.argmax(1).numpy()].astype(np.int16)),
            "p_label": pa.array(said[torch.arange(len(said)), images.labels].exp().float().numpy()),
            "right": pa.array(said.argmax(1).numpy() == labels),
        }
    )


def targeted_rows(
    classifier: brittle.Classifier,
    images: brittle.ImageSet,
    numbers: Any,
    rate: float,
    steps: int,
    targets: Sequence[str],
    device: str,
    batch: int,
) -> pa.Table:
    """One row per image and target."""
    found = brittle.perturb(
        classifier,
        images,
        targets=targets,
        rate=rate,
        steps=steps,
        count=None,
        device=device,
        batch=batch,
        compile=COMPILE,
    ).rows
    return pa.table(
        {
            "rate": pa.array([rate] * len(found)),
            "image": found["image"],
            "target": pa.array(numbers[found["target"].to_numpy()].astype(np.int16)),
            "reached": found["reached"],
            "linf": found["linf"],
            "l2": found["l2"],
            "left": found["left"],
        }
    )


def layer_rows(
    classifier: brittle.Classifier,
    images: brittle.ImageSet,
    about: Mapping[str, Any],
    *,
    count: int,
    repeats: int,
    networks: int,
    limit: float = 5.0,
    device: str,
    batch: int,
) -> pa.Table:
    """One row per layer, for figure 7: σ of multiplicative noise, and P*."""
    found = brittle.layer_noise(
        classifier,
        images,
        count=count,
        repeats=repeats,
        networks=networks,
        limit=limit,
        device=device,
        batch=batch,
        compile=COMPILE,
    )
    rows = [
        {key: each[key] for key in ("number", "layer")}
        | {key: _number(each[key]) for key in ("mean", "spread", "unbroken", "p_star", "p_star_spread")}
        | {"low": _number(each["interval"][0]), "high": _number(each["interval"][1]), "averaged": each["averaged"]}
        for each in found["layers"]
    ]
    return told(pa.Table.from_pylist(rows), about)


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)


def told(table: pa.Table, about: Mapping[str, Any]) -> pa.Table:
    """The table with columns in front that say whose it is."""
    for place, (key, value) in enumerate(about.items()):
        table = table.add_column(place, key, pa.array([value] * len(table)))
    return table
