"""Before and after on the console: what changed, and where it is known, how a hardening chose its round."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType

from brittle.report.page.words import counted, estimate, number
from brittle.report.sections.before_after.changes import Change, Difference
from brittle.report.sections.legacy import line, plain_table

SHORT = {"rho": "ρ", "accuracy_nuisance": "accuracy", "accuracy_clean": "clean accuracy"}


def printed(differences: Sequence[Difference]) -> RenderableType:
    """For each image set and nuisance: what changed over all, and the class that gained least."""
    parts = [part for difference in differences for part in (*_difference(difference), line())]
    return Group(*parts[:-1])


def _difference(difference: Difference) -> Iterator[RenderableType]:
    told = ", ".join(f"{name} {_signed(difference.of(key))}" for key, name in SHORT.items())
    pair, images = f"{difference.after} − {difference.before}", counted(difference.images, "image")
    yield line((difference.nuisance, "bold"), f" on {difference.image_set}, {pair} on {images}, paired: {told}")
    if difference.classes:
        worst = difference.least_first[0]
        yield line(
            f"  least gain of a class, {worst.name}: ρ {_signed(worst.of('rho'))} "
            f"(simultaneous over {len(difference.classes)} classes)"
        )


def printed_rounds(record: Mapping[str, Any]) -> RenderableType:
    """The candidates of a hardening, as harden.json has them."""
    parts = record["parts"]
    table = plain_table("round", "way", "ρ", "accuracy", "clean", "loss", "1 − µ", "wrong", "", folds=0)
    for place, row in enumerate(record["rounds"]):
        table.add_row(
            str(row["round"]),
            f"{row['way']:g}",
            estimate(row["rho"], row["interval"]),
            number(row["accuracy_nuisance"]),
            number(row["accuracy_clean"]),
            *(number(row.get(key)) for key in ("loss", "failing", "wrong")),
            "chosen" if place == record["chosen"] else "",
        )
    heading = (
        f"{parts['training']} training images; on {parts['held_out']} held-out images the candidates were "
        "(1 − µ: of the images sampled; wrong: draws trained on at which another label won):"
    )
    return Group(line(heading), table, line())


def printed_outcome(record: Mapping[str, Any]) -> RenderableType:
    """What a hardening cost, and where its weights are."""
    calls = record["calls"]
    lines = []
    if record["chosen"] == 0:
        lines.append("no candidate met the criterion with a greater ρ̂: the weights are those of before")
    lines.append(
        f"{calls['sampling']:,} classifier calls in sampling, training worth {calls['training']:,} more "
        f"(three per image and step); rounds took {record['seconds']:.0f} s"
    )
    lines += [f"{key}: {record[key]}" for key in ("weights", "classifier") if record[key] is not None]
    return Group(*map(line, lines))


def _signed(change: Change) -> str:
    """+0.102 [+0.087, +0.118]"""
    return estimate(change.value, change.bounds, sign="+")
