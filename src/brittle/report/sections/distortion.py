"""What a distortion itself adds, as blocks for the section of any measure that distorts images: does what it gets
wrong go to one class (Marcu & Prügel-Bennett 2022)?"""

from __future__ import annotations

from collections.abc import Sequence

from brittle.report.blocks import Block, Count, Estimate, Group, Sentence, Table
from brittle.report.page.distortion import MOST_ROWS, NUISANCE, Row, also, in_one_line, points, telling
from brittle.report.page.words import sentence


def distortion_line(rows: Sequence[Row]) -> list[Block]:
    """For `brief`: a sentence where errors gather in one class."""
    said = in_one_line(rows)
    return [Sentence(sentence(said).rstrip("."))] if said else []


def distortion_blocks(rows: Sequence[Row]) -> list[Block]:
    """For `blocks`: a line that can be opened, with a table of all models and nuisances; nothing without rows."""
    if not rows:
        return []
    first = telling(rows)
    under = "" if first is None or not first["nuisance"] else f" under {first['nuisance']}"
    headline = "no class stands out" if first is None else f"{first['group']}{under}: {points(first)}"
    chosen = sorted(rows, key=lambda row: row["points_by_chance"] - row["points_to_top"])[:MOST_ROWS]
    shown = [row for row in rows if row in chosen]
    blocks: list[Block] = [Sentence(_reading(rows), "note"), _table(shown)]
    if len(rows) > len(shown):
        blocks.append(
            Sentence(f"{len(rows) - len(shown)} more, where less goes to one class, are in summary.json.", "note")
        )
    return [Group(f"What the distortion itself adds: {headline}", tuple(blocks), "closed")]


def _reading(rows: Sequence[Row]) -> str:
    one_run = " With one run it says nothing about whether other trainings favour the same class."
    two = " With two classes every error goes to the other one: the index says little."
    return (
        f"Where wrong answers {rows[0].get('where', NUISANCE)} gather in one class, the number may be about the "
        "artefact as much as about robustness. Points are of all answers: lost, and of these gained by the class that "
        "gains most; by chance, what that would be if errors were spread at random. DI is read against its own chance "
        f"level, not against zero.{one_run if any(row['runs'] == 1 for row in rows) else ''}"
        f"{two if any(row['classes'] == 2 for row in rows) else ''}"
    )


def _table(rows: Sequence[Row]) -> Table:
    several = any(row["runs"] > 1 for row in rows)
    many_sets = len({row["image_set"] for row in rows}) > 1
    return Table(
        (
            *(
                "model",
                "nuisance",
                *(["image set"] if many_sets else []),
                "points lost",
                "go to one class",
                "by chance",
            ),
            *("class", "DI", "DI by chance", "p", *(["top in runs"] if several else [])),
        ),
        tuple(
            (
                *(row["group"], row["nuisance"] or "–", *([row["image_set"]] if many_sets else [])),
                *(Estimate(row[key], places=1) for key in ("points_lost", "points_to_top", "points_by_chance")),
                f"{row['top_class'] or '–'}{also(row)}",
                Estimate(row["di"], places=2, missing="undefined"),
                Estimate(row["chance_spread"]["mean"], places=2),
                Estimate(row["chance_spread"]["p_value"], format="p"),
                *([Count(row["agreeing_runs"], row["runs"])] if several else []),
            )
            for row in rows
        ),
    )
