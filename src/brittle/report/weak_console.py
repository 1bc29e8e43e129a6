"""Weak points on the console: where they lead, which parameters break the classifier, and what can be trusted."""

from __future__ import annotations

import sys
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from brittle.measures.weak_points.diagnosis import TRUSTED

FLOWS, PARAMETERS, IMAGES = 6, 6, 20


def print_weak_points(found: dict[str, Any]) -> None:
    """For each classifier and nuisance: a line of totals, the strongest flows and parameters, and a row per image."""
    console = Console(soft_wrap=True, highlight=False, markup=False, width=None if sys.stdout.isatty() else 110)
    for entry in found["weak_points"]:
        _print_entry(console, entry)


def _print_entry(console: Console, entry: dict[str, Any]) -> None:
    console.print(
        Text.assemble(
            (f"{entry['nuisance']}", "bold"),
            f" on {entry['image_set']}, weak points of ",
            (entry["classifier"], "bold"),
            f": {entry['prior']}",
        )
    )
    methods = ", ".join(f"{name} {count}" for name, count in entry["methods"].items())
    per_1000 = "–" if entry["per_1000"] is None else f"{entry['per_1000']:.0f}"
    console.print(
        f"  {entry['images']} images ({methods}), {entry['calls']:,} classifier calls, "
        f"{per_1000} effective draws per 1,000 calls (median); draws of {entry['trusted']} images can be trusted"
    )
    if entry["already_wrong"]:
        console.print(f"  {entry['already_wrong']} are wrong untouched: {entry['already_wrong_are']}")
    if entry["hard"]:
        console.print("  its outputs are 0 and 1 only: a weak point is any θ at which it is wrong")
    if entry["flows"]:
        shown = "; ".join(
            f"{flow['from_label']} → {flow['to_label']} {100 * flow['share']:.0f} %" for flow in entry["flows"][:FLOWS]
        )
        console.print(f"  lead to: {shown}")
    if entry["parameters"]:
        shown = "; ".join(
            f"{row['parameter']} (shift {row['shift']:.2f}, spread {row['spread']:.2f})"
            for row in entry["parameters"][:PARAMETERS]
        )
        console.print(f"  break it: {shown}, in standard deviations of the prior")
    console.print(_table(entry["per_image"][:IMAGES]), soft_wrap=False)
    if len(entry["per_image"]) > IMAGES:
        console.print(f"  … and {len(entry['per_image']) - IMAGES} more images (--json or --out has them all)")
    console.print()


def _table(rows: list[dict[str, Any]]) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 1), header_style="dim")
    table.add_column("image", overflow="fold", min_width=8)
    for name in ("label", "leads to", "1 − µ", "effective", "R̂ or k̂", "draws"):
        table.add_column(name, no_wrap=True)
    for row in rows:
        quality = row["rhat"] if row["rhat"] is not None else row["pareto_k"]
        table.add_row(
            row["name"],
            row["label"] + (" (wrong untouched)" if row["already_wrong"] else ""),
            row["leads_to"] or "–",
            "–" if row["missed"] is None else f"{row['missed']:.2g}",
            f"{row['effective']:.0f}",
            "–" if quality is None else f"{quality:.2f}",
            row["status"] if row["status"] != TRUSTED else "ok",
        )
    return table
