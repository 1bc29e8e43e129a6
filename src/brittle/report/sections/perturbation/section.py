"""The section of the measure `perturbation`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from markupsafe import Markup
from rich.console import RenderableType

from brittle.measures.perturbation.sizes import Sizes, matrix
from brittle.report.page.pictures import EXACT_UP_TO, data_uri
from brittle.report.page.section import MeasureRun, Summary, compared
from brittle.report.page.words import percent
from brittle.report.sections import register
from brittle.report.sections.flatten import arrow, flat
from brittle.report.sections.legacy import Finding, LegacySection, Remarks
from brittle.report.sections.perturbation import words
from brittle.report.sections.perturbation.console import printed
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
class PerturbationSection(LegacySection):
    """How far images must be changed for a classifier to see another class in them."""

    title = "Targeted perturbations"

    def console(self, summary: Summary) -> RenderableType:
        return printed(summary)

    def table(self, summary: Summary) -> pa.Table:
        """A row per classifier and image set: per class the summary has more."""
        return arrow([_flat(row) for row in summary["results"]])

    def findings(self, run: MeasureRun) -> Sequence[Finding]:
        said = [Finding(_headline(row, run.many_sets), LEADS) for row in run.summary["results"] if row["right"]]
        for pair in run.summary["comparisons"]:
            if pair["mean_larger"] != "tie":
                names = pair["first"], pair["second"]
                more, less = names if pair["mean_larger"] == "first" else names[::-1]
                text = (
                    f"{more} needs larger changes than {less}: the mean differs by "
                    f"{words.sized(pair['mean_difference'], pair['mean_interval'], '+')} of the value range on "
                    f"{pair['images']} images that both get right."
                )
                said.append(Finding(text, DIFFERS, ("perturbed", *compared(pair["image_set"], *names))))  # type: ignore[misc]
        return sorted(said, key=lambda each: -each.weight)[:MOST_FINDINGS]

    def remarks(self, run: MeasureRun) -> Remarks:
        first = run.summary["results"][0]
        return Remarks(
            explanation="A change is the difference between an image and a copy of it in which the classifier sees "
            f"another class with p ≥ {first['share']:g}; its size is the largest change of any value (L∞), in % of the "
            "value range.",
            limits=LIMITS,
            citing=f"the method ({words.how(first)}), the cap of means ({percent(first['cap'])})",
            references=(UREM, WAUDBY_SMITH_2023),
        )

    def body(self, run: MeasureRun) -> Markup:
        results = run.summary["results"]
        sets = [
            _image_set(run, name, place) for place, name in enumerate(dict.fromkeys(r["image_set"] for r in results))
        ]
        return self.rendered(
            "body.html.j2", run, sets=sets, first=results[0], words=words, percent=percent, open_classes=OPEN_CLASSES
        )


def _flat(row: words.Row) -> dict[str, Any]:
    kept = {key: value for key, value in row.items() if key not in LISTS}
    kept |= {"targets": "/".join(row["targets"]), "smallest": row["smallest"], "survival": row["survival"]}
    for each in row.get("accuracy", ()):
        kept[f"accuracy_at_{255 * each['epsilon']:.0f}"] = each["accuracy"]
    errors = row.get("errors")
    if errors is not None:
        kept |= {"auroc_change": errors["change"]["auroc"], "auroc_max_softmax": errors["max_softmax"]["auroc"]}
    return flat(kept)


def _headline(row: words.Row, many_sets: bool) -> str:
    where = f" on {row['image_set']}" if many_sets else ""
    said = (
        f"For {row['classifier']} to see another class with p ≥ {row['share']:g}{where}, values must change by "
        f"{words.sized(row['mean'], row['mean_interval'])} of their range on average, "
        f"{words.size(row['smallest']['mean'])} towards the nearest class"
    )
    return f"{said}; {words.failures(row)} searches failed." if row["failures"] else f"{said}; no search failed."


def _image_set(run: MeasureRun, images: str, place: int) -> dict[str, Any]:
    """Everything of one image set, ready for the template."""
    summary, view = run.summary, run.view
    rows = [row for row in summary["results"] if row["image_set"] == images]
    shown: dict[str, Any] = {
        "name": images,
        "rows": rows,
        "pairs": [pair for pair in summary["comparisons"] if pair["image_set"] == images],
        "transfers": [each for each in summary["transfers"] if each["image_set"] == images],
        "note": "",
        "matrices": Markup(),
        "bubbles": Markup(),
        "accuracy": Markup(),
        "risk": Markup(),
        "pictures": [],
    }
    if view is None or images not in view.images:
        return shown | {"note": run.whole.why_unreadable(images) or "The rows can't be read any more."}
    some = rows[:MOST_SHOWN]
    found = {row["classifier"]: Sizes(view, view.cell(row["classifier"], images)) for row in some}
    if len(rows) > len(some):
        shown["note"] = f"Figures and pictures are of the first {len(some)} of {len(rows)} classifiers."
    names = {name: run.whole.label_names(name, images) for name in found}
    key = run.anchor(f"s{place}")
    if rows[0]["targets"]:
        shown |= _matrices(run, found, names, key)
    if "accuracy" in rows[0]:
        shown["accuracy"] = accuracy_figure(f"{key}a", found, some, run.looks)
    if any((~sizes.correct).any() and sizes.labelled for sizes in found.values()):
        shown["risk"] = risk_figure(f"{key}r", {n: s for n, s in found.items() if (~s.correct).any()})
    chosen = run.whole.chosen(images)
    if chosen is not None:
        shown["small"] = max(chosen.images.shape[1:]) <= EXACT_UP_TO
        shown["pictures"] = [
            (name, [_picture(each) for each in changes(sizes, chosen.images, names[name])])
            for name, sizes in found.items()
        ]
    return shown


def _matrices(run: MeasureRun, found: dict[str, Sizes], names: dict[str, Any], key: str) -> dict[str, Any]:
    """The matrices, and the rows of them that the first classifier's images make, as bubbles."""
    matrices, places = {}, {}
    for name, sizes in found.items():
        classes = len(names[name].names)
        if classes <= MOST_CLASSES:
            matrices[name], places[name] = matrix(sizes, classes)
    if not matrices:
        return {}
    shown = {"matrices": matrix_figure(f"{key}m", matrices, {name: names[name].names for name in matrices})}
    first = next(iter(matrices))
    alike = {name: values for name, values in matrices.items() if len(values) == len(matrices[first])}
    same = [row for row in range(len(matrices[first])) if places[first][row] >= 0]
    bubbles = [
        Bubble(
            f"{found[first].subject.names[places[first][row]]} ({names[first].names[row]})",
            {name: values[row] for name, values in alike.items() if places[name][row] == places[first][row]},
        )
        for row in same[:BUBBLES]
    ]
    if bubbles and any(np.isfinite(c).sum() > 2 for each in bubbles for c in each.changes.values()):
        shown["bubbles"] = bubble_figure(f"{key}b", bubbles, names[first].names, run.looks)
    return shown


def _picture(each: Any) -> dict[str, Any]:
    pictures = {"original": each.original, "changed": each.changed, "example": each.example}
    uris = {name: None if image is None else data_uri(image) for name, image in pictures.items()}
    told = {name: getattr(each, name) for name in ("name", "label", "target", "linf", "stretched")}
    return told | uris | {"differences": [data_uri(image) for image in each.differences]}
