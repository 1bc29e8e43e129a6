"""Occlusion on the console: accuracy on test and training images, A/A₀ and iOcclusion, at a few shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table

from brittle.report.page.words import counted, number, percent
from brittle.report.sections.legacy import line, plain_table
from brittle.report.sections.occlusion import words
from brittle.report.sections.occlusion.words import Model

MOST_MODELS = 12


def printed(summary: Mapping[str, Any]) -> RenderableType:
    shown: list[RenderableType] = []
    differ = len({words.hidden_of(row) for row in summary["results"]}) > 1
    for images, nuisances in words.cells(summary).items():
        for nuisance in nuisances:
            found = words.models(summary, images, nuisance)
            row = found[0].row
            of = f"; {words.hidden_of(row)}" if differ else ""
            shown += [
                line((nuisance, "bold"), f" on {words.subject(row)}, filled with {row['filled_with']}{of}: accuracy"),
                _table(found[:MOST_MODELS]),
            ]
            shown += [line(f"  {model.name}: {said}") for model in found if (said := words.no_gap(model.row))]
            if len(found) > MOST_MODELS:
                shown.append(line(f"  … and {len(found) - MOST_MODELS} more (--json or --out has them all)"))
            shown.append(line())
        shown += [line(said) for said in words.fillings(summary, images)]
    return Group(*shown, _closing(summary["results"], differ))


def _table(found: Sequence[Model]) -> Table:
    points = found[0].points
    places = words.some(points)
    table = plain_table("", "images", "untouched", *(words.share(points[place]["share"]) for place in places), folds=1)
    for model in found:
        row, runs = model.row, f" ({model.runs} runs)" if model.runs > 1 else ""
        table.add_row(
            f"{model.name}{runs}",
            "test",
            number(row["accuracy_clean"]),
            *(number(model.points[place]["accuracy"]) for place in places),
        )
        kept = [model.points[place]["relative"] for place in places]
        table.add_row("", "A/A₀", "1" if row["accuracy_clean"] else "–", *(number(each) for each in kept))
        if row["train_set"] is None:
            continue
        table.add_row(
            "",
            "training",
            number(row["train_accuracy_clean"]),
            *(number(model.points[place]["train_accuracy"]) for place in places),
        )
        table.add_row(
            "",
            "iOcclusion",
            "1" if row["divisible"] else "–",
            *(number(words.interplay(model.points[place])[0], 2) for place in places),
        )
        bounds = [words.interplay(model.points[place])[1] for place in places]
        if any(bounds):
            table.add_row("", "", "", *map(words.ends, bounds))
    return table


def _closing(rows: Sequence[Mapping[str, Any]], differ: bool) -> RenderableType:
    first = rows[0]
    of = "" if differ else f"{words.hidden_of(first).capitalize()}; "
    said = f"{of}{counted(first['repeats'], 'mask')} per image; A/A₀: what is left of the untouched accuracy; "
    said += f"seed {first['seed']}."
    if any(row["train_set"] is not None for row in rows):
        said += (
            " iOcclusion: gap between training and test accuracy under occlusion over the gap without, with "
            f"{percent(first['confidence'])} Fieller intervals over images."
        )
    return line(said)
