"""What a distortion itself adds, beside any measure that distorts images: does what it gets wrong go to one class?

Where it does, a number is about the artefact as much as about robustness (Marcu & Prügel-Bennett 2022)."""

from __future__ import annotations

from collections.abc import Sequence

from brittle.measures.distortion import INTERFERENCE_KEY
from brittle.report.blocks import Block, Group, Sentence, Table
from brittle.report.page.section import Row, Summary
from brittle.report.page.words import sentence
from brittle.report.sections.tables import bare, count, table, text

CHANCE = 0.05  # below it the index is more than chance gives
TIMES = 3.0  # as much as chance would send to a class
NEARLY_ALL = 0.9  # of what is lost: of three or four classes, chance sends a third of it or more to one
LEAST = 1.0  # points
MOST_ROWS = 60
NUISANCE = "under the nuisance"


def points(row: Row) -> str:
    """Of 12.0 points lost, 7.1 go to Bag; chance would be 1.3. A class may also gain more than is lost, where others
    are wrongly given less often than they were on clean images."""
    if row["di"] is None:
        return "no class gains wrong predictions"
    where = row.get("where", NUISANCE)
    lost, gained = round(row["points_lost"], 1), round(row["points_to_top"], 1)
    here, chance = "" if where == NUISANCE else f" {where}", f"chance would be {row['points_by_chance']:.1f}"
    if lost <= 0:
        return f"no points lost{here}; wrong predictions of {row['top_class']} rise by {gained:.1f}{tied_classes(row)}"
    if gained > lost:
        rise = f"wrong predictions of {row['top_class']} rise by {gained:.1f}{tied_classes(row)}"
        return f"{lost:.1f} points lost{here}; {rise}; {chance}"
    return f"of {lost:.1f} points lost{here}, {gained:.1f} go to {row['top_class']}{tied_classes(row)}; {chance}"


def tied_classes(row: Row) -> str:
    """Other classes that gain as much as the top class, in brackets."""
    tied = row.get("tied_classes", ())
    if not tied:
        return ""
    return f" (as many to {tied[0]}{'' if len(tied) == 1 else f' and {len(tied) - 1} more'})"


def errors_gather(row: Row) -> bool:
    """Whether errors are worth saying to gather in one class: more of them go there than by chance, points are lost,
    and several times as many go there as chance would send, or nearly all. With two classes there is only one other to
    go to."""
    enough = min(TIMES * row["points_by_chance"], NEARLY_ALL * row["points_lost"])
    return (
        row["di"] is not None
        and row["chance_spread"]["p_value"] < CHANCE
        and row["classes"] > 2
        and row["points_lost"] >= LEAST
        and row["points_to_top"] >= max(LEAST, enough)
    )


def _most_telling(rows: Sequence[Row]) -> Row | None:
    """The row of which a reader should know before anything else: where the most points beyond chance go to one class,
    several times what chance would send there."""
    worth = [row for row in rows if errors_gather(row)]
    return max(worth, key=lambda row: row["points_to_top"] - row["points_by_chance"], default=None)


def distortion_line(summary: Summary) -> list[Block]:
    """For `brief`: a sentence where errors gather in one class."""
    rows = summary.get(INTERFERENCE_KEY, ())
    row = _most_telling(rows)
    if row is None:
        return []
    under = f" under {row['nuisance']}" if row["nuisance"] else ""
    on = f" on {row['image_set']}" if len({each["image_set"] for each in rows}) > 1 else ""
    said = sentence(f"errors of {row['group']}{under}{on} gather in one class: {points(row)}").rstrip(".")
    return [Sentence(said)]


def distortion_blocks(summary: Summary, images: str = "", nuisance: str = "") -> list[Block]:
    """For `blocks`: a line that can be opened, with a table of all models and nuisances, or those of one image set and
    nuisance; nothing where the summary has none."""
    rows = [
        row
        for row in summary.get(INTERFERENCE_KEY, ())
        if images in ("", row["image_set"]) and nuisance in ("", row["nuisance"])
    ]
    if not rows:
        return []
    first = _most_telling(rows)
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
    return table(
        rows,
        ("model", text("group")),
        ("nuisance", lambda row: row["nuisance"] or "–"),
        *[("image set", text("image_set"))] * (len({row["image_set"] for row in rows}) > 1),
        ("points lost", bare("points_lost", 1)),
        ("go to one class", bare("points_to_top", 1)),
        ("by chance", bare("points_by_chance", 1)),
        ("class", lambda row: f"{row['top_class'] or '–'}{tied_classes(row)}"),
        ("DI", bare("di", 2, missing="undefined")),
        ("DI by chance", bare("chance_spread.mean", 2)),
        ("p", bare("chance_spread.p_value", format="p")),
        *[("top in runs", count("agreeing_runs", "runs"))] * any(row["runs"] > 1 for row in rows),
    )
