"""Results as a table on the console."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table


def with_interval(value: float | None, interval: list[float] | None) -> str:
    """0.589 [0.568, 0.619]"""
    if value is None:
        return "–"
    return f"{value:.3f}" if interval is None else f"{value:.3f} [{interval[0]:.3f}, {interval[1]:.3f}]"


def print_measured(found: dict[str, Any]) -> None:
    """One row per classifier and nuisance, then paired differences and what the numbers are of."""
    console, results = Console(), found["results"]
    console.print(_table(results))
    first = results[0]
    console.print(
        f"{100 * first['confidence']:g} % intervals for {first['estimand_is']}: {first['interval_method']}; "
        f"seed {first['seed']}.",
        highlight=False,
    )
    extras = [(key, row) for row in results for key in ("nll", "ece", "top5") if key in row]
    for key, row in extras:
        shown = "infinite" if row[key] is None else f"{row[key]:.4f}"
        console.print(f"{row['classifier']}, {row['nuisance']}: {key} {shown}", highlight=False)
    for pair in found["comparisons"]:
        console.print(_sentence(pair), highlight=False)
    for row in results:
        if row["tolerance"] is not None and not row["tolerance_reached"]:
            console.print(
                f"{row['classifier']}, {row['nuisance']}: the plan ran out at a half-width of {row['half_width']:.4f}, "
                f"before the tolerance of {row['tolerance']:g}; more images or samples would narrow it.",
                highlight=False,
            )


def _table(results: list[dict[str, Any]]) -> Table:
    labelled = all(row["reference"] == "label" for row in results)
    table = Table(box=None, pad_edge=False, header_style="bold")
    worst = max((row.get("worst_of") or 0 for row in results), default=0)
    for name in ("classifier", "nuisance", "images × draws", "ρ", "accuracy", f"worst of {worst}", "clean", "flips"):
        if labelled or name in ("classifier", "nuisance", "images × draws", "ρ", "flips"):
            table.add_column(name, no_wrap=name != "nuisance")
    for row in results:
        cells = [
            row["classifier"],
            row["nuisance"],
            f"{row['images']} × {row['samples']}",
            with_interval(row["rho"], row["interval"]),
        ]
        if labelled:
            cells += [
                with_interval(row["accuracy_nuisance"], row["accuracy_nuisance_interval"]),
                f"{row['accuracy_worst']:.3f}",
                f"{row['accuracy_clean']:.3f}",
            ]
        table.add_row(*cells, f"{row['flip_rate']:.3f}")
    return table


def _sentence(pair: dict[str, Any]) -> str:
    """plain − augmented under affine:alpha=50: ρ −0.231 [−0.245, −0.211], augmented is better"""
    verdict = {"first": f"{pair['first']} is better", "second": f"{pair['second']} is better", "tie": "a tie"}
    return (
        f"{pair['first']} − {pair['second']} under {pair['nuisance']}, paired: "
        f"ρ {with_interval(pair['rho_difference'], pair['rho_interval'])}, {verdict[pair['rho_better']]}"
    )
