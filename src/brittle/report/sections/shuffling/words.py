"""Shuffled patches in words."""

from __future__ import annotations

from brittle.report.page.section import Row
from brittle.report.page.words import number
from brittle.report.sections.distortion import also


def grid(side: int) -> str:
    return f"{side}×{side}"


def top(row: Row) -> str:
    """35.8 to Bag (chance: 8.1)"""
    if row["di"] is None:
        return "–"
    gained, chance = number(row["points_to_top"], 1), number(row["points_by_chance"], 1)
    return f"{gained} to {row['top_class']}{also(row)} (chance: {chance})"


def how(row: Row) -> str:
    """How images are shuffled."""
    if row["moves"] == "cycle":
        return f"{row['samples']} shuffles per image and grid, in one cycle: no patch stays in place"
    first = row["shuffled"][0]
    odds = f"; the identity is among them, 1 in {round(1 / first['identity'])} at 2×2" if first["grid"] == 2 else ""
    return f"{row['samples']} shuffles per image and grid, uniform permutations of the patches{odds}"


def what(pair: Row) -> str:
    return f"accuracy on {grid(pair['grid'])} patches"
