"""Perturbations on the console: sizes, accuracy against ε, what becomes of changes elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table

from brittle.report.page.words import counted, estimate, number
from brittle.report.sections.legacy import EVERYTHING, line, plain_table
from brittle.report.sections.perturbation import words
from brittle.report.sections.perturbation.words import Row

MOST_PAIRS = 12  # differences, and transfers
MOST_TOLD = 6  # classifiers of which more than sizes is told


def printed(summary: Mapping[str, Any]) -> RenderableType:
    shown: list[RenderableType] = []
    results = summary["results"]
    for images in dict.fromkeys(row["image_set"] for row in results):
        rows = [row for row in results if row["image_set"] == images]
        shown += [line((images, "bold"), f": {words.how(rows[0])}"), _sizes(rows)]
        shown += [line(f"  {said}") for row in rows[:MOST_TOLD] for said in _remarks(row)]
        if len(rows) > MOST_TOLD:
            shown.append(line(f"  … and as much of {len(rows) - MOST_TOLD} more classifiers ({EVERYTHING})"))
        pairs = [pair for pair in summary["comparisons"] if pair["image_set"] == images]
        shown += [line(f"  {_difference(pair)}") for pair in pairs[:MOST_PAIRS]]
        if len(pairs) > MOST_PAIRS:
            shown.append(line(f"  … and {len(pairs) - MOST_PAIRS} more comparisons ({EVERYTHING})"))
        moved = [row for row in summary["transfers"] if row["image_set"] == images]
        shown += [_transfers(moved[:MOST_PAIRS])] if moved else []
        if len(moved) > MOST_PAIRS:
            shown.append(line(f"  … and {len(moved) - MOST_PAIRS} more transfers ({EVERYTHING})"))
        shown.append(line())
    shown.append(line(f"{words.means(results[0])}; seed {results[0]['seed']}."))
    return Group(*shown)


def _sizes(rows: Sequence[Row]) -> Table:
    table = plain_table("", "right", "mean L∞", "of 255", "median", "least over targets", "failed", "L2")
    for row in rows:
        table.add_row(
            row["classifier"],
            f"{row['right']}/{row['images']}",
            words.sized(row["mean"], row["mean_interval"]),
            words.level(row["mean"]),
            words.size(row["median"]),
            words.sized(row["smallest"]["mean"], row["smallest"]["interval"]),
            words.failures(row),
            number(row["l2_mean_found"], 2),
        )
    return table


def _remarks(row: Row) -> Iterator[str]:
    name = row["classifier"]
    four, eight = words.at(row, 4), words.at(row, 8)
    if four is not None and eight is not None:
        yield (
            f"{name}: accuracy {number(row['accuracy'][0]['accuracy'])} untouched, at most "
            f"{estimate(four['accuracy'], four['interval'])} at ε = 4/255 and "
            f"{estimate(eight['accuracy'], eight['interval'])} at 8/255 (upper bounds on robust accuracy)"
        )
    survival = row["survival"]
    if survival["rounded"]["share"] is not None:
        yield (
            f"{name}: after rounding to 8 bits {percent_of(survival['rounded']['label'])} of the changes keep their "
            f"label and {percent_of(survival['rounded']['share'])} p ≥ {row['share']:g}; after JPEG of quality "
            f"{row['quality']} {percent_of(survival['jpeg']['label'])} and {percent_of(survival['jpeg']['share'])}"
        )
    errors = row.get("errors")
    if errors is not None and errors["change"]["auroc"] is not None:
        told = (
            f"{words_of} {estimate(errors[key]['auroc'], errors[key]['auroc_interval'])}"
            for key, words_of in (("change", "the least change"), ("max_softmax", "the greatest probability"))
        )
        yield f"{name}: AUROC for telling {counted(errors['errors'], 'error')} from right answers: {', '.join(told)}"


def percent_of(share: float) -> str:
    return f"{100 * share:.0f} %"


def _difference(pair: Row) -> str:
    larger = {"first": pair["first"], "second": pair["second"]}.get(pair["mean_larger"])
    family = f" (simultaneous over {pair['family']} comparisons)" if pair["family"] > 1 else ""
    verdict = "a tie" if larger is None else f"{larger} needs larger changes"
    return (
        f"{pair['first']} − {pair['second']}, paired over {pair['images']} images that both get right: mean "
        f"{words.sized(pair['mean_difference'], pair['mean_interval'], '+')}{family}, {verdict}"
    )


def _transfers(rows: Sequence[Row]) -> Table:
    table = plain_table(
        "  changes found for", "tried on", "pairs", "target reached there", "label changed there", folds=2
    )
    for row in rows:
        table.add_row(
            f"  {row['from']}",
            row["to"],
            f"{row['pairs']:,}",
            estimate(row["target_share"], row["target_interval"]),
            estimate(row["left_share"], row["left_interval"]),
        )
    return table
