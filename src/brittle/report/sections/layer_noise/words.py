"""Words for noise on layers: numbers, and how they came about."""

from __future__ import annotations

from brittle.report.blocks import wording
from brittle.report.blocks.text import Estimate
from brittle.report.blocks.wording import estimate
from brittle.report.page.section import Row
from brittle.report.page.words import counted
from brittle.report.sections import comparisons, layered
from brittle.report.sections.layered import moves


def mean(layer: Row) -> Estimate:
    return estimate(layer, "mean", "interval", places=2)


def difference(pair: Row) -> Estimate:
    return comparisons.difference(pair, places=2)


def median(row: Row, layer: Row) -> Estimate:
    """Of σ*; more than half of the paths may lie past the limit."""
    return wording.median(layer, row["limit"], 2)


def how(row: Row) -> str:
    """path: one field of noise per path, scaled by σ; σ in steps of 0.1 up to 5"""
    drawn = "one field of noise per path, scaled by σ" if row["noise"] == "path" else "other noise at every σ"
    return f"{row['noise']}: {drawn}; σ in steps of {row['step']:g} up to {row['limit']:g}"


def repeats(row: Row) -> str:
    """5 fields per image and layer; 20 noisy networks"""
    fields = next((each["repeats"] for each in row["layers"] if not of_networks(row, each)), None)
    networks = next((each["repeats"] for each in row["layers"] if of_networks(row, each)), None)
    said = [] if fields is None else [f"{counted(fields, 'field')} per image and layer"]
    return "; ".join(said + ([] if networks is None else [counted(networks, "noisy network")]))


def which(row: Row) -> str:
    """all 11 layers; 12 of 60 layers, evenly spaced"""
    return layered.which(row, row["last"] + 1)


def of_networks(row: Row, layer: Row) -> bool:
    """Whether the weights are disturbed, alone or with others: a draw of the noise is then one network."""
    return row["last"] in layer.get("members", [layer["number"]])


def trend(row: Row) -> str:
    """from input to output σ* falls (Spearman −0.56) and P* rises (+0.48)"""
    found = row["depth_correlation"]
    if found is None:
        return ""
    said = [f"{name} {moves(found[key])}" for name, key in (("σ*", "mean"), ("P*", "p_star")) if found[key] is not None]
    return f"from input to output {' and '.join(said)}"
