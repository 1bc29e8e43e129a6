"""Shape and texture in words: shares in per cent, points, and what is made of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from brittle.report.page.distortion import also
from brittle.report.page.words import number

Row = Mapping[str, Any]

LIMITS = (
    "Accuracy on shuffled patches is not shape bias: patches bring edges of their own, and classifiers of like shape "
    "bias lose very different amounts (Marcu & Prügel-Bennett 2022, tables 1, 2 and 4). Look where the errors go.",
    "Shape bias counts only answers that are the shape or the texture; a classifier that is seldom either has one too.",
    "Error consistency says that errors fall on the same images, not that the wrong answers are the same.",
)


def share(value: float | None) -> str:
    """22.1 %"""
    return "–" if value is None else f"{100 * value:.1f} %"


def shares(value: float | None, bounds: Sequence[float] | None) -> str:
    """22.1 % [15.0, 30.0]"""
    ends = "" if value is None or bounds is None else f" [{100 * bounds[0]:.1f}, {100 * bounds[1]:.1f}]"
    return f"{share(value)}{ends}"


def apart(value: float | None, bounds: Sequence[float] | None) -> str:
    """A difference of shares, in points: −0.7 [−6.4, +5.3]"""
    if value is None:
        return "–"
    ends = "" if bounds is None else f" [{number(100 * bounds[0], 1, '+')}, {number(100 * bounds[1], 1, '+')}]"
    return f"{number(100 * value, 1, '+')}{ends}"


def points(value: float, bounds: Sequence[float]) -> str:
    """68.6 [62.0, 74.2]"""
    return f"{number(value, 1)} [{number(bounds[0], 1)}, {number(bounds[1], 1)}]"


def kappa(value: float | None, bounds: Sequence[float] | None) -> str:
    """0.68 [0.57, 0.77]"""
    ends = "" if value is None or bounds is None else f" [{number(bounds[0], 2)}, {number(bounds[1], 2)}]"
    return f"{'undefined' if value is None else number(value, 2)}{ends}"


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


def larger(pair: Row) -> str:
    """Whose number is larger, or that it is a tie."""
    name = {"first": pair["first"], "second": pair["second"]}.get(pair["larger"])
    return "a tie" if name is None else f"{name}’s is larger"


def what(pair: Row) -> str:
    return "shape bias" if pair["grid"] is None else f"accuracy on {grid(pair['grid'])} patches"
