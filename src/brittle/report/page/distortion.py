"""Beside every measure that distorts images: does what it gets wrong go to one class?

Where it does, a number is about the artefact as much as about robustness (Marcu & Prügel-Bennett 2022)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from brittle.report.page.jinja import environment

Row = Mapping[str, Any]
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
        return f"no points lost{here}; wrong predictions of {row['top_class']} rise by {gained:.1f}{also(row)}"
    if gained > lost:
        rise = f"wrong predictions of {row['top_class']} rise by {gained:.1f}{also(row)}"
        return f"{lost:.1f} points lost{here}; {rise}; {chance}"
    return f"of {lost:.1f} points lost{here}, {gained:.1f} go to {row['top_class']}{also(row)}; {chance}"


def also(row: Row) -> str:
    """Other classes that gain as much as the top class, in brackets."""
    tied = row.get("tied_classes", ())
    if not tied:
        return ""
    return f" (as many to {tied[0]}{'' if len(tied) == 1 else f' and {len(tied) - 1} more'})"


def beyond_chance(row: Row) -> bool:
    return row["di"] is not None and row["chance_spread"]["p_value"] < CHANCE


def gathers(row: Row) -> bool:
    """Whether errors are worth saying to gather in one class: points are lost, and several times as many go there as
    chance would send, or nearly all. With two classes there is only one other to go to."""
    enough = min(TIMES * row["points_by_chance"], NEARLY_ALL * row["points_lost"])
    return (
        beyond_chance(row)
        and row["classes"] > 2
        and row["points_lost"] >= LEAST
        and row["points_to_top"] >= max(LEAST, enough)
    )


def telling(rows: Sequence[Row]) -> Row | None:
    """The row of which a reader should know before anything else: where the most points beyond chance go to one class,
    several times what chance would send there."""
    worth = [row for row in rows if gathers(row)]
    return max(worth, key=lambda row: row["points_to_top"] - row["points_by_chance"], default=None)


def in_one_line(rows: Sequence[Row]) -> str:
    """For the console; "" where nothing is worth telling."""
    row = telling(rows)
    if row is None:
        return ""
    under = f" under {row['nuisance']}" if row["nuisance"] else ""
    on = f" on {row['image_set']}" if len({each["image_set"] for each in rows}) > 1 else ""
    return f"errors of {row['group']}{under}{on} gather in one class: {points(row)}"


def rendered(rows: Sequence[Row], many_sets: bool) -> Markup:
    """A line that can be opened: the table of all models and nuisances."""
    if not rows:
        return Markup()
    first = telling(rows)
    shown = sorted(rows, key=lambda row: row["points_by_chance"] - row["points_to_top"])[:MOST_ROWS]
    return Markup(
        environment()
        .get_template("distortion.html.j2")
        .render(
            also=also,
            headline=None if first is None else (first, points(first)),
            rows=[row for row in rows if row in shown],
            left_out=len(rows) - len(shown),
            many_sets=many_sets,
            several=any(row["runs"] > 1 for row in rows),
            single=any(row["runs"] == 1 for row in rows),
            two=any(row["classes"] == 2 for row in rows),
            where=rows[0].get("where", NUISANCE),
        )
    )
