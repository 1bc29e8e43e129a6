"""Before and after in brief: what changed, and where it is known, how a hardening chose its round."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from brittle.report.blocks import Block, Estimate, Group, Sentence, Span, Styled, Table
from brittle.report.blocks.wording import estimate
from brittle.report.page.words import counted
from brittle.report.sections.before_after.changes import Difference

SHORT = {"rho": "ρ", "accuracy_nuisance": "accuracy", "accuracy_clean": "clean accuracy"}


def printed(differences: Sequence[Difference]) -> Iterator[Block]:
    """For each image set and nuisance: what changed over all, and the class that gained least."""
    for difference in differences:
        pair, images = f"{difference.after} − {difference.before}", counted(difference.images, "image")
        title: list[Span] = [Styled(difference.nuisance), f" on {difference.image_set}, {pair} on {images}, paired: "]
        for key, name in SHORT.items():
            title += [f"{', ' * (key != 'rho')}{name} ", difference.of(key).estimate]
        yield Group(tuple(title), tuple(_least(difference)))


def _least(difference: Difference) -> Iterator[Block]:
    if difference.classes:
        worst = difference.least_first[0]
        over = f" (simultaneous over {len(difference.classes)} classes)"
        yield Sentence((f"least gain of a class, {worst.name}: ρ ", worst.of("rho").estimate, over))


def printed_rounds(record: Mapping[str, Any]) -> list[Block]:
    """The candidates of a hardening, as harden.json has them."""
    parts, chosen = record["parts"], record["chosen"]
    heading = (
        f"{parts['training']} training images; on {parts['held_out']} held-out images the candidates were "
        "(1 − µ: of the images sampled; wrong: draws trained on at which another label won):"
    )
    rows = tuple(
        (
            *(str(row["round"]), f"{row['way']:g}", estimate(row, "rho", "interval")),
            *(Estimate(row.get(key)) for key in ("accuracy_nuisance", "accuracy_clean", "loss", "failing", "wrong")),
            "chosen" if place == chosen else "",
        )
        for place, row in enumerate(record["rounds"])
    )
    columns = ("round", "way", "ρ", "accuracy", "clean", "loss", "1 − µ", "wrong", "")
    return [Sentence(heading), Table(columns, rows, shown=len(rows))]


def printed_outcome(record: Mapping[str, Any]) -> list[Block]:
    """What a hardening cost, and where its weights are."""
    calls, lines = record["calls"], []
    if record["chosen"] == 0:
        lines.append("no candidate met the criterion with a greater ρ̂: the weights are those of before")
    lines.append(
        f"{calls['sampling']:,} classifier calls in sampling, training worth {calls['training']:,} more "
        f"(three per image and step); rounds took {record['seconds']:.0f} s"
    )
    lines += [f"{key}: {record[key]}" for key in ("weights", "classifier") if record[key] is not None]
    return [*map(Sentence, lines)]
