"""Robustness on the console: a table per nuisance, paired differences below it, and what the numbers are of."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table

from brittle.report.page.words import estimate, listed, number, percent
from brittle.report.sections.legacy import EVERYTHING, line, plain_table
from brittle.report.sections.robustness.results import Results, Row
from brittle.report.sections.robustness.sentences import STOPPED

MOST_PAIRS = 10  # printed one by one under a nuisance; past these, how many classifiers the best one beats
A_SUITE = 5  # nuisances from which on they share a table
MOST_ROWS_OF_A_SUITE = 150
MOST_ROWS = 40  # of a table; past these, the highest and the lowest ρ


def printed(results: Results) -> RenderableType:
    shown: list[RenderableType] = []
    for images in results.image_sets:
        if len(results.on(images).nuisances) >= A_SUITE:
            shown += [*_suite(images, results.on(images)), line()]
            continue
        for nuisance in results.on(images).nuisances:
            shown += [*_cell(images, nuisance, results.on(images).under(nuisance)), line()]
    first = results.first
    shown.append(
        line(
            f"{percent(first['confidence'])} intervals for {first['estimand_is']}: {first['interval_method']}; "
            f"seed {first['seed']}."
        )
    )
    if any(row["tolerance"] is not None for row in results.rows):
        shown.append(line(STOPPED))
    return Group(*shown)


def _suite(images: str, here: Results) -> list[RenderableType]:
    """Many nuisances in one table, a row per nuisance and classifier, with the means over all of them below."""
    seen = " or ".join(dict.fromkeys(_size(row) for row in here.rows))
    several = len(here.classifiers) > 1
    table = plain_table("", *(["classifier"] if several else []), *_columns(here), folds=1 + several)
    for row in here.rows[:MOST_ROWS_OF_A_SUITE]:
        table.add_row(row["nuisance"], *([row["classifier"]] if several else []), *_numbers(row, here))
    for row in here.means:
        cells = [estimate(row["rho"], row["interval"])]
        if here.labelled:
            cells.append(estimate(row["accuracy_nuisance"], row["accuracy_nuisance_interval"]))
        table.add_row("mean", *([row["classifier"]] if several else []), *cells)
    lines = []
    if here.means:
        lines.append(f"mean: over the {here.means[0]['mean_of']}")
    cut = len(here.rows) - MOST_ROWS_OF_A_SUITE
    if cut > 0:
        lines.append(f"{cut} more rows ({EVERYTHING})")
    if here.pairs:
        lines.append(f"--json or --out has all {len(here.pairs)} paired differences, with their intervals")
    what = f" of {here.classifiers[0]}" if not several else ""
    heading = line((f"{len(here.nuisances)} nuisances", "bold"), f" on {images}{what}, {seen}")
    return [heading, table, *(line(f"  {text}") for text in lines)]


def _cell(images: str, nuisance: str, here: Results) -> list[RenderableType]:
    seen = " or ".join(dict.fromkeys(_size(row) for row in here.rows))
    heading = line((nuisance, "bold"), f" on {images}, {seen}: {here.first['prior']}")
    few = len(here.pairs) <= MOST_PAIRS
    lines = [_difference(pair, here.labelled) for pair in here.pairs] if few else _against_best(here)
    lines += [text for row in here.rows for text in _remarks(row)]
    cut = len(here.rows) - MOST_ROWS
    if cut > 0:
        lines.insert(0, f"the {MOST_ROWS // 2} highest and lowest ρ; {cut} more between ({EVERYTHING})")
    return [heading, _table(here), *(line(f"  {text}") for text in lines)]


def _size(row: Row) -> str:
    images, draws = row["images"], row["samples"]
    return f"{images} image{'s' * (images != 1)} × {draws} draw{'s' * (draws != 1)}"


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
    table = plain_table("", *_columns(here))
    for row in _some(here.rows):
        table.add_row(row["classifier"], *_numbers(row, here))
    return table


def _columns(here: Results) -> list[str]:
    if not here.labelled:
        return ["ρ", "flips"]
    return ["ρ", "accuracy", *([f"worst/{here.worst_of}"] if here.worst_of else []), "clean", "flips"]


def _numbers(row: Row, here: Results) -> list[str]:
    cells = [estimate(row["rho"], row["interval"])]
    if here.labelled:
        cells.append(estimate(row["accuracy_nuisance"], row["accuracy_nuisance_interval"]))
        cells += [number(row["accuracy_worst"])] if here.worst_of else []
        cells.append(number(row["accuracy_clean"]))
    return [*cells, number(row["flip_rate"])]


def _some(rows: list[Row]) -> list[Row]:
    """All of them in their order, or the two ends of the list by ρ."""
    if len(rows) <= MOST_ROWS:
        return rows
    falling = sorted(rows, key=lambda row: -row["rho"])
    return [*falling[: MOST_ROWS // 2], *falling[-(MOST_ROWS // 2) :]]


def _against_best(here: Results) -> list[str]:
    """How the classifier with the highest ρ compares with all others; in accuracy too, where there are labels."""
    best, family = here.best, here.pairs[0]["family"]
    lines = [f"{best} has the highest ρ. Paired with it (simultaneous over {family} comparisons):"]
    for key, name in (("rho_better", "ρ"), ("accuracy_nuisance_better", "accuracy"))[: 1 + here.labelled]:
        sides: dict[str, list[str]] = {"worse": [], "better": [], "not told apart": []}
        for pair in here.against_best:
            other = pair["second"] if pair["first"] == best else pair["first"]
            won = {"first": pair["first"], "second": pair["second"]}.get(pair[key])
            sides["not told apart" if won is None else "worse" if won == best else "better"].append(other)
        told = [f"{len(names)} {side} ({listed(names)})" for side, names in sides.items() if names]
        lines.append(f"  {name}: {', '.join(told)}")
    return [*lines, f"  --json or --out has all {len(here.pairs)} differences, with their intervals"]


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
