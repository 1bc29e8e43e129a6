"""Words for noise on layers: numbers, and how they came about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from brittle.report.page.words import counted, number

Row = Mapping[str, Any]
CLEAR = 0.5  # rank correlation below which nothing is said to rise or fall


def estimate(mean: float | None, bounds: Sequence[float] | None, sign: str = "-") -> str:
    """1.28 [0.94, 2.08]"""
    ends = "" if bounds is None else f" [{number(bounds[0], 2, sign)}, {number(bounds[1], 2, sign)}]"
    return f"{number(mean, 2, sign)}{ends}"


def share(given: float | None) -> str:
    return "–" if given is None else f"{100 * given:.1f} %"


def median(row: Row, layer: Row) -> str:
    """Of σ*; more than half of the paths may lie past the limit."""
    if layer["mean"] is None:
        return "–"
    return f"> {row['limit']:g}" if layer["median"] is None else number(layer["median"], 2)


def how(row: Row) -> str:
    """path: one field of noise per path, scaled by σ; σ in steps of 0.1 up to 5"""
    drawn = "one field of noise per path, scaled by σ" if row["noise"] == "path" else "other noise at every σ"
    return f"{row['noise']}: {drawn}; σ in steps of {row['step']:g} up to {row['limit']:g}"


def repeats(row: Row) -> str:
    """5 fields per image and layer; 20 noisy networks"""
    fields = next((each["repeats"] for each in row["layers"] if not is_weights(row, each)), None)
    networks = next((each["repeats"] for each in row["layers"] if is_weights(row, each)), None)
    said = [] if fields is None else [f"{counted(fields, 'field')} per image and layer"]
    return "; ".join(said + ([] if networks is None else [counted(networks, "noisy network")]))


def which(row: Row) -> str:
    """all 11 layers; 12 of 60 layers, evenly spaced"""
    there = row["last"] + (row["attack"] == "random")  # a search leaves the weights out
    if row["chosen"] == "all":
        return f"all {there} layers"
    return f"{len(row['layers'])} of {there} layers, {row['chosen']}"


def is_weights(row: Row, layer: Row) -> bool:
    return bool(layer["number"] == row["last"])


def trend(row: Row) -> str:
    """from input to output σ* falls (Spearman −0.56) and P* rises (+0.48)"""
    found = row["depth_correlation"]
    if found is None:
        return ""
    said = [f"{name} {moves(found[key])}" for name, key in (("σ*", "mean"), ("P*", "p_star")) if found[key] is not None]
    return f"from input to output {' and '.join(said)}"


def moves(correlation: float) -> str:
    """falls (Spearman −0.56)"""
    way = "rises" if correlation > 0 else "falls"
    said = way if abs(correlation) >= CLEAR else "neither clearly rises nor falls"
    return f"{said} (Spearman {number(correlation, 2, '+')})"
