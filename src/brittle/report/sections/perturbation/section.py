"""The section of the measure `perturbation`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from brittle.measures.perturbation.change_sizes import ChangeSizes, matrix
from brittle.report.blocks import Block, Group, Sentence, Weighted
from brittle.report.blocks.text import ClassifierName, Estimate, Styled, Text
from brittle.report.blocks.wording import estimate
from brittle.report.page.label_names import LabelNames
from brittle.report.page.section import MeasureRun, Row, Summary, compared
from brittle.report.page.words import EVERYTHING, counted, percent
from brittle.report.sections import register
from brittle.report.sections.base import BaseSection, finding, remarks
from brittle.report.sections.comparisons import at_once, better, both, capped, minus, tie_or
from brittle.report.sections.flatten import arrow, flat
from brittle.report.sections.grouped import by_set, of_set, on_set
from brittle.report.sections.perturbation import tables, words
from brittle.report.sections.perturbation.figures import (
    Bubble,
    accuracy_figure,
    bubble_figure,
    matrix_figure,
    risk_figure,
)
from brittle.report.sections.perturbation.pictures import changes
from brittle.report.sections.references import UREM, WAUDBY_SMITH_2023

LEADS, DIFFERS = 0.5, 0.6  # how much findings matter
BUBBLES = 3  # images
MOST_SHOWN = 6  # classifiers of which matrices, curves and pictures are shown
MOST_TOLD = 6  # classifiers of which more than sizes is printed
MOST_PAIRS = 12  # differences, and transfers, that are printed
MOST_FINDINGS = 4
MOST_CLASSES = 1000  # of a matrix that is drawn
OPEN_CLASSES = 12
LISTS = ("classes", "to_classes", "accuracy", "errors", "survival", "smallest", "targets")
LIMITS = (
    "The change found is not the smallest there is: Adam minimises cross-entropy, not L∞, and another start, rate or "
    "method may find a smaller one. Sizes are upper bounds on what is needed, and accuracy at ε is an upper bound on "
    "robust accuracy; neither certifies anything.",
    "p(target) ≥ 0.9 asks for confidence: a classifier with small logits needs larger changes for it although its "
    "label changes as easily. Compare classifiers of like calibration, or by where the label changes.",
    "A failure means that this search did not get there, not that no change does.",
    "Size says nothing of whether a person would notice: L∞ counts the largest change of any value, wherever it lies.",
)


@register("perturbation")
class PerturbationSection(BaseSection):
    """How far images must be changed for a classifier to see another class in them."""

    title = "Targeted perturbations"

    def brief(self, summary: Summary) -> Sequence[Block]:
        first = summary["results"][0]
        return [
            *(_printed(summary, *there) for there in by_set(summary["results"]).items()),
            Sentence(f"{words.means(first)}; seed {first['seed']}."),
        ]

    def table(self, summary: Summary) -> pa.Table:
        """A row per classifier and image set: per class the summary has more."""
        return arrow([_flat(row) for row in summary["results"]])

    def top(self, run: MeasureRun) -> Sequence[Weighted]:
        said = [finding(_headline(row, run.many_sets), LEADS) for row in run.summary["results"] if row["right"]]
        for pair in run.summary["comparisons"]:
            if better(pair, "mean_larger") is not None:
                about = "perturbed", *compared(pair["image_set"], pair["first"], pair["second"])
                said.append(finding(_larger(pair), DIFFERS, about))
        return sorted(said, key=lambda each: -each.weight)[:MOST_FINDINGS]

    def blocks(self, run: MeasureRun) -> Sequence[Block]:
        first = run.summary["results"][0]
        title = "How large changes are, and what becomes of them"
        return [
            Sentence(
                "How far an image must be changed until the classifier gives another class with probability "
                f"{first['share']} (UREM, section 4). The size of a change is L∞, the largest change of any value, in "
                "% of the value range; the change that was found is not the smallest there is."
            ),
            tables.about(first),
            *(
                Group(on_set(run, images, title), tuple(_part(run, images, rows)))
                for images, rows in by_set(run.summary["results"]).items()
            ),
            *remarks(
                "A change is the difference between an image and a copy of it in which the classifier sees another "
                f"class with p ≥ {first['share']:g}; its size is the largest change of any value (L∞), in % of the "
                "value range.",
                LIMITS,
                f"the method ({words.how(first)}), the cap of means ({percent(first['cap'])})",
                (UREM, WAUDBY_SMITH_2023),
            ),
        ]


def _flat(row: Row) -> dict[str, Any]:
    kept = {key: value for key, value in row.items() if key not in LISTS}
    kept |= {"targets": "/".join(row["targets"]), "smallest": row["smallest"], "survival": row["survival"]}
    for each in row.get("accuracy", ()):
        kept[f"accuracy_at_{255 * each['epsilon']:.0f}"] = each["accuracy"]
    errors = row.get("errors")
    if errors is not None:
        kept |= {"auroc_change": errors["change"]["auroc"], "auroc_max_softmax": errors["max_softmax"]["auroc"]}
    return flat(kept)


def _headline(row: Row, many_sets: bool) -> Text:
    where = f" on {row['image_set']}" if many_sets else ""
    return (
        f"For {row['classifier']} to see another class with p ≥ {row['share']:g}{where}, values must change by ",
        words.size(row, "mean"),
        " of their range on average, ",
        Estimate(row["smallest"]["mean"], places=2, format="percent"),
        " towards the nearest class; ",
        *((words.failures(row), " searches failed.") if row["failures"] else ("no search failed.",)),
    )


def _larger(pair: Row) -> Text:
    more, less = both(pair, "mean_larger")
    return (
        f"{more} needs larger changes than {less}: the mean differs by ",
        words.difference(pair, "mean"),
        f" of the value range on {pair['images']} images that both get right.",
    )


def _printed(summary: Summary, images: str, rows: Sequence[Row]) -> Group:
    moved = of_set(summary["transfers"], images)
    more = f"… and as much of {len(rows) - MOST_TOLD} more classifiers ({EVERYTHING})"
    return Group(
        (Styled(images), f": {words.how(rows[0])}"),
        (
            tables.briefly(rows),
            *(Sentence(said) for row in rows[:MOST_TOLD] for said in _remarks(row)),
            *[Sentence(more)] * (len(rows) > MOST_TOLD),
            *capped([_difference(pair) for pair in of_set(summary["comparisons"], images)], "comparison", MOST_PAIRS),
            *([tables.transfers(moved, MOST_PAIRS)] if moved else []),
        ),
    )


def _remarks(row: Row) -> Iterator[Text]:
    name = row["classifier"]
    four, eight = words.at(row, 4), words.at(row, 8)
    if four is not None and eight is not None:
        yield (
            *(f"{name}: accuracy ", Estimate(row["accuracy"][0]["accuracy"]), " untouched, at most "),
            *(estimate(four, "accuracy", "interval"), " at ε = 4/255 and "),
            *(estimate(eight, "accuracy", "interval"), " at 8/255 (upper bounds on robust accuracy)"),
        )
    rounded, jpeg = ([_share(row["survival"][kind][key]) for key in ("label", "share")] for kind in ("rounded", "jpeg"))
    if rounded[1].value is not None:
        yield (
            *(f"{name}: after rounding to 8 bits ", rounded[0], " of the changes keep their label and ", rounded[1]),
            *(f" p ≥ {row['share']:g}; after JPEG of quality {row['quality']} ", jpeg[0], " and ", jpeg[1]),
        )
    errors = row.get("errors")
    if errors is not None and errors["change"]["auroc"] is not None:
        yield (
            f"{name}: AUROC for telling {counted(errors['errors'], 'error')} from right answers: the least change ",
            *(estimate(errors["change"], "auroc"), ", the greatest probability "),
            estimate(errors["max_softmax"], "auroc"),
        )


def _share(value: float | None) -> Estimate:
    return Estimate(value, places=0, format="percent")


def _difference(pair: Row) -> Text:
    over = f"{minus(pair)}, paired over {pair['images']} images that both get right: mean "
    verdict = tie_or(pair, "needs larger changes", "mean_larger")
    return over, words.difference(pair, "mean"), f"{at_once(pair)}, {verdict}"


def _part(run: MeasureRun, images: str, rows: Sequence[Row]) -> Iterator[Block]:
    """Everything of one image set."""
    pairs = of_set(run.summary["comparisons"], images)
    yield from tables.sizes(rows)
    if pairs:
        yield Group("Differences between classifiers", tuple(tables.differences(pairs)))
    some = rows[:MOST_SHOWN]
    found = _found(run, images, some)
    if not found:
        yield Sentence(run.whole.why_unreadable(images) or "The rows can't be read any more.", "caution")
    elif len(rows) > len(some):
        yield Sentence(f"Figures and pictures are of the first {len(some)} of {len(rows)} classifiers.", "caution")
    names = {name: run.whole.label_names(name, images) for name in found}
    matrices = _matrices(found, names) if rows[0]["targets"] else {}
    if matrices:
        drawn = {name: values for name, (values, _) in matrices.items()}
        yield Group("Perturbation matrix", (matrix_figure(drawn, {name: names[name].names for name in drawn}),))
    if rows[0]["classes"]:
        few = len(rows[0]["classes"]) <= OPEN_CLASSES and len(rows) <= 2
        title = "Class by class: changes away from it and towards it, over all images that are right"
        yield Group(title, tuple(tables.by_class(rows)), "open" if few else "closed")
    if bubbles := _bubbles(found, names, matrices):
        yield Group("Bubbles", (bubble_figure(bubbles, names[next(iter(matrices))].names),))
    yield from _pictures(run, images, found, names)
    if found and "accuracy" in rows[0]:
        yield Group("Accuracy against ε", (accuracy_figure(found, some),))
    yield Group("Do changes survive?", tuple(tables.survival(rows)))
    if moved := of_set(run.summary["transfers"], images):
        note = (
            "Of changes that were found, on images that are right and of which both classifiers say the same "
            "untouched; intervals hold for the whole table at once."
        )
        yield Group("Do they transfer?", (tables.transfers(moved), Sentence(note, "note")))
    told = [row for row in rows if row.get("errors") and row["errors"]["change"]["auroc"]]
    if told:
        wrong = {name: sizes for name, sizes in found.items() if sizes.labelled and (~sizes.correct).any()}
        figure = [risk_figure(wrong)] if wrong else []
        yield Group("Is the distance a confidence?", (*tables.as_confidence(told), *figure))


def _found(run: MeasureRun, images: str, rows: Sequence[Row]) -> dict[str, ChangeSizes]:
    """The rows of some classifiers; nothing where they can't be read any more."""
    view = run.view
    if view is None or images not in view.images:
        return {}
    return {row["classifier"]: ChangeSizes(view, view.cell(row["classifier"], images)) for row in rows}


def _matrices(found: dict[str, ChangeSizes], names: dict[str, LabelNames]) -> dict[str, Any]:
    """The matrix of each classifier without too many classes, with the places of the images of its rows."""
    classes = {name: len(names[name].names) for name in found}
    return {name: matrix(sizes, classes[name]) for name, sizes in found.items() if classes[name] <= MOST_CLASSES}


def _bubbles(found: dict[str, ChangeSizes], names: dict[str, LabelNames], matrices: dict[str, Any]) -> list[Bubble]:
    """Rows of the first classifier's matrix, and of those that have the same image there."""
    if not matrices:
        return []
    first = next(iter(matrices))
    values, places = matrices[first]
    bubbles = [
        Bubble(
            f"{found[first].subject.names[places[row]]} ({names[first].names[row]})",
            {
                name: others[row]
                for name, (others, there) in matrices.items()
                if len(others) == len(values) and there[row] == places[row]
            },
        )
        for row in [row for row in range(len(values)) if places[row] >= 0][:BUBBLES]
    ]
    enough = any(np.isfinite(each).sum() > 2 for bubble in bubbles for each in bubble.changes.values())
    return bubbles if enough else []


def _pictures(
    run: MeasureRun, images: str, found: dict[str, ChangeSizes], names: dict[str, LabelNames]
) -> Iterator[Group]:
    chosen = run.whole.chosen(images)
    if chosen is None:
        return
    made = {name: changes(sizes, chosen.images, names[name]) for name, sizes in found.items()}
    shown = {name: pictures for name, pictures in made.items() if pictures.strips}
    note = (
        "The image, an example of the target, the changed image, and the difference per channel: grey is no change, "
        "white and black are the largest, stretched as stated. For some images the target that needs least and the one "
        "that needs most."
    )
    groups = [
        Group((ClassifierName(name),), (pictures,), "closed" if place else "open")
        for place, (name, pictures) in enumerate(shown.items())
    ]
    if groups:
        yield Group("What changes look like", (Sentence(note, "note"), *groups))
