"""Shuffled patches in words."""

from __future__ import annotations

from collections.abc import Sequence

from brittle.report.page.distortion import also
from brittle.report.page.words import number
from brittle.report.sections.shares import Row


def points(value: float, bounds: Sequence[float]) -> str:
    """68.6 [62.0, 74.2]"""
    return f"{number(value, 1)} [{number(bounds[0], 1)}, {number(bounds[1], 1)}]"


def grid(side: int) -> str:
    return f"{side}×{side}"


def top(row: Row) -> str:
    """35.8 to Bag (chance: 8.1)"""
    if row["di"] is None:
        return "–"
    gained, chance = number(row["points_to_top"], 1), number(row["points_by_chance"], 1)
    return f"{gained} to {row['top_class']}{also(row)} (chance: {chance})"


def by_chance(row: Row) -> str:
    """0.14, p 0.001"""
    chance = row.get("chance_spread")
    return "–" if chance is None or row["di"] is None else f"{number(chance['mean'], 2)}, p {chance['p_value']:.2g}"


def how(row: Row) -> str:
    """How images are shuffled."""
    if row["moves"] == "cycle":
        return f"{row['samples']} shuffles per image and grid, in one cycle: no patch stays in place"
    first = row["shuffled"][0]
    odds = f"; the identity is among them, 1 in {round(1 / first['identity'])} at 2×2" if first["grid"] == 2 else ""
    return f"{row['samples']} shuffles per image and grid, uniform permutations of the patches{odds}"


def what(pair: Row) -> str:
    return f"accuracy on {grid(pair['grid'])} patches"
