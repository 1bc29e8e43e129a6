"""Weak points on the console: where they lead, which parameters break the classifier, and what can be trusted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table

from brittle.measures.weak_points.diagnosis import TRUSTED
from brittle.report.page.words import counted
from brittle.report.sections.legacy import EVERYTHING, line, plain_table
from brittle.report.sections.weak_points.draws import nowhere, telling

FLOWS, PARAMETERS, IMAGES = 6, 6, 10
MOST_ENTRIES, MOST_ROWS = 16, 40  # in detail; of a table


def printed(entries: Sequence[Mapping[str, Any]]) -> RenderableType:
    """For each classifier and nuisance: a line of totals, the strongest flows and parameters, and a row per image.
    Past MOST_ENTRIES of these, a table per nuisance with a row per classifier."""
    if len(entries) > MOST_ENTRIES:
        cells = dict.fromkeys((entry["image_set"], entry["nuisance"]) for entry in entries)
        tables = [
            _overview([entry for entry in entries if (entry["image_set"], entry["nuisance"]) == cell]) for cell in cells
        ]
        return Group(*(part for table in tables for part in table), line(f"  image by image: {EVERYTHING}"))
    parts = [part for entry in entries for part in (*_entry(entry), line())]
    return Group(*parts[:-1])


def _overview(entries: Sequence[Mapping[str, Any]]) -> list[RenderableType]:
    """All classifiers under one nuisance."""
    first = entries[0]
    share, key = _share(first)
    table = plain_table("", "trusted", "no other label", share, "effective", "most often leads")
    for entry in entries[:MOST_ROWS]:
        flow = entry["flows"][0] if entry["flows"] else None
        table.add_row(
            entry["classifier"],
            f"{entry['trusted']} of {entry['images']}",
            str(entry["no_other_label"]),
            "–" if entry[key] is None else f"{entry[key]:.2g}",
            "–" if entry["effective"] is None else f"{entry['effective']:.0f}",
            "–" if flow is None else f"{flow['from_label']} → {flow['to_label']} {100 * flow['share']:.0f} %",
        )
    more = len(entries) - MOST_ROWS
    return [
        line((first["nuisance"], "bold"), f" on {first['image_set']}, weak points: {first['prior']}"),
        table,
        line(f"  … and {more} more classifiers ({EVERYTHING})" if more > 0 else ""),
    ]


def _entry(entry: Mapping[str, Any]) -> Iterator[RenderableType]:
    yield line(
        (entry["nuisance"], "bold"),
        f" on {entry['image_set']}, weak points of ",
        (entry["classifier"], "bold"),
        f": {entry['prior']}",
    )
    methods = ", ".join(f"{name} {count}" for name, count in entry["methods"].items())
    per_1000 = "–" if entry["per_1000"] is None else f"{entry['per_1000']:.0f}"
    images, trusted = (counted(entry[key], "image") for key in ("images", "trusted"))
    yield line(
        f"  {images} ({methods}), {entry['calls']:,} classifier calls, "
        f"{per_1000} effective draws per 1,000 calls (median); draws of {trusted} can be trusted"
    )
    if entry.get("least_met"):
        yield line(
            f"  an island of failures with less than {100 * entry['least_met']:.2g} % of the prior may not have been "
            "met (3 in the number of draws from it)"
        )
    if entry.get("failing"):
        yield line(f"  draws are of {entry['draws_of']}")
    if entry["no_other_label"]:
        yield line(
            f"  only doubts: on {counted(entry['no_other_label'], 'image')} no draw has another label, it is less sure "
            "of its own; failures may still exist, and --failing looks for them alone"
        )
    if entry["already_wrong"]:
        yield line(f"  {entry['already_wrong']} are wrong untouched: {entry['already_wrong_are']}")
    if entry["hard"]:
        yield line("  its outputs are 0 and 1 only: a weak point is any θ at which it is wrong")
    if entry["flows"]:
        shown = (
            f"{flow['from_label']} → {flow['to_label']} {100 * flow['share']:.0f} %" for flow in entry["flows"][:FLOWS]
        )
        yield line(f"  lead to: {'; '.join(shown)}")
    if told := telling(entry)[:PARAMETERS]:
        shown = (f"{row['parameter']} (shift {row['shift']:.2f}, spread {row['spread']:.2f})" for row in told)
        yield line(f"  break it: {'; '.join(shown)}, in standard deviations of the prior")
    yield _table(entry)
    if len(entry["per_image"]) > IMAGES:
        yield line(f"  … and {len(entry['per_image']) - IMAGES} more images ({EVERYTHING})")


def _share(entry: Mapping[str, Any]) -> tuple[str, str]:
    """How much of the prior is weak: its title and its key."""
    return ("wrong", "wrong_share") if entry.get("failing") else ("1 − µ", "one_minus_mu")


def _table(entry: Mapping[str, Any]) -> Table:
    share, key = _share(entry)
    table = plain_table("image", "label", "leads to", share, "effective", "R̂ or k̂", "draws")
    for row in entry["per_image"][:IMAGES]:
        quality = row["rhat"] if row["rhat"] is not None else row["pareto_k"]
        table.add_row(
            row["name"],
            row["label"] + (" (wrong untouched)" if row["already_wrong"] else ""),
            row["leads_to"] or nowhere(row),
            "–" if row[key] is None else f"{row[key]:.2g}",
            f"{row['effective']:.0f}",
            "–" if quality is None else f"{quality:.2f}".replace("-", "−"),
            row["status"] if row["status"] != TRUSTED else "ok",
        )
    return table
