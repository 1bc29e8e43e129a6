"""Robustness on the console: a table per nuisance, paired differences below it, and what the numbers are of."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table

from brittle.report.page.words import estimate, number, percent
from brittle.report.sections.base import line, plain_table
from brittle.report.sections.robustness.results import Results, Row


def printed(results: Results) -> RenderableType:
    shown: list[RenderableType] = []
    for images in results.image_sets:
        for nuisance in results.on(images).nuisances:
            shown += [*_cell(images, nuisance, results.on(images).under(nuisance)), line()]
    first = results.first
    shown.append(
        line(
            f"{percent(first['confidence'])} intervals for {first['estimand_is']}: {first['interval_method']}; "
            f"seed {first['seed']}."
        )
    )
    return Group(*shown)


def _cell(images: str, nuisance: str, here: Results) -> list[RenderableType]:
    seen = " or ".join(dict.fromkeys(f"{row['images']} images × {row['samples']} draws" for row in here.rows))
    heading = line((nuisance, "bold"), f" on {images}, {seen}: {here.first['prior']}")
    lines = [_difference(pair, here.labelled) for pair in here.pairs]
    lines += [text for row in here.rows for text in _remarks(row)]
    return [heading, _table(here), *(line(f"  {text}") for text in lines)]


def _remarks(row: Row) -> list[str]:
    lines = []
    if row["reference"] != "label":
        some = "images without a label are" if row["reference"] == "mixed" else "these images have no labels and are"
        lines.append(f"{row['classifier']}: {some} measured against its own prediction for the untouched image")
    extras = [
        f"{key} {'infinite' if row[key] is None else number(row[key], 4)}"
        for key in ("nll", "ece", "top5")
        if key in row
    ]
    if extras:
        lines.append(f"{row['classifier']}: {', '.join(extras)}")
    if row["tolerance"] is not None and not row["tolerance_reached"]:
        lines.append(
            f"{row['classifier']}: the plan ran out at a half-width of {number(row['half_width'], 4)}, before the "
            f"tolerance {row['tolerance']:g}; more images or samples would narrow it"
        )
    return lines


def _table(here: Results) -> Table:
    """Under 80 columns wide for names of ordinary length."""
    worst = max((row["worst_of"] or 0 for row in here.rows), default=0)
    measured = ["ρ", "accuracy", f"worst/{worst}", "clean", "flips"] if here.labelled else ["ρ", "flips"]
    table = plain_table("", *measured)
    for row in here.rows:
        cells = [estimate(row["rho"], row["interval"])]
        if here.labelled:
            cells += [
                estimate(row["accuracy_nuisance"], row["accuracy_nuisance_interval"]),
                number(row["accuracy_worst"]),
                number(row["accuracy_clean"]),
            ]
        table.add_row(row["classifier"], *cells, number(row["flip_rate"]))
    return table


def _difference(pair: Row, labelled: bool) -> str:
    """plain − augmented, paired: ρ −0.231 [−0.245, −0.211], augmented is better; accuracy −0.2 …"""
    better = {"first": pair["first"], "second": pair["second"]}.get(pair["rho_better"])
    verdict = "is better" if labelled else "keeps to its own prediction more"
    family = f" (simultaneous over {pair['family']} comparisons)" if pair["family"] > 1 else ""
    said = (
        f"{pair['first']} − {pair['second']}, paired: ρ {estimate(pair['rho_difference'], pair['rho_interval'])}"
        f"{family}, {'a tie' if better is None else f'{better} {verdict}'}"
    )
    if not labelled:
        return said
    right = {"first": pair["first"], "second": pair["second"]}.get(pair["accuracy_nuisance_better"])
    difference = estimate(pair["accuracy_nuisance_difference"], pair["accuracy_nuisance_interval"])
    return f"{said}; accuracy {difference}, {'a tie' if right is None else f'{right} is better'}"
