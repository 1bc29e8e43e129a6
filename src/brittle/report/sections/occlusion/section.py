"""The section of the measure `occlusion`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from markupsafe import Markup
from rich.console import RenderableType

from brittle.report.page.pictures import EXACT_UP_TO, data_uri
from brittle.report.page.section import MeasureRun, Summary
from brittle.report.page.words import number, percent
from brittle.report.sections import register
from brittle.report.sections.flatten import arrow, flat
from brittle.report.sections.legacy import Finding, LegacySection, Remarks
from brittle.report.sections.occlusion import words
from brittle.report.sections.occlusion.console import printed
from brittle.report.sections.occlusion.figures import BESIDE, curves
from brittle.report.sections.occlusion.pictures import strips
from brittle.report.sections.references import FIELLER_1954, MARCU_2022, WAUDBY_SMITH_2023

LEADS, COMPARED = 0.4, 0.43  # how much findings matter
MOST_FINDINGS = 3
MOST_PAIRS = 45
MIDDLE = 0.5  # the share at which findings are told, or the nearest to it
LIMITS = (
    "Accuracy on occluded images (CutOcclusion) mixes what was hidden with how strange the mask looks: an occluder "
    "that resembles a class lowers it, whatever is hidden. The DI index beside it says when errors gather in one "
    "class.",
    "iOcclusion is a ratio of gaps between training and test accuracy, not an accuracy: a classifier that is wrong "
    "everywhere can have 1. It is noisy where the gap is small, and is left out where the gap may be 0.",
    "iOcclusion says how the gap holds under masks that no one has chosen: where the real occluders are known, "
    "accuracy under exactly those says more.",
    "Intervals are over images and masks. What another training of the same model would give is seen only in several "
    "runs (a group).",
)


@register("occlusion")
class OcclusionSection(LegacySection):
    """How accuracy falls as more and more is hidden, and what becomes of the gap to training images."""

    title = "Occlusion"

    def console(self, summary: Summary) -> RenderableType:
        return printed(summary)

    def table(self, summary: Summary) -> pa.Table:
        """A row per classifier, image set, nuisance and share."""
        return arrow(
            [
                flat(
                    {f"{key}_clean" if key.startswith("gap") else key: each for key, each in _about(row).items()}
                    | point
                )
                for row in summary["results"]
                for point in row["points"]
            ]
        )

    def findings(self, run: MeasureRun) -> Sequence[Finding]:
        said = [Finding(text, COMPARED) for pair in run.summary["comparisons"] if (text := _compared(pair))]
        first = run.summary["results"][0]
        alone = words.models(run.summary, first["image_set"], first["nuisance"])[:2]
        return [*said[:MOST_FINDINGS], *(Finding(_alone(model), LEADS) for model in alone)][:MOST_FINDINGS]

    def remarks(self, run: MeasureRun) -> Remarks:
        first = run.summary["results"][0]
        return Remarks(
            explanation="iOcclusion is the gap between training and test accuracy on occluded images, over the gap on "
            "untouched ones.",
            limits=LIMITS,
            citing=f"the masks ({', '.join(dict.fromkeys(row['nuisance'] for row in run.summary['results']))}), what "
            f"they are filled with, and that {words.hidden_of(first)}",
            references=(MARCU_2022, FIELLER_1954, WAUDBY_SMITH_2023),
        )

    def body(self, run: MeasureRun) -> Markup:
        parts = [_part(run, place, *each) for place, each in enumerate(words.cells(run.summary).items())]
        return self.rendered(
            "body.html.j2",
            run,
            parts=parts,
            words=words,
            uri=data_uri,
            first=run.summary["results"][0],
            percent=percent,
        )


def _about(row: words.Row) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key != "points"}


def _middle(points: Sequence[words.Row]) -> words.Row:
    return min(points, key=lambda point: abs((point["share"] or MIDDLE) - MIDDLE))


def _alone(model: words.Model) -> str:
    row, point = model.row, _middle(model.points)
    hiding = "Hidden as drawn" if point["share"] is None else f"With {words.share(point['share'])} hidden"
    fall = (
        f"{hiding} by {row['nuisance']}, {model.name} is right on {number(point['accuracy'])} of {row['image_set']}, "
        f"untouched on {number(row['accuracy_clean'])}"
    )
    value, bounds = words.interplay(point)
    return f"{fall}." if value is None else f"{fall}; iOcclusion is {words.ratio(value, bounds)}."


def _compared(pair: words.Row) -> str:
    """The share in the middle at which one keeps more of its gap than the other, for certain."""
    point = _middle(pair["points"])
    if point["more_robust"] in (None, "tie"):
        return ""
    names = {"first": (pair["first"], pair["second"]), "second": (pair["second"], pair["first"])}
    more, less = names[point["more_robust"]]
    return (
        f"With {words.share(point['share'])} hidden by {pair['nuisance']}, {more} keeps more of its gap between "
        f"training and test images than {less}: iOcclusion differs by "
        f"{words.ratio(point['iocclusion'], point['iocclusion_interval'])} "
        f"({percent(pair['confidence'])} interval for all {pair['family']} comparisons at once)."
    )


def _part(run: MeasureRun, place: int, images: str, nuisances: Sequence[str]) -> dict[str, Any]:
    """Everything of one image set, ready for the template."""
    found = {name: words.models(run.summary, images, name) for name in nuisances}
    curved = [name for name in nuisances if not found[name][0].row["as_drawn"]]
    beside = [curved[start : start + BESIDE] for start in range(0, len(curved), BESIDE)]
    pairs = [pair for pair in run.summary["comparisons"] if pair["image_set"] == images]
    points = [(pair, point) for pair in pairs for point in pair["points"]]
    chosen = run.whole.chosen(images)
    classifiers = [row["classifier"] for row in run.summary["results"] if row["image_set"] == images]
    return {
        "images": images,
        "nuisances": [
            (name, models, strips(run, images, name, list(dict.fromkeys(classifiers))))
            for name, models in found.items()
        ],
        "figures": [
            curves(run.anchor(f"c{place}-{number}"), {name: found[name] for name in names}, run.looks)
            for number, names in enumerate(beside)
        ],
        "looks": {model.name: run.looks[model.classifier] for model in found[nuisances[0]]},
        "grouped": any(model.runs > 1 for model in found[nuisances[0]]),
        "trained": found[nuisances[0]][0].row["train_set"],
        "divisible": any(model.row["divisible"] for models in found.values() for model in models),
        "fillings": list(words.fillings(run.summary, images)),
        "points": points[:MOST_PAIRS],
        "cut": len(points) > MOST_PAIRS,
        "small": chosen is not None and max(chosen.images.shape[1:]) <= EXACT_UP_TO,
    }
