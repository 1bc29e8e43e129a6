"""A command of Brittle whose every θ is noted: `python spied.py RUN COMMAND …`, with a tree's src on PYTHONPATH.

Once the command has written the run folder RUN, RUN.theta.parquet holds θ of some images' rows, drawn again from (seed,
kind of nuisance, image id, draw) alone, the law that every draw follows, and whether the command has transformed that
image by that θ, or followed the path that it begins.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import run_tables
import torch
from torch import Tensor

import brittle
from brittle.cli import main as command_line
from brittle.nuisances import nuisances
from brittle.random import fold, stream_root

IMAGES = 12  # of each set, whose draws are looked at
DRAWN = {
    "robustness": "draw",
    "breaking-points": "repeat",
    "failure-points": "repeat",
}  # measures, and what counts draws

Noted = list[tuple[np.ndarray, np.ndarray]]


def note_applied(noted: Noted) -> None:
    """From now on every nuisance notes ids (B,) and θ (B, d) that it is applied with, or moved along the path of."""

    def noting(apply: Callable[..., Tensor]) -> Callable[..., Tensor]:
        def wrapped(self: Any, batch: Any, theta: Tensor) -> Tensor:
            note(batch, theta)
            return apply(self, batch, theta)

        return wrapped

    def noting_begin(at: Callable[..., Tensor]) -> Callable[..., Tensor]:
        def wrapped(self: Any, theta: Tensor, severity: Any, batch: Any) -> Tensor:
            note(batch, theta)
            return at(self, theta, severity, batch)

        return wrapped

    def note(batch: Any, theta: Tensor) -> None:
        noted.append((batch.ids.cpu().numpy().copy(), theta.detach().float().cpu().numpy().copy()))

    for method, wrapper in (("apply", noting), ("at", noting_begin)):
        for kind in {
            base for name in nuisances.names() for base in nuisances.get(name).__mro__ if method in vars(base)
        }:
            if not getattr(vars(kind)[method], "__isabstractmethod__", False):
                setattr(kind, method, wrapper(vars(kind)[method]))


def drawn_again(folder: Path) -> Iterator[tuple[str, str, int, np.ndarray, np.ndarray]]:
    """Image set, nuisance, image, draws (n,) and θ (n, d) of some images of every set under every nuisance."""
    study = tomllib.loads((folder / "study.toml").read_text(encoding="utf-8"))
    rows = run_tables.read(folder).rows
    for set_name, entry in study["images"].items():
        whole = brittle.image_set(entry if isinstance(entry, str) else entry["spec"])
        place_of = {id: place for place, id in enumerate(whole.ids.tolist())}
        for name, spec in study.get("nuisances", {}).items():
            space, root = brittle.nuisance(spec), stream_root(study["seed"], spec.partition(":")[0])
            here = (run_tables.safe_name(set_name), run_tables.safe_name(name))
            tables = [
                table.select(["image", DRAWN[cell.measure]]).rename_columns(["image", "draw"])
                for cell, table in rows.items()
                if cell.measure in DRAWN and cell[2:] == here
            ]
            for id in sorted({id for table in tables for id in table["image"].unique().to_pylist()})[:IMAGES]:
                draws = max(
                    (table.filter(pc.equal(table["image"], id))["draw"].unique() for table in tables), key=len
                ).to_numpy()
                batch = whole.batch([place_of[id]]).take(torch.zeros(len(draws), dtype=torch.int64))
                keys = fold(fold(root, batch.ids), torch.from_numpy(draws.astype(np.int64)))
                yield set_name, name, id, draws, space.sample(batch, keys[:, None])[:, 0].float().numpy()


def main() -> None:
    folder, noted = Path(sys.argv[1]), Noted()
    note_applied(noted)
    sys.argv = ["brittle", *sys.argv[2:]]
    try:
        command_line()
    except SystemExit as ended:
        if ended.code:
            raise
    found = list(drawn_again(folder))
    wanted = np.array(sorted({id for _, _, id, _, _ in found}))
    applied = {
        (id, row.tobytes())
        for ids, theta in noted
        for place in np.isin(ids, wanted).nonzero()[0]
        for id, row in ((int(ids[place]), theta[place]),)
    }
    columns: dict[str, list[Any]] = {
        "image_set": [],
        "nuisance": [],
        "image": [],
        "draw": [],
        "theta": [],
        "applied": [],
    }
    for set_name, name, id, draws, theta in found:
        for draw, row in zip(draws.tolist(), theta, strict=True):
            values = (set_name, name, id, draw, row, (id, row.tobytes()) in applied)
            for column, value in zip(columns.values(), values, strict=True):
                column.append(value)
    pq.write_table(pa.table(columns), f"{folder}.theta.parquet")


if __name__ == "__main__":
    main()
