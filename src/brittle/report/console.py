"""Results as a table on the console."""

from __future__ import annotations

import sys
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from brittle.report.weak_console import print_weak_points


def with_interval(value: float | None, interval: list[float] | None) -> str:
    """0.589 [0.568, 0.619]"""
    if value is None:
        return "–"
    return f"{value:.3f}" if interval is None else f"{value:.3f} [{interval[0]:.3f}, {interval[1]:.3f}]"


def print_found(found: dict[str, Any]) -> None:
    """What every measure of a run has to say."""
    if "results" in found:
        print_measured(found)
    if "weak_points" in found:
        print_weak_points(found)


def print_measured(found: dict[str, Any]) -> None:
    """A small table per nuisance, the paired differences below it, and what the numbers are of."""
    console = Console(soft_wrap=True, highlight=False, markup=False, width=None if sys.stdout.isatty() else 110)
    results = found["results"]
    for nuisance in dict.fromkeys((row["image_set"], row["nuisance"]) for row in results):
        rows = [row for row in results if (row["image_set"], row["nuisance"]) == nuisance]
        seen = " or ".join(dict.fromkeys(f"{row['images']} images × {row['samples']} draws" for row in rows))
        console.print(Text.assemble((nuisance[1], "bold"), f" on {nuisance[0]}, {seen}: {rows[0]['prior']}"))
        console.print(_table(rows), soft_wrap=False)
        for pair in found["comparisons"]:
            if (pair["image_set"], pair["nuisance"]) == nuisance:
                console.print("  " + _sentence(pair, all(row["reference"] == "label" for row in rows)))
        for row in rows:
            for line in _remarks(row):
                console.print("  " + line)
        console.print()
    for name, skipped in found["skipped"].items():
        if skipped:
            console.print(f"{name}: {len(skipped)} images can't be read and were skipped, the first {skipped[0]}")
    first = results[0]
    console.print(
        f"{100 * first['confidence']:g} % intervals for {first['estimand_is']}: {first['interval_method']}; "
        f"seed {first['seed']}."
    )


def _remarks(row: dict[str, Any]) -> list[str]:
    lines = []
    if row["reference"] != "label":
        some = "images without a label are" if row["reference"] == "mixed" else "these images have no labels and are"
        lines.append(f"{row['classifier']}: {some} measured against its own prediction for the untouched image")
    extras = [f"{key} {_number(row[key])}" for key in ("nll", "ece", "top5") if key in row]
    if extras:
        lines.append(f"{row['classifier']}: {', '.join(extras)}")
    if row["tolerance"] is not None and not row["tolerance_reached"]:
        lines.append(
            f"{row['classifier']}: the plan ran out at a half-width of {row['half_width']:.4f}, before the tolerance "
            f"{row['tolerance']:g}; more images or samples would narrow it"
        )
    return lines


def _number(value: float | None) -> str:
    return "infinite" if value is None else f"{value:.4f}"


def _table(rows: list[dict[str, Any]]) -> Table:
    """Under 80 columns wide for names of ordinary length; names are folded, numbers never."""
    labelled = all(row["reference"] == "label" for row in rows)
    table = Table(box=None, padding=(0, 1, 0, 1), header_style="dim")
    table.add_column("", overflow="fold", min_width=8)
    worst = max((row["worst_of"] or 0 for row in rows), default=0)
    measured = ["ρ", "accuracy", f"worst/{worst}", "clean", "flips"] if labelled else ["ρ", "flips"]
    for name in measured:
        table.add_column(name, no_wrap=True)
    for row in rows:
        cells = [with_interval(row["rho"], row["interval"])]
        if labelled:
            cells += [
                with_interval(row["accuracy_nuisance"], row["accuracy_nuisance_interval"]),
                with_interval(row["accuracy_worst"], None),
                f"{row['accuracy_clean']:.3f}",
            ]
        table.add_row(row["classifier"], *cells, f"{row['flip_rate']:.3f}")
    return table


def _sentence(pair: dict[str, Any], labelled: bool) -> str:
    """plain − augmented, paired: ρ −0.231 [−0.245, −0.211], augmented is better"""
    better = {"first": pair["first"], "second": pair["second"]}.get(pair["rho_better"])
    verdict = "is better" if labelled else "keeps to its own prediction more"
    family = f" (simultaneous over {pair['family']} comparisons)" if pair["family"] > 1 else ""
    return (
        f"{pair['first']} − {pair['second']}, paired: ρ {with_interval(pair['rho_difference'], pair['rho_interval'])}"
        f"{family}, {'a tie' if better is None else f'{better} {verdict}'}"
    )
