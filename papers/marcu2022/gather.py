"""What is kept of the runs: their summaries as tables, one Parquet file per part and kind."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import plan
import pyarrow as pa
import pyarrow.parquet as pq

Rows = list[dict[str, Any]]

FACTS = ("name", "group", "seed", "network", "images", "epochs", "batch_size", "mix", "objective", "random_labels")
SAID = ("loss", "losses", "diversity", "mix_diversity", "test_error", "seconds")
INDEX = (
    *("group", "runs", "nuisance", "images", "classes", "di", "rough_interval", "worst_case", "top_class", "top_share"),
    *("agreeing_runs", "points_lost", "points_to_top", "points_by_chance"),
)
ACCURACY = ("classifier", "nuisance", "images", "accuracy_clean", "accuracy_nuisance", "accuracy_nuisance_interval")
SHAPES = (
    *("classifier", "stimuli", "shape_accuracy", "shape_accuracy_interval", "texture_accuracy"),
    *("texture_accuracy_interval", "shape_bias", "shape_bias_interval"),
)
CLEAN = ("classifier", "image_set", "images", "accuracy_clean")
OCCLUDED = ("image_set", "nuisance", "images", "train_images", "accuracy_clean", "train_accuracy_clean", "divisible")


def tables(networks: Sequence[Mapping[str, Any]], runs: Mapping[str, Mapping[str, Any]]) -> dict[str, Rows]:
    """Every table of a part: what its trainings said, and what each measure of its runs says."""
    found: dict[str, Rows] = {"networks": [{key: each.get(key) for key in (*FACTS, *SAID)} for each in networks]}
    for name, summary in runs.items():
        measures = summary["measures"]
        for row in measures.get("robustness", {}).get("results", ()):
            found.setdefault("accuracy", []).append(_chosen(row, ACCURACY))
        for row in measures.get("interference", {}).get("results", ()):
            kept = _chosen(row, INDEX)
            for level in ("chance_spread", "chance_one_class"):
                kept |= {f"{level}_{key}": row[level][key] for key in ("mean", "high")}
            kept["class_names"] = [each["class"] for each in row["per_class"]]
            kept["increases"] = [each["increases"] for each in row["per_class"]]  # class by class, run by run
            found.setdefault("interference", []).append(kept)
        for row in measures.get("cue-conflict", {}).get("results", ()):
            found.setdefault("shapes", []).append(_chosen(row, SHAPES))
        for row in measures.get("clean", {}).get("results", ()):
            if row["image_set"] == "textures":
                found.setdefault("textures", []).append(_chosen(row, CLEAN))
        if "occlusion" in measures:
            found.setdefault("occlusion", []).extend(_occlusion(name, measures["occlusion"]))
        for key, rows in measures.get("augmentation", {}).items():
            if key in ("results", "groups"):
                found.setdefault("affinity", []).extend(json.loads(json.dumps(rows)))
    return found


def _chosen(row: Mapping[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    return {key: row[key] for key in keys}


def _occlusion(run: str, said: Mapping[str, Any]) -> Rows:
    """A row per model (all of its runs together) or classifier, occluder and share."""
    rows = []
    for key, sort in (("groups", "group"), ("results", "classifier")):
        for row in said[key]:
            about = {"run": run, "sort": sort, "name": row[sort]} | _chosen(row, OCCLUDED) | {"gap": row["gap"]}
            for point in row["points"]:
                ratio = point.get("ratio_of_means", point.get("iocclusion"))
                ends = point.get("ratio_of_means_interval", point.get("iocclusion_interval"))
                rows.append(
                    about
                    | {
                        "share": point["share"],
                        "accuracy": point["accuracy"],
                        "accuracy_interval": point["accuracy_interval"],
                        "relative": point["relative"],
                        "train_accuracy": point["train_accuracy"],
                        "occluded_gap": point["gap"],
                        "iocclusion": ratio,
                        "iocclusion_interval": ends,
                        "mean_of_ratios": point.get("mean_of_ratios"),
                        "accuracy_spread": point.get("accuracy_spread"),
                    }
                )
    return rows


def write(
    part: str,
    networks: Sequence[Mapping[str, Any]],
    runs: Mapping[str, Mapping[str, Any]],
    environment: Mapping[str, Any],
    out: Path,
) -> None:
    """Writes the tables of a part. Where networks are measured each by itself, tables gather: what earlier calls wrote
    of other networks stays."""
    for name, rows in tables(networks, runs).items():
        if part in plan.BY_ITSELF:
            rows = [row for row in read(out, part, name) if not any(map(partial(_same, row), rows))] + rows
        keys = dict.fromkeys(key for row in rows for key in row)  # earlier calls may have kept fewer
        rows = [{key: row.get(key) for key in keys} for row in rows]
        pq.write_table(pa.Table.from_pylist(rows), out / f"{part}-{name}.parquet", compression="zstd")
    text = json.dumps(environment, indent=1, ensure_ascii=False)
    (out / f"{part}-environment.json").write_text(text + "\n", encoding="utf-8")


def _same(row: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two rows of one table are about the same network."""
    return all(row.get(key) == other.get(key) for key in ("name", "classifier", "group"))


def read(found: Path, part: str, name: str) -> Rows:
    """A table as rows; none where it is not there."""
    file = found / f"{part}-{name}.parquet"
    rows: Rows = pq.read_table(file).to_pylist() if file.exists() else []
    return rows
