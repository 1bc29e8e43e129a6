"""A column of how many classifiers of a run get each image right: what stands in for memorisation scores."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from brittle.engine.assemble import assemble, entries_of
from brittle.engine.inputs import Inputs
from brittle.engine.store.run_folder import RunFolder, folder_path
from brittle.errors import BrittleError
from brittle.files import write_durably
from brittle.images.fingerprint import Fingerprints
from brittle.measures.base import together
from brittle.registry import did_you_mean
from brittle.report.csv_file import write_csv
from brittle.study import Study

CLEAN = "clean"


def agreement(
    run: str | Path, out: str | Path | None = None, *, group: str | None = None, images: str | None = None
) -> pa.Table:
    """Per image of a run its id, the share of classifiers that get it right untouched (`right`), the share that give
    their most frequent answer (`agree`), and how many classifiers there were.

    `group` restricts it to several trainings of one model. Written to `out` (.csv or .parquet), it can be given to any
    image set as `columns`. Nothing is loaded but the run's stored clean predictions."""
    where = folder_path(run)
    folder = RunFolder(where)
    study = Study.of(folder.read_study(), str(folder.study))
    names = [name for name, entry in study.classifiers.items() if group is None or entry.group == group]
    if not names:
        known = sorted({entry.group for entry in study.classifiers.values() if entry.group})
        raise BrittleError(f"the run in {where} has no group {group!r}", did_you_mean(str(group), known))
    sets = list(study.images)
    if images is None and len(sets) > 1:
        raise BrittleError(f"the run in {where} has several image sets: {', '.join(sets)}", "Name one of them: images.")
    if images is not None and images not in sets:
        raise BrittleError(f"the run in {where} has no image set {images!r}", did_you_mean(images, sets))
    table = _counted(folder, study, names, images or sets[0])
    if out is not None:
        _write(table, Path(out))
    return table


def _counted(folder: RunFolder, study: Study, names: list[str], images: str) -> pa.Table:
    job, begun = assemble(Inputs(study), "cpu", load=False), folder.read_begun()
    # Rows are known by what the run's things were when it began, whether they are still there or not.
    prints = {
        name: Fingerprints(count, begun["images"][name], source) for name, (count, source) in begun["sources"].items()
    }
    entries = entries_of(Inputs(study), prints, {}, begun["files"])
    store = folder.store(replace(job, entries=entries))
    clean = [each for each in job.assignments.values() if each.kind == CLEAN]
    found = []
    for name in names:
        parts = [rows for each in clean for _, rows in store.read(each.cell(name, images))]
        if not parts:
            raise BrittleError(
                f"the run holds no clean predictions of {name!r} on {images!r}",
                "Add [clean] to its study and give the run command again.",
            )
        rows = together(parts).select(["image", "predicted", "rank"]).sort_by("image")
        found.append((rows["image"].to_numpy(), rows["rank"].to_numpy() == 0, rows["predicted"].to_numpy()))
    ids = found[0][0]
    ids = ids[np.logical_and.reduce([np.isin(ids, each) for each, *_ in found])]
    at = [np.searchsorted(each, ids) for each, *_ in found]
    right = np.stack([values[places] for places, (_, values, _) in zip(at, found, strict=True)])
    said = np.stack([predicted[places] for places, (_, _, predicted) in zip(at, found, strict=True)])
    same = (said[:, None] == said[None]).sum(1).max(0)  # (R, R, M): how many give the answer of each, the most of them
    return pa.table(
        {
            "id": ids,
            "right": right.mean(0),
            "agree": same / len(names),
            "classifiers": np.full(len(ids), len(names)),
        }
    )


def _write(table: pa.Table, path: Path) -> None:
    writers = {".csv": lambda to: write_csv(to, [table]), ".parquet": lambda to: pa.parquet.write_table(table, to)}
    if path.suffix not in writers:
        raise BrittleError(f"{path} ends neither in .csv nor in .parquet", "Give one of them.")
    write_durably(path, writers[path.suffix])
