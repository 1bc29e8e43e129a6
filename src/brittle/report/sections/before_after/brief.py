"""Before and after in brief: what changed, and where it is known, how a hardening chose its round."""

from __future__ import annotations

from collections.abc import Iterator

from brittle.report.blocks import Block, Group, Sentence
from brittle.report.blocks.text import Span, Styled
from brittle.report.page.section import Row, Summary
from brittle.report.page.words import counted
from brittle.report.sections.before_after.changes import change, images_of, least_first
from brittle.report.sections.tables import bare, estimated, table

SHORT = {"rho": "ρ", "accuracy_nuisance": "accuracy", "accuracy_clean": "clean accuracy"}
BESIDE = {
    "accuracy": "accuracy_nuisance",
    "clean": "accuracy_clean",
    "loss": "loss",
    "1 − µ": "failing",
    "wrong": "wrong",
}


def printed(summary: Summary) -> Iterator[Block]:
    """For each image set and nuisance: what changed over all, and the class that gained least."""
    for each in summary["differences"]:
        over = f"{each['after']} − {each['before']} on {counted(images_of(each), 'image')}, paired: "
        title: list[Span] = [Styled(each["nuisance"]), f" on {each['image_set']}, {over}"]
        for key, name in SHORT.items():
            title += [f"{', ' * (key != 'rho')}{name} ", change(each, key)]
        yield Group(tuple(title), tuple(_least(each)))


def _least(difference: Row) -> Iterator[Block]:
    for worst in least_first(difference)[:1]:
        over = f" (simultaneous over {len(difference['classes'])} classes)"
        yield Sentence((f"least gain of a class, {worst['class']}: ρ ", change(worst, "rho"), over))


def printed_rounds(record: Row) -> list[Block]:
    """The candidates of a hardening, as harden.json has them."""
    parts, rounds = record["parts"], record["rounds"]
    heading = (
        f"{parts['training']} training images; on {parts['held_out']} held-out images the candidates were "
        "(1 − µ: of the images sampled; wrong: draws trained on at which another label won):"
    )
    shown = table(
        [dict.fromkeys(BESIDE.values()) | row | {"place": place} for place, row in enumerate(rounds)],
        ("round", lambda row: str(row["round"])),
        ("way", lambda row: f"{row['way']:g}"),
        ("ρ", estimated("rho", "interval")),
        *((name, bare(key)) for name, key in BESIDE.items()),
        ("", lambda row: "chosen" * (row["place"] == record["chosen"])),
        shown=len(rounds),
    )
    return [Sentence(heading), shown]


def printed_outcome(record: Row) -> list[Block]:
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
