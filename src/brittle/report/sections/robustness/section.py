"""The section of the measure `robustness`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

import pyarrow as pa

from brittle.report.blocks import Block, Column, Group, Sentence, Table, Weighted
from brittle.report.blocks.text import Count, Styled, TableCell, Text
from brittle.report.page.section import MeasureRun, Row, Summary
from brittle.report.page.words import interval, number, percent, span
from brittle.report.sections import register
from brittle.report.sections.base import BaseSection, remarks
from brittle.report.sections.comparisons import minus, verdict
from brittle.report.sections.distortion import distortion_blocks, distortion_line
from brittle.report.sections.flatten import arrow, flat
from brittle.report.sections.references import FAWZI_2016, HOWARD_2021, WAUDBY_SMITH_2023
from brittle.report.sections.robustness import sentences
from brittle.report.sections.robustness.brief import printed
from brittle.report.sections.robustness.figures import AT_EACH_END, class_figure, curve_figure, curves, shown_classes
from brittle.report.sections.robustness.pictures import falling, gallery, sizes
from brittle.report.sections.robustness.results import RobustnessRows
from brittle.report.sections.robustness.verdict import maps, verdicts
from brittle.report.sections.tables import WHO, Titled, bare, count, estimated, pairs, table, text

NUISANCE = ("nuisance", text("nuisance"))
EXTRAS = {"nll": "NLL", "ece": "ECE", "top5": "top-5 accuracy"}
MOST_PER_CLASS = 12  # nuisances whose classes are shown
A_SUITE = 5  # nuisances from which on their means are reported
OnSet = Callable[[str, RobustnessRows], Iterable[Block]]


@register("robustness")
class RobustnessSection(BaseSection):
    """ρ and accuracy under the nuisance with their intervals, and pictures beside them."""

    title = "Robustness"

    def brief(self, summary: Summary) -> Sequence[Block]:
        return [*printed(RobustnessRows(summary)), *distortion_line(summary)]

    def table(self, summary: Summary) -> pa.Table:
        """A row per result: per class the summary has more."""
        return arrow([_flat(row) for row in summary["results"]])

    def top(self, run: MeasureRun) -> Sequence[Weighted]:
        results, many = RobustnessRows(run.summary), run.many_sets
        return [*maps(results, many), *verdicts(results, many), *sentences.findings(results, many)]

    def blocks(self, run: MeasureRun) -> Sequence[Block]:
        results = RobustnessRows(run.summary)
        parts = _SectionParts(run, results)
        return [
            Sentence(
                f"For an image x, µ(x) is the mean probability of its {'reference ' * (not results.labelled)}label "
                "over draws of the nuisance’s parameters θ from their prior; ρ is the mean of µ(x) over images (Fawzi "
                "& Frossard 2016). Every classifier saw the same images with the same θ."
            ),
            _what(run, results),
            *parts.results(),
            *parts.paired(),
            *parts.fewer(),
            *parts.options(),
            *parts.classes(),
            parts.gallery(),
            *_remarks(results),
        ]


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """The interval of ρ is called after it, as those of everything else are."""
    renamed = {"interval": "rho_interval", "interval_simultaneous": "rho_simultaneous_interval"}
    return flat({renamed.get(key, key): value for key, value in row.items() if key != "classes"})


def _remarks(results: RobustnessRows) -> Iterator[Sentence]:
    first = results.first
    which = "the right label" if results.labelled else "the reference label"
    yield from (Sentence(each, "warning") for each in sentences.cautions(results))
    yield from remarks(
        f"ρ is the mean probability that a classifier gives {which} when nuisances are drawn from their prior: 1 is "
        f"best. Intervals in brackets: {percent(first['confidence'])}.",
        sentences.limits(results),
        f"the estimand ({first['estimand']}), the confidence ({percent(first['confidence'])})",
        (FAWZI_2016, HOWARD_2021 if first["estimand"] == "set" else WAUDBY_SMITH_2023),
    )


def _what(run: MeasureRun, results: RobustnessRows) -> Table:
    """What was measured, and how."""
    first = results.first
    on = []
    for name in results.image_sets:
        images, draws = (span(row[key] for row in results.on(name).rows) for key in ("images", "samples"))
        on.append(f"{images} images{f' of {name}' * run.many_sets} × {draws} draws per image")
    hoeffding = first["hoeffding_half_width"]
    random = "; only the draws of θ are random" if first["estimand"] == "set" else ""
    if hoeffding is not None:
        random = "; the images are the sample, and more draws per image can’t make up for few images"
    anytime = ""
    if first["tolerance"] is not None:
        anytime = (
            f"; valid at any stopping time, so also where measuring stopped at the tolerance of {first['tolerance']:g}"
        )
    compared: tuple[tuple[str, str], ...] = ()
    if hoeffding is not None:
        found = "none" if first["half_width"] is None else number(first["half_width"])
        said = (
            f"Hoeffding’s half-width for the same number of images would be {number(hoeffding)}; found for "
            f"{first['classifier']} under {first['nuisance']}: {found}"
        )
        compared = (("for comparison", said),)
    return pairs(
        ("measured on", "; ".join(on)),
        ("estimand", f"{first['estimand']}: ρ of {first['estimand_is']}{random}"),
        ("intervals", f"{percent(first['confidence'])}, {first['interval_method']}{anytime}"),
        *compared,
    )


class _SectionParts:
    """The parts of the section, each over all image sets."""

    def __init__(self, run: MeasureRun, results: RobustnessRows) -> None:
        self.run, self.all = run, results
        self.percent = percent(results.first["confidence"])

    def _on_sets(self, make: OnSet) -> Iterator[Block]:
        """What there is of every image set, under its name where there are several."""
        for name in self.all.image_sets:
            blocks = tuple(make(name, self.all.on(name)))
            if blocks and self.run.many_sets:
                yield Group(f"On {name}", blocks)
            else:
                yield from blocks

    def _group(self, title: str, key: str, make: OnSet, *before: Block) -> Iterator[Group]:
        if blocks := tuple(self._on_sets(make)):
            yield Group(title, (*before, *blocks), key=key)

    def results(self) -> Iterator[Group]:
        return self._group("Results", "results", self._results)

    def _results(self, images: str, here: RobustnessRows) -> Iterator[Block]:
        compared, worst = self.all.compared, here.worst_of
        ranks = {nuisance: sentences.ranks(here.under(nuisance)) for nuisance in here.nuisances}

        def rank(row: Row) -> str:
            low, high = ranks[row["nuisance"]][row["classifier"]]
            return f"{low}–{high}" if high > low else str(low)

        labelled: list[Titled] = [
            ("accuracy under the nuisance", estimated("accuracy_nuisance")),
            *[(f"worst of {worst}", estimated("accuracy_worst"))] * bool(worst),
            ("clean accuracy", estimated("accuracy_clean")),
        ]
        yield table(
            [row for nuisance in here.nuisances for row in here.under(nuisance).rows],
            NUISANCE,
            WHO,
            (Column("ρ", "share"), estimated("rho", "interval")),
            *[("rank", rank)] * compared,
            *labelled * here.labelled,
            ("flip rate", estimated("flip_rate")),
            *[("images × draws", _sizes)] * here.uneven,
            *(
                (name, bare(key, missing="infinite" if key == "nll" else "–"))
                for key, name in EXTRAS.items()
                if key in self.all.first
            ),
            by=0,
        )
        note = f"{self.percent} intervals, each holding on its own. "
        if here.labelled and worst:
            note += f"Worst of {worst}: an image counts only if its first {worst} draws are all right. "
        note += "Flips: draws on which the prediction differs from the clean one."
        if compared:
            note += " Rank by ρ from the paired intervals: two numbers, such as 1–2, are a tie."
        yield Sentence(note, "note")
        if here.means and len(here.nuisances) >= A_SUITE:
            yield Sentence(_means(here))
        yield from distortion_blocks(self.run.summary, images)

    def paired(self) -> Iterator[Group]:
        if not self.all.compared:
            return
        family, fewer = self.all.pairs[0]["family"], len(self.all.shown) < len(self.all.classifiers)
        labelled = any(self.all.on(name).labelled for name in self.all.image_sets)
        holding = "hold for this one comparison"
        if family > 1:
            holding = f"of ρ hold simultaneously over all {family} comparisons of this run, and so do those of accuracy"
        said: tuple[str | Styled, ...] = (
            "Two classifiers on the same images and the same θ, first minus second. "
            f"{'Accuracy is that under the nuisance. ' * labelled}It is a tie unless the interval lies on one side of "
            f"zero. The {self.percent} intervals {holding}.",
        )
        if fewer:
            said += (
                " ",
                Styled("Shown: every classifier against the one whose ρ is highest under the nuisance."),
                f" All {len(self.all.pairs):,} comparisons are in summary.json.",
            )
        yield from self._group("Paired differences", "paired", self._paired, Sentence(said))

    def _paired(self, images: str, here: RobustnessRows) -> Iterator[Block]:
        fewer = len(here.shown) < len(here.classifiers)
        best = (pair for nuisance in here.nuisances for pair in here.under(nuisance).against_best)
        accuracy: list[Titled] = [
            ("difference in accuracy", estimated("accuracy_nuisance_difference", "accuracy_nuisance_interval")),
            verdict("more accurate", "accuracy_nuisance_better"),
        ]
        yield table(
            list(best) if fewer else here.pairs,
            NUISANCE,
            ("first − second", minus),
            (Column("difference in ρ", "difference"), estimated("rho_difference", "rho_interval")),
            verdict("more robust", "rho_better"),
            *accuracy * here.labelled,
            by=0 if len(here.classifiers) > 2 else None,
        )
        yield from (Sentence(text, "finding") for text in sentences.pair_sentences(here))
        yield Sentence("Drawn around zero, in the colour of the better classifier; grey is a tie.", "note")

    def fewer(self) -> Iterator[Sentence]:
        if (shown := len(self.all.shown)) < (every := len(self.all.classifiers)):
            yield Sentence(
                f"Of {every} classifiers {shown} are shown below, in figures and pictures: the first of the study, and "
                "those whose ρ is highest and lowest on average over nuisances. The tables above have all of them, and "
                "so has summary.json.",
                "caution",
            )

    def options(self) -> Iterator[Group]:
        dotted = any(self.all.on(name).labelled for name in self.all.image_sets)
        said = (
            "Nuisances of one kind that differ in one option. Where it is ImageNet-C’s level, the curve begins at 0, "
            "the untouched image, and the drop of accuracy, paired image by image, stands beside it. Behind all points "
            "of a curve stand the same random numbers, so the curve is compared draw by draw. Whiskers: "
            f"{self.percent} intervals, each on its own.{' Dotted: clean accuracy.' * dotted}"
        )
        return self._group("Against an option or severity", "options", self._options, Sentence(said))

    def _options(self, images: str, here: RobustnessRows) -> Iterator[Block]:
        known = self.run.whole.job.nuisances
        rows = [row for row in here.rows if row["classifier"] in self.all.shown]
        for curve in curves({name: known[name] for name in here.nuisances if name in known}):
            turned = falling(self.run, images, here, curve)
            yield Group(
                f"{curve.kind}: {curve.option}{f' ({curve.fixed})' if curve.fixed else ''}",
                (
                    Sentence(f"{curve.option}: {curve.about}", "note"),
                    curve_figure(curve, rows, falling=turned),
                ),
            )

    def classes(self) -> Iterator[Group]:
        said = (
            f"ρ of each class, weakest on top. The thick line is the class’s own {self.percent} interval; the thin "
            "line is simultaneous over all classes: use it when you pick out a class from the list."
        )
        return self._group("Per class", "classes", self._classes, Sentence(said))

    def _classes(self, images: str, here: RobustnessRows) -> Iterator[Block]:
        """None where images have no labels or all are of one class."""
        fold: Literal["open", "closed"] = "open"
        lowest = sorted(here.nuisances, key=lambda name: min(row["rho"] for row in here.under(name).rows))
        chosen = set(lowest[:MOST_PER_CLASS])
        if len(chosen) < len(lowest):
            said = f"Under the {len(chosen)} nuisances with the lowest ρ of {len(lowest)}; all are in summary.json."
            yield Sentence(said, "note")
        for nuisance in (name for name in here.nuisances if name in chosen):
            rows = [row for row in here.under(nuisance).rows if row["classifier"] in self.all.shown]
            if not all(len(row.get("classes", ())) > 1 for row in rows):
                continue
            if not _several_images(rows):
                continue
            total, classes = len(rows[0]["classes"]), shown_classes(rows)
            ends = f"The {AT_EACH_END} weakest and the {AT_EACH_END} strongest"
            cut = f"{ends} of {total} classes; all are in summary.json."
            yield Group(
                nuisance,
                (
                    *([Sentence(cut, "note")] if None in classes else []),
                    class_figure(nuisance, rows),
                    Group("The numbers", (_class_table(rows),), "closed"),
                ),
                fold,
            )
            fold = "closed"

    def gallery(self) -> Group:
        unlabelled = "" if self.all.labelled else " (without labels: as on the original, or not)"
        said: Text = (
            Styled("First draws, not selected."),
            " The first images in planned order, of different classes where there are labels, and of each the first "
            "draws of the prior: draw 0, 1, 2 …, whatever they show. Beneath each picture stand the stored answers: ✓ "
            f"right, ✗ wrong{unlabelled}, with the probability of the class named. ",
            Styled("Confident mistakes, selected:"),
            " of the images that a classifier gets right untouched, the draws on which it was most certain of a wrong "
            "class, at most one per image and two per class; they show how it fails, not how often.",
        )
        recognise = (
            "If you can’t recognise the object yourself, the prior destroys the label, and no classifier could do "
            "better."
        )
        return Group("Gallery", (Sentence(said), Sentence(recognise), *self._on_sets(self._gallery)), key="gallery")

    def _gallery(self, images: str, here: RobustnessRows) -> Iterator[Block]:
        yield from sizes(self.run, images)
        for place, nuisance in enumerate(here.nuisances):
            yield gallery(self.run, images, nuisance, place == 0)


def _several_images(rows: Sequence[Row]) -> bool:
    """Whether anything can be said of single classes: not of one image each, and not where nearly everything is
    possible."""
    known = [each for row in rows for each in row["classes"] if each["interval"] is not None]
    return any(each["images"] > 1 and not sentences.tells_nothing(each["interval"]) for each in known)


def _means(here: RobustnessRows) -> str:
    def told(row: Row) -> str:
        said = f"{row['classifier']} ρ {sentences.estimate_text(row['rho'], row['interval'])}"
        if not here.labelled:
            return said
        return (
            f"{said}, accuracy {sentences.estimate_text(row['accuracy_nuisance'], row['accuracy_nuisance_interval'])}"
        )

    return f"Means over the {here.means[0]['mean_of']}: {'; '.join(map(told, here.means))}."


def _sizes(row: Row) -> TableCell:
    return Count(row["images"]), " × ", Count(row["samples"])


def _class_table(rows: Sequence[Row]) -> Table:
    by = {(row["classifier"], each["label"]): each for row in rows for each in row["classes"]}
    shown = [each for each in shown_classes(rows) if each is not None]
    there = ((name, row["classifier"], by.get((row["classifier"], label))) for label, name in shown for row in rows)
    return table(
        [each | {"named": name, "classifier": classifier} for name, classifier, each in there if each is not None],
        ("class", text("named")),
        WHO,
        ("images", count("images")),
        ("ρ", estimated("rho", "interval")),
        ("simultaneous", lambda each: interval(each["interval_simultaneous"]) or "–"),
        ("accuracy under the nuisance", estimated("accuracy_nuisance")),
        ("clean accuracy", bare("accuracy_clean")),
        by=0,
    )
