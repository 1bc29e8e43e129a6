"""What weak points say, in plain sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from brittle.measures.weak_points.diagnosis import TRUSTED
from brittle.nuisances.base.seeds import SEED_NAMES
from brittle.report.sentences import listed, number

Row = Mapping[str, Any]
FLOWS, PARAMETERS = 3, 2
ONE_SIDED = 0.7  # of the shifts: how much of them must point one way to be called a direction


def headline(entry: Row, names: Sequence[str]) -> str:
    """Where the weak points lead."""
    where = f"Weak points of {entry['classifier']} under {entry['nuisance']}"
    flows = entry["flows"]
    if not flows:
        seen = "nothing was found" if not entry["found"] else "no draw that was kept changes the label"
        return f"{where}: {seen} on the {_images(entry['images'] - entry['already_wrong'])} looked at."
    shown = [
        f"from {names[flow['from']]} to {names[flow['to']]} ({100 * flow['share']:.0f} %)" for flow in flows[:FLOWS]
    ]
    rest = f"; {len(flows) - FLOWS} other ways share the rest" if len(flows) > FLOWS else ""
    doubt = ""
    if not entry["trusted"]:
        doubt = ", as far as draws tell that can’t be trusted"
    elif entry["trusted"] < entry["images"]:
        doubt = f" (draws of {entry['trusted']} of {entry['images']} images can be trusted)"
    return f"{where} lead most often {listed(shown)}{rest}{doubt}."


def trust(entry: Row) -> str:
    """How many images' draws can be trusted, and why the others' can't."""
    bad = {status: count for status, count in entry["statuses"].items() if status != TRUSTED}
    if not bad:
        return f"The draws of all {_images(entry['images'])} can be trusted."
    told = listed([f"{status}: {count}" for status, count in sorted(bad.items(), key=lambda item: -item[1])])
    if not entry["trusted"]:
        return f"The draws of none of the {_images(entry['images'])} can be trusted ({told}): read all below as a hint."
    return (
        f"The draws of {entry['trusted']} of {_images(entry['images'])} can be trusted; not those of the others "
        f"({told}), which are marked."
    )


def findings(entry: Row, names: Sequence[str], unlabelled: int) -> list[str]:
    """Everything to know of one classifier under one nuisance, most important first."""
    said = [headline(entry, names), *_parameters(entry), *([trust(entry)] if entry["found"] else ())]
    wrong = entry["already_wrong"]
    if wrong:
        said.append(
            f"{_images(wrong)} {'is' if wrong == 1 else 'are'} wrong untouched, where any θ will do: sampled like the "
            "others, but left out of flows, parameters and pictures."
        )
    if entry["hard"]:
        said.append(
            "This classifier answers 0 or 1 and nothing between: p(not ℓ) is 1 where it is wrong and 0 elsewhere, so "
            "its weak points are the prior's own draws at which it is wrong."
        )
    if unlabelled:
        said.append(f"{_images(unlabelled)} without a label: there the clean prediction counts as right.")
    return said


def _parameters(entry: Row) -> list[str]:
    rows = [row for row in entry["parameters"] if row["parameter"] not in SEED_NAMES]
    if not rows:
        return []
    told = ", then along ".join(f"{row['parameter']} ({_moved(row)})" for row in rows[:PARAMETERS])
    return [f"It breaks most along {told}."]


def _moved(row: Row) -> str:
    """its mean off by 0.30 standard deviations of the prior, to larger values; its spread 1.23 times the prior's"""
    direction = ""
    if abs(row["signed_shift"]) > ONE_SIDED * row["shift"] > 0:
        direction = "to larger values" if row["signed_shift"] > 0 else "to smaller values"
    return (
        f"its mean off by {number(row['shift'], 2)} standard deviations of the prior, {direction or 'either way'}; its "
        f"spread {number(row['spread'], 2)} times the prior’s"
    )


def _images(count: int) -> str:
    return f"{count} image" if count == 1 else f"{count} images"
