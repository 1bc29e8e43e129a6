"""A hardening on the console: the rounds, which was chosen and why, and before and after."""

from __future__ import annotations

import sys
from typing import Any

from rich.console import Console
from rich.table import Table

from brittle.hardening.harden import Hardened
from brittle.hardening.options import HardeningOptions
from brittle.report.console import print_found, with_interval


def print_criterion(settings: HardeningOptions) -> None:
    """How the round will be chosen, before anything is done."""
    _console().print(f"to be chosen: {settings.criterion}")


def print_hardened(done: Hardened) -> None:
    console, parts = _console(), done.summary["parts"]
    console.print(
        f"{parts['training']} training images; on {parts['held_out']} held-out images the candidates were "
        "(1 − µ: of the images sampled; wrong: draws trained on at which another label won):"
    )
    console.print(_rounds(done.rounds, done.chosen), soft_wrap=False)
    console.print()
    print_found(done.found | {"comparisons": []})  # what follows says more
    moved = done.difference
    console.print(
        f"after − before on {parts['test']} test images, paired: "
        + ", ".join(
            f"{name} {_signed(moved[key], moved[f'{key}_interval'])}"
            for name, key in (
                ("ρ", "rho"),
                ("accuracy", "accuracy_nuisance"),
                ("clean accuracy", "accuracy_clean"),
            )
        )
    )
    worst = min(moved["classes"], key=lambda row: row["rho"])
    console.print(
        f"least gain of a class, {worst['class']}: ρ {_signed(worst['rho'], worst['rho_interval'])} "
        f"(simultaneous over {len(moved['classes'])} classes)"
    )
    if done.chosen == 0:
        console.print("no candidate met the criterion with a greater ρ̂: the weights are those of before")
    calls = done.summary["calls"]
    console.print(
        f"{calls['sampling']:,} classifier calls in sampling, training worth {calls['training']:,} more "
        f"(three an image and step); rounds took {done.summary['seconds']:.0f} s"
    )
    if done.summary["weights"] is not None:
        console.print(f"weights: {done.summary['weights']}")
    if done.summary["classifier"] is not None:
        console.print(f"classifier: {done.summary['classifier']}")


def _rounds(rounds: list[dict[str, Any]], chosen: int) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 1), header_style="dim")
    for name in ("round", "way", "ρ", "accuracy", "clean", "loss", "1 − µ", "wrong", ""):
        table.add_column(name, no_wrap=True)
    for place, row in enumerate(rounds):
        table.add_row(
            str(row["round"]),
            f"{row['way']:g}",
            with_interval(row["rho"], row["interval"]),
            f"{row['accuracy_nuisance']:.3f}",
            f"{row['accuracy_clean']:.3f}",
            *("–" if row.get(key) is None else f"{row[key]:.3f}" for key in ("loss", "failing", "wrong")),
            "chosen" if place == chosen else "",
        )
    return table


def _signed(value: float, interval: list[float] | None) -> str:
    """+0.102 [+0.087, +0.118]"""
    return f"{value:+.3f}" if interval is None else f"{value:+.3f} [{interval[0]:+.3f}, {interval[1]:+.3f}]"


def _console() -> Console:
    return Console(soft_wrap=True, highlight=False, markup=False, width=None if sys.stdout.isatty() else 110)
