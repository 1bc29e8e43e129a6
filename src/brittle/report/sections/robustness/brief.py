"""Robustness in brief: a table per nuisance, paired differences below it, and what the numbers are of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from brittle.report.blocks import Block, Group, Sentence
from brittle.report.blocks.text import Styled
from brittle.report.page.section import Row
from brittle.report.page.words import EVERYTHING, counted, listed, number, percent
from brittle.report.sections.comparisons import at_once, better, minus, tie_or
from brittle.report.sections.robustness.results import RobustnessRows
from brittle.report.sections.robustness.sentences import STOPPED, estimate_text
from brittle.report.sections.tables import Titled, bare, estimated, table, text, who

MOST_PAIRS = 10  # reported one by one under a nuisance; past these, how many classifiers the best one beats
A_SUITE = 5  # nuisances from which on they share a table
MOST_ROWS_OF_A_SUITE = 150
MOST_ROWS = 40  # of a table; past these, the highest and the lowest ρ


def printed(results: RobustnessRows) -> list[Block]:
    shown: list[Block] = []
    for images in results.image_sets:
        here = results.on(images)
        if len(here.nuisances) >= A_SUITE:
            shown.append(_suite(images, here))
        else:
            shown += [_cell(images, nuisance, here.under(nuisance)) for nuisance in here.nuisances]
    first = results.first
    closing = (
        f"{percent(first['confidence'])} intervals for {first['estimand_is']}: {first['interval_method']}; seed "
        f"{first['seed']}."
    )
    stopped = [Sentence(STOPPED)] if any(row["tolerance"] is not None for row in results.rows) else []
    return [*shown, Sentence(closing), *stopped]


def _suite(images: str, here: RobustnessRows) -> Group:
    """Many nuisances in one table, a row per nuisance and classifier, with the means over all of them below."""
    several = len(here.classifiers) > 1
    without = dict.fromkeys(("accuracy_worst", "accuracy_clean", "flip_rate"))
    means = [{**without, **row, "nuisance": "mean"} for row in here.means]
    rows = [*here.rows[:MOST_ROWS_OF_A_SUITE], *means]
    lines = [f"mean: over the {here.means[0]['mean_of']}"] if here.means else []
    if (cut := len(here.rows) - MOST_ROWS_OF_A_SUITE) > 0:
        lines.append(f"{cut} more rows ({EVERYTHING})")
    if here.pairs:
        lines.append(f"--json or --out has all {len(here.pairs)} paired differences, with their intervals")
    what = "" if several else f" of {here.classifiers[0]}"
    named = ("", text("nuisance")), *[("classifier", who)] * several
    return Group(
        (Styled(f"{len(here.nuisances)} nuisances"), f" on {images}{what}, {_seen(here)}"),
        (table(rows, *named, *_columns(here, missing=""), shown=len(rows)), *map(Sentence, lines)),
    )


def _cell(images: str, nuisance: str, here: RobustnessRows) -> Group:
    few = len(here.pairs) <= MOST_PAIRS
    lines = [_difference(pair, here.labelled) for pair in here.pairs] if few else _against_best(here)
    lines += [text for row in here.rows for text in _remarks(row)]
    if (cut := len(here.rows) - MOST_ROWS) > 0:
        lines.insert(0, f"the {MOST_ROWS // 2} highest and lowest ρ; {cut} more between ({EVERYTHING})")
    return Group(
        (Styled(nuisance), f" on {images}, {_seen(here)}: {here.first['prior']}"),
        (table(_some(here.rows), ("", who), *_columns(here)), *map(Sentence, lines)),
    )


def _seen(here: RobustnessRows) -> str:
    sizes = (f"{counted(row['images'], 'image')} × {counted(row['samples'], 'draw')}" for row in here.rows)
    return " or ".join(dict.fromkeys(sizes))


def _remarks(row: Row) -> Iterator[str]:
    if row["reference"] != "label":
        some = "images without a label are" if row["reference"] == "mixed" else "these images have no labels and are"
        yield f"{row['classifier']}: {some} measured against its own prediction for the untouched image"
    extras = [
        f"{key} {'infinite' if row[key] is None else number(row[key], 4)}"
        for key in ("nll", "ece", "top5")
        if key in row
    ]
    if extras:
        yield f"{row['classifier']}: {', '.join(extras)}"
    if row["tolerance"] is not None and not row["tolerance_reached"]:
        yield (
            f"{row['classifier']}: the plan ran out at a half-width of {number(row['half_width'], 4)}, before the "
            f"tolerance {row['tolerance']:g}; more images or samples would narrow it"
        )


def _columns(here: RobustnessRows, missing: str = "–") -> list[Titled]:
    """Under 80 columns wide for names of ordinary length."""
    labelled = [
        ("accuracy", estimated("accuracy_nuisance")),
        *[(f"worst/{here.worst_of}", bare("accuracy_worst", missing=missing))] * bool(here.worst_of),
        ("clean", bare("accuracy_clean", missing=missing)),
    ]
    return [
        ("ρ", estimated("rho", "interval")),
        *labelled * here.labelled,
        ("flips", bare("flip_rate", missing=missing)),
    ]


def _some(rows: Sequence[Row]) -> Sequence[Row]:
    """All of them in their order, or the two ends of the list by ρ."""
    if len(rows) <= MOST_ROWS:
        return rows
    falling = sorted(rows, key=lambda row: -row["rho"])
    return [*falling[: MOST_ROWS // 2], *falling[-(MOST_ROWS // 2) :]]


def _against_best(here: RobustnessRows) -> list[str]:
    """How the classifier with the highest ρ compares with all others; in accuracy too, where there are labels."""
    best, family = here.best, here.pairs[0]["family"]
    lines = [f"{best} has the highest ρ. Paired with it (simultaneous over {family} comparisons):"]
    for key, name in (("rho_better", "ρ"), ("accuracy_nuisance_better", "accuracy"))[: 1 + here.labelled]:
        sides: dict[str, list[str]] = {"worse": [], "better": [], "not told apart": []}
        for pair in here.against_best:
            other = pair["second"] if pair["first"] == best else pair["first"]
            won = better(pair, key)
            sides["not told apart" if won is None else "worse" if won == best else "better"].append(other)
        parts = [f"{len(names)} {side} ({listed(names)})" for side, names in sides.items() if names]
        lines.append(f"  {name}: {', '.join(parts)}")
    return [*lines, f"  --json or --out has all {len(here.pairs)} differences, with their intervals"]


def _difference(pair: Row, labelled: bool) -> str:
    """plain − augmented, paired: ρ −0.231 [−0.245, −0.211], augmented is better; accuracy −0.2 …"""
    verdict = tie_or(pair, "is better" if labelled else "keeps to its own prediction more", "rho_better")
    rho = estimate_text(pair["rho_difference"], pair["rho_interval"])
    said = f"{minus(pair)}, paired: ρ {rho}{at_once(pair)}, {verdict}"
    if not labelled:
        return said
    difference = estimate_text(pair["accuracy_nuisance_difference"], pair["accuracy_nuisance_interval"])
    return f"{said}; accuracy {difference}, {tie_or(pair, 'is better', 'accuracy_nuisance_better')}"
