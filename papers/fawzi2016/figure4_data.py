"""The numbers behind figure 4's pictures and tables, as Parquet."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from faces import SIDE
from figure4 import FACES_SHOWN, GALLERIES, PEOPLE_SHOWN, PRIORS, REGIONS, Experiment
from figure4_map import Maps, areas, region_share, shown

KEPT = ("status", "calls", "acceptance", "rhat", "effective", "one_minus_mu", "another_label")


def write_data(folder: Path, experiment: Experiment, maps: dict[str, Maps]) -> None:
    for name, rows in (("figure4", people(experiment, maps)), ("figure4-shown", faces_shown(experiment))):
        pq.write_table(pa.Table.from_pylist(list(rows)), folder / f"{name}.parquet", compression="zstd")
    pq.write_table(pixels(maps), folder / "figure4-map.parquet", compression="zstd")


def people(experiment: Experiment, maps: dict[str, Maps]) -> Iterator[dict[str, Any]]:
    """A row per prior, sampler and person: how well the weak points were drawn, and what share of each region they
    hide."""
    for (prior, sampler), drawn in experiment.drawn.items():
        each = maps[prior].metropolis if sampler == "metropolis" else maps[prior].reference
        for place, person in enumerate(experiment.faces.people.tolist()):
            about, hidden = drawn.about[place], areas(torch.from_numpy(drawn.theta[place])) / SIDE**2
            row = {"prior": prior, "sampler": sampler, "person": f"s{person + 1}"} | {
                name: about[name] for name in KEPT
            }
            row["hidden_median"] = float(hidden.median())
            for region in (*REGIONS, None):
                row[f"hides_{region or 'face'}"] = float(region_share(each[place], region))
            yield row


def faces_shown(experiment: Experiment) -> Iterator[dict[str, Any]]:
    """The occluded faces in the galleries: corners of the rectangles, and who each is taken for."""
    for file, (prior, sampler), _ in GALLERIES:
        drawn = experiment.drawn[prior, sampler]
        for place, person in enumerate(experiment.faces.people.tolist()[:PEOPLE_SHOWN]):
            for chosen in shown(drawn, place, person, FACES_SHOWN):
                taken = int(drawn.predicted[place][chosen])
                theta = drawn.theta[place][chosen]
                yield {"file": file, "person": f"s{person + 1}", "taken_for": f"s{taken + 1}", "theta": theta}


def pixels(maps: dict[str, Maps]) -> pa.Table:
    """A row per prior and pixel: the share of draws that hide it, on average over people."""
    row, column = np.indices((SIDE, SIDE))
    parts = []
    for prior in PRIORS:
        each = maps[prior]
        columns = {
            "prior": np.full(SIDE**2, prior),
            "row": row.ravel().astype(np.uint8),
            "column": column.ravel().astype(np.uint8),
            "prior_hides": each.prior.ravel().astype(np.float32),
            "metropolis_hides": each.metropolis.mean(0).ravel().astype(np.float32),
            "auto_hides": each.reference.mean(0).ravel().astype(np.float32),
            "prior_hides_at_equal_area": each.matched.ravel().astype(np.float32),
        }
        parts.append(pa.table(columns))
    return pa.concat_tables(parts)
