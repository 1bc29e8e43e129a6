"""What is kept of the runs: their summaries as tables, one Parquet file per part and kind."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Row = dict[str, Any]
Summary = Mapping[str, Any]

POINTS = (
    *("classifier", "nuisance", "unit", "images", "wrong_at_0", "never", "never_interval", "recovered", "mean"),
    *("mean_interval", "median"),
)
AT = (
    *("value", "accuracy", "accuracy_interval", "mean_confidence", "drop", "drop_interval", "failed"),
    *("first_failures", "wrong", "ece", "nll", "aurc"),
)
MEANS = (
    *("classifier", "reference", "images", "mce", "mce_interval", "mean_rce", "mean_rce_interval"),
    *("drop_over_images", "drop_over_images_interval"),
)
ERRORS = ("nuisance", "error_clean", "ce", "ce_interval", "rce", "rce_interval")
RANKED = ("classifier", "values", "rank", "rank_at_most", "rank_by_overlap")
GAINS = (
    *("model", "accuracy", "accuracy_shifted", "gain", "gain_interval"),
    *("effective_robustness", "effective_robustness_interval"),
)
LINES = ("slope", "slope_interval", "correlation", "correlation_interval", "p_value")
PARTIALS = (
    *("attribute", "family", "models", "fewest_trainings", "by_itself", "correlation", "p_value", "interval"),
    *("log_correlation", "log_p_value", "log_interval"),
)


def tables(runs: Mapping[str, Summary]) -> dict[str, list[Row]]:
    """Every table of a part, from the summaries of its runs by name."""
    found: dict[str, list[Row]] = {}
    for run, summary in runs.items():
        for name, rows in _of_run(summary["measures"]):
            found.setdefault(name, []).extend({"run": run} | row for row in rows)
    return {name: rows for name, rows in found.items() if rows}


def _of_run(measures: Mapping[str, Any]) -> Iterator[tuple[str, list[Row]]]:
    failures = measures["failure-points"]["results"]
    yield "points", [_some(row, POINTS) | _fall(row["falls"]) for row in failures]
    yield (
        "severities",
        [
            _some(row, ("classifier", "nuisance")) | _some(entry, AT) | _fall(entry["falls"])
            for row in failures
            for entry in row["severities"]
        ],
    )
    yield (
        "classes",
        [
            _some(row, ("classifier", "nuisance")) | _some(each, ("class", "images", "accuracy"))
            for row in failures
            for each in row["classes"]
        ],
    )
    errors = measures.get("corruption-error", {}).get("results", ())
    yield "means", [_some(row, MEANS) for row in errors]
    yield (
        "errors",
        [{"classifier": row["classifier"]} | _some(each, ERRORS) for row in errors for each in row["shifts"]],
    )
    yield from _ranked(measures.get("ranking", {}).get("results", ()))
    yield from _on_the_line(measures.get("line", {}).get("results", ()))


def _ranked(results: Sequence[Row]) -> Iterator[tuple[str, list[Row]]]:
    about = ("nuisance", "by", "severities")
    yield "ranks", [_some(row, about) | _some(each, RANKED) for row in results for each in row["classifiers"]]
    yield (
        "places",
        [
            _some(row, ("nuisance", "by", "family", "changing_places"))
            | {"pairs": len(row["pairs"]), "more_than_noise": len(row["swaps"]), "swaps": json.dumps(row["swaps"])}
            for row in results
        ],
    )


def _on_the_line(results: Sequence[Row]) -> Iterator[tuple[str, list[Row]]]:
    yield "gains", [_some(each, GAINS) for row in results for each in row["points"]]
    yield "partial", [_some(each, PARTIALS) for row in results for each in row["partial"]]
    lines: list[Row] = []
    for row in results:
        lines += [{"axis": axis, "nuisance": "", "value": None} | _some(row["lines"][axis], LINES) for axis in AXES]
        for shift in row["shifts"]:
            for axis in AXES:
                for place, value in enumerate(shift["severities"]):
                    at = {key: shift[axis][key][place] for key in LINES}
                    lines.append({"axis": axis, "nuisance": shift["nuisance"], "value": value} | at)
    yield "lines", lines


AXES = ("plain", "probit")


def _some(row: Mapping[str, Any], keys: Sequence[str]) -> Row:
    return {key: row[key] for key in keys}


def _fall(falls: Sequence[Row]) -> Row:
    """The label that most first failures fall into."""
    most = falls[0] if falls else {"label": None, "paths": 0, "share": None}
    return {"fall": most["label"], "fall_paths": most["paths"], "fall_share": most["share"]}


def write(
    part: str, networks: Sequence[Row], runs: Mapping[str, Summary], environment: Mapping[str, Any], out: Path
) -> None:
    found = tables(runs) | ({"networks": list(networks)} if networks else {})
    for name, rows in found.items():
        pq.write_table(pa.Table.from_pylist(rows), out / f"{part}-{name}.parquet", compression="zstd")
    text = json.dumps(environment, indent=1, ensure_ascii=False)
    (out / f"{part}-environment.json").write_text(text + "\n", encoding="utf-8")


def read(found: Path, part: str, name: str, run: str | None = None) -> list[Row]:
    """A table as rows, of one run if it is named; none where it is not there."""
    file = found / f"{part}-{name}.parquet"
    rows: list[Row] = pq.read_table(file).to_pylist() if file.exists() else []
    return rows if run is None else [row for row in rows if row["run"] == run]
