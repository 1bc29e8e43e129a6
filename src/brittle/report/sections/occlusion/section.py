"""The section of the measure `occlusion`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from brittle.report.blocks import Block, Cell, Column, Group, Sentence, Table, Weighted
from brittle.report.blocks.text import ClassifierName, Estimate, Styled, TableCell, Text, Verdict
from brittle.report.blocks.wording import bounded, estimate, plain
from brittle.report.page.section import MeasureRun, Row, Summary
from brittle.report.page.words import counted, number, percent
from brittle.report.sections import register
from brittle.report.sections.base import BaseSection, finding, remarks
from brittle.report.sections.comparisons import FIRST, MOST_PAIRS, SECOND, both
from brittle.report.sections.distortion import distortion_blocks, distortion_line
from brittle.report.sections.flatten import arrow, flat
from brittle.report.sections.grouped import of_set
from brittle.report.sections.occlusion import words
from brittle.report.sections.occlusion.brief import printed
from brittle.report.sections.occlusion.figures import COLUMNS, curves
from brittle.report.sections.occlusion.pictures import pictures
from brittle.report.sections.occlusion.words import DescribedModel
from brittle.report.sections.references import FIELLER_1954, MARCU_2022, WAUDBY_SMITH_2023
from brittle.report.sections.tables import Making, Titled, bare, estimated, pairs, part, table, text

LEADS, COMPARED = 0.4, 0.43  # how much findings matter
MOST_FINDINGS = 3
MIDDLE = 0.5  # the share at which findings are reported, or the nearest to it
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
P = Styled("p", "sup")
INTERPLAY: Text = (
    "; and iOcclusion", Styled("p", "sub"), " = (A(train", P, ") − A(test", P, ")) / (A(train) − A(test)), the gap "
    "between training and test images when the share p is hidden, over the gap without (Marcu & Prügel-Bennett 2022, "
    "section 3). Occlusion that changes no answer gives exactly 1, chance gives 0, and above 1 the gap has widened. "
    "Training images are shown as they are, without augmentation",
)  # fmt: skip


@register("occlusion")
class OcclusionSection(BaseSection):
    """How accuracy falls as more and more is hidden, and what becomes of the gap to training images."""

    title = "Occlusion"

    def brief(self, summary: Summary) -> Sequence[Block]:
        return [*printed(summary), *distortion_line(summary)]

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

    def top(self, run: MeasureRun) -> Sequence[Weighted]:
        said = [(text, COMPARED) for pair in run.summary["comparisons"] if (text := _compared(pair))][:MOST_FINDINGS]
        first = run.summary["results"][0]
        alone = words.models(run.summary, first["image_set"], first["nuisance"])[:2]
        said += [(_alone(model), LEADS) for model in alone]
        return [finding(*each) for each in said[:MOST_FINDINGS]]

    def blocks(self, run: MeasureRun) -> Sequence[Block]:
        rows = run.summary["results"]
        trained = any(row["train_set"] is not None for row in rows)
        parts = [_ImageSetPart(run, images, nuisances) for images, nuisances in words.cells(run.summary).items()]
        masks = ", ".join(dict.fromkeys(row["nuisance"] for row in rows))
        return [
            Sentence(
                (
                    "Accuracy as more and more of every image is hidden (CutOcclusion), with the share A/A₀ of the "
                    "untouched accuracy that is left",
                    *(INTERPLAY if trained else ()),
                    ".",
                )
            ),
            *(block for part in parts for block in part.blocks()),
            *remarks(
                "iOcclusion is the gap between training and test accuracy on occluded images, over the gap on "
                "untouched ones.",
                LIMITS,
                f"the masks ({masks}), what they are filled with, and that {words.hidden_of(rows[0])}",
                (MARCU_2022, FIELLER_1954, WAUDBY_SMITH_2023),
            ),
        ]


def _about(row: Row) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key != "points"}


def _middle(points: Sequence[Row]) -> Row:
    return min(points, key=lambda point: abs((point["share"] or MIDDLE) - MIDDLE))


def _alone(model: DescribedModel) -> str:
    row, point = model.row, _middle(model.points)
    hiding = "Hidden as drawn" if point["share"] is None else f"With {words.share(point['share'])} hidden"
    fall = (
        f"{hiding} by {row['nuisance']}, {model.name} is right on {number(point['accuracy'])} of {row['image_set']}, "
        f"untouched on {number(row['accuracy_clean'])}"
    )
    value, bounds = words.interplay(point)
    return f"{fall}." if value is None else f"{fall}; iOcclusion is {plain((bounded(value, bounds, places=2),))}."


def _compared(pair: Row) -> str:
    """The share in the middle at which one keeps more of its gap than the other, for certain."""
    point = _middle(pair["points"])
    if point["more_robust"] in (None, "tie"):
        return ""
    more, less = both({**pair, **point}, "more_robust")
    return (
        f"With {words.share(point['share'])} hidden by {pair['nuisance']}, {more} keeps more of its gap between "
        f"training and test images than {less}: iOcclusion differs by "
        f"{plain((estimate(point, 'iocclusion', places=2),))} "
        f"({percent(pair['confidence'])} interval for all {pair['family']} comparisons at once)."
    )


class _ImageSetPart:
    """One image set under all its nuisances."""

    def __init__(self, run: MeasureRun, images: str, nuisances: Sequence[str]) -> None:
        self.run, self.images = run, images
        self.found = {name: words.models(run.summary, images, name) for name in nuisances}
        models = self.found[nuisances[0]]
        self.trained: str | None = models[0].row["train_set"]
        self.grouped = any(model.runs > 1 for model in models)
        self.looks = {model.name: model.classifier for model in models}
        self.classifiers = list(dict.fromkeys(row["classifier"] for row in of_set(run.summary["results"], images)))

    def blocks(self) -> Sequence[Block]:
        blocks = [*self._figures(), *self._fillings()]
        blocks += [self._nuisance(name, models) for name, models in self.found.items()]
        blocks += self._differences()
        if not self.run.many_sets:
            return blocks
        trained = f", trained on {self.trained}" if self.trained else ""
        return [Group(f"On {self.images}{trained}", tuple(blocks))]

    def _figures(self) -> Iterator[Block]:
        curved = [name for name, models in self.found.items() if not models[0].row["as_drawn"]]
        beside = [curved[start : start + COLUMNS] for start in range(0, len(curved), COLUMNS)]
        on = "solid on test images, dotted on training images" if self.trained else "on test images"
        confidence = percent(self.run.summary["results"][0]["confidence"])
        reading = f"Accuracy: {on}, with {confidence} intervals over images."
        if any(model.row["divisible"] for models in self.found.values() for model in models):
            reading += (
                " iOcclusion: bands are Fieller’s intervals over images, an image being one item with its occluded and "
                "its untouched answer, and the two sets independent; each interval holds on its own."
            )
        if self.grouped:
            reading += (
                " Lines are means over the runs of a group; the mean of ratios stands with its standard deviation over "
                "runs."
            )
        for names in beside:
            yield curves({name: self.found[name] for name in names}, reading if names == beside[-1] else "")

    def _fillings(self) -> Iterator[Block]:
        if said := tuple(words.fillings(self.run.summary, self.images)):
            yield Group("What fills the mask", tuple(Sentence(text, "item") for text in said))

    def _nuisance(self, nuisance: str, models: Sequence[DescribedModel]) -> Group:
        row = models[0].row
        masks = f"{words.hidden_of(row)}; {counted(row['repeats'], 'mask')} per image, filled with {row['filled_with']}"
        return Group(
            nuisance,
            (
                pairs(("masks", masks), ("images", words.subject(row))),
                *(Sentence(f"{each.name}: {said}.", "caution") for each in models if (said := words.no_gap(each.row))),
                self._table(models),
                *distortion_blocks(self.run.summary, self.images, nuisance),
                *pictures(self.run, self.images, nuisance, self.classifiers),
            ),
            about=Cell(self.images, nuisance),
        )

    def _table(self, models: Sequence[DescribedModel]) -> Table:
        trained: list[Titled] = [
            (Column(("A(train", P, ")")), estimated("at.train_accuracy")),
            ("A(train)", bare("whole.train_accuracy_clean")),
            (Column(("gap", P)), bare("at.gap")),
            ("gap", bare("whole.gap")),
            (f"iOcclusion{', ratio of means' * self.grouped}", _interplay),
            *[("mean of ratios", _ratios)] * self.grouped,
        ]
        return table(
            [{"model": model, "whole": model.row, "at": point} for model in models for point in model.points],
            ("model" if self.grouped else "classifier", _model),
            ("hidden", lambda each: _hidden(each["at"])),
            ("of the pixels", part("at.hidden")),
            (Column(("A(test", P, ")")), estimated("at.accuracy")),
            ("A(test)", bare("whole.accuracy_clean")),
            ("A/A₀", estimated("at.relative")),
            *(trained if self.trained else ()),
            by=0,
        )

    def _differences(self) -> Iterator[Block]:
        compared = of_set(self.run.summary["comparisons"], self.images)
        points = [pair | point for pair in compared for point in pair["points"]]
        if not points:
            return

        def verdict(key: str) -> Making:
            def made(pair: Row) -> TableCell:
                name = {"first": pair["first"], "second": pair["second"]}.get(pair[key] or "")
                return Verdict(None) if name is None else ClassifierName(self.looks[name], name)

            return made

        robust = verdict("more_robust")
        trained: list[Titled] = [
            ("iOcclusion", estimated("iocclusion", places=2)),
            ("keeps more of its gap", lambda pair: "–" if pair["more_robust"] is None else robust(pair)),
        ]
        cut = f" The first {MOST_PAIRS}; all are in summary.json." if len(points) > MOST_PAIRS else ""
        note = (
            "First minus second, paired over the same images under the same masks (a mask that reads saliency is each "
            f"classifier’s own); intervals hold for all {compared[0]['family']} comparisons at once.{cut}"
        )
        shown = table(
            points[:MOST_PAIRS],
            FIRST,
            SECOND,
            ("nuisance", text("nuisance")),
            ("hidden", _hidden),
            (Column(("A(test", P, ")")), estimated("accuracy", signed=True)),
            ("more accurate", verdict("more_accurate")),
            *(trained if self.trained else ()),
        )
        yield Group("Differences", (Sentence(note, "note"), shown))


def _model(each: Row) -> TableCell:
    return ClassifierName(each["model"].classifier, each["model"].named)


def _interplay(each: Row) -> TableCell:
    return bounded(*words.interplay(each["at"]), places=2)


def _ratios(each: Row) -> TableCell:
    mean, spread = (each["at"].get(f"{key}_of_ratios") for key in ("mean", "spread"))
    return Estimate(mean, places=2), "" if spread is None else f" ± {number(spread, 2)}"


def _hidden(point: Row) -> Estimate:
    hidden = None if point["share"] is None else 100 * point["share"]
    return Estimate(hidden, format="significant", unit="%", missing="as drawn")
