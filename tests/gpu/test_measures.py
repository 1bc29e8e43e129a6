"""Every measure on a GPU gives the rows of a CPU: the same keys and θ, probabilities but for rounding."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from everything import study_of_everything
from on_gpu import DEVICE

import brittle
from brittle.measures import measures

pytestmark = pytest.mark.warned("")  # of a run as small as this there is much to warn of
KEYS = ("classifier", "image set", "nuisance", "unit", "image", "draw", "layer", "repeat", "target")
CLOSE = 2e-3  # of probabilities and of severities that they decide
# One flipped acceptance or one break a step further changes what follows: a share of rows may lie elsewhere.
ELSEWHERE = {"weak-points": 0.5, "connectedness": 0.2, "perturbation": 0.2, "layer-changes": 0.2, "layer-noise": 0.1}
FEW = 0.03


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    made = tmp_path_factory.mktemp("everything")
    study = study_of_everything(made)
    study["measures"]["perturbation"]["count"] = 6  # of two searches, one that goes elsewhere is half
    found = {"cpu": made / "cpu", "gpu": made / "gpu"}
    for where, device in zip(found.values(), ("cpu", DEVICE), strict=True):
        brittle.run(study, out=where, device=device, progress=False)
    return found


@pytest.mark.parametrize("name", sorted(name for name in measures.names() if name != "before-after"))
def test_rows_are_those_of_a_cpu(name: str, runs: dict[str, Path]) -> None:
    here, there = (_rows(runs[each], name) for each in ("cpu", "gpu"))
    assert (here is None) == (there is None)
    if here is None or there is None:  # a measure without rows of its own
        return
    assert here.num_rows == there.num_rows
    keys = [column for column in here.column_names if column in KEYS]
    assert here.select(keys).equals(there.select(keys))
    off = np.zeros(here.num_rows, bool)
    for column in set(here.column_names) - set(keys):
        one, other = here[column].to_numpy(zero_copy_only=False), there[column].to_numpy(zero_copy_only=False)
        if np.issubdtype(one.dtype, np.floating):
            p, q = (np.exp(each) if column.startswith("log") else each for each in (one, other))
            off |= ~(np.isclose(p, q, atol=CLOSE, rtol=CLOSE, equal_nan=True))
        else:
            off |= one != other
    assert off.mean() <= ELSEWHERE.get(name, FEW), f"{off.sum()} of {len(off)} rows lie elsewhere"


def _rows(run: Path, measure: str) -> Any:
    try:
        table = brittle.rows(run, measure)
    except brittle.BrittleError:
        return None
    plain = [name for name in table.column_names if not pa.types.is_nested(table[name].type)]
    table = table.select(plain)
    keys = [(name, "ascending") for name in KEYS if name in plain]
    return table.take(pc.sort_indices(table, sort_keys=keys)) if keys else table
