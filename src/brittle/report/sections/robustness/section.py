"""The section of the measure `robustness`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from brittle.report.blocks import (
    Block,
    ClassifierName,
    Column,
    Count,
    Estimate,
    Group,
    Sentence,
    Span,
    Styled,
    Table,
    TableCell,
    Text,
    Verdict,
    Weighted,
)
from brittle.report.blocks.wording import bounded, estimate
from brittle.report.page.section import MeasureRun, Summary
from brittle.report.page.words import interval, number, percent, span
from brittle.report.sections import register
from brittle.report.sections.base import BaseSection
from brittle.report.sections.distortion import distortion_blocks, distortion_line
from brittle.report.sections.flatten import arrow, flat
from brittle.report.sections.references import FAWZI_2016, HOWARD_2021, WAUDBY_SMITH_2023
from brittle.report.sections.robustness import sentences
from brittle.report.sections.robustness.brief import printed
from brittle.report.sections.robustness.curves import curves
from brittle.report.sections.robustness.figures import AT_EACH_END, class_figure, curve_figure, shown_classes
from brittle.report.sections.robustness.pictures import falling, gallery, sizes
from brittle.report.sections.robustness.results import Results, Row

EXTRAS = {"nll": "NLL", "ece": "ECE", "top5": "top-5 accuracy"}
A_SUITE = 5  # nuisances from which on their means are told
OnSet = Callable[[str, Results], Iterable[Block]]


@register("robustness")
class RobustnessSection(BaseSection):
    """ρ and accuracy under the nuisance with their intervals, and pictures beside them."""

    title = "Robustness"

    def brief(self, summary: Summary) -> Sequence[Block]:
        return [*printed(Results(summary)), *distortion_line(summary)]

    def table(self, summary: Summary) -> pa.Table:
        """A row per result: per class the summary has more."""
        return arrow([_flat(row) for row in summary["results"]])

    def top(self, run: MeasureRun) -> Sequence[Weighted]:
        return sentences.findings(Results(run.summary), run.many_sets)

    def blocks(self, run: MeasureRun) -> Sequence[Block]:
        results = Results(run.summary)
        parts = _Parts(run, results)
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


def _remarks(results: Results) -> Iterator[Sentence]:
    first = results.first
    which = "the right label" if results.labelled else "the reference label"
    yield Sentence(
        f"ρ is the mean probability that a classifier gives {which} when nuisances are drawn from their prior: 1 is "
        f"best. Intervals in brackets: {percent(first['confidence'])}.",
        "definition",
    )
    yield from (Sentence(text, "warning") for text in sentences.cautions(results))
    yield from (Sentence(text, "limit") for text in sentences.limits(results))
    yield Sentence(f"the estimand ({first['estimand']}), the confidence ({percent(first['confidence'])})", "citation")
    yield Sentence(FAWZI_2016, "reference")
    yield Sentence(HOWARD_2021 if first["estimand"] == "set" else WAUDBY_SMITH_2023, "reference")


def _what(run: MeasureRun, results: Results) -> Table:
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
    rows: list[tuple[TableCell, TableCell]] = [
        ("measured on", "; ".join(on)),
        ("estimand", f"{first['estimand']}: ρ of {first['estimand_is']}{random}"),
        ("intervals", f"{percent(first['confidence'])}, {first['interval_method']}{anytime}"),
    ]
    if hoeffding is not None:
        found = "none" if first["half_width"] is None else number(first["half_width"])
        text = (
            f"Hoeffding’s half-width for the same number of images would be {number(hoeffding)}; found for "
            f"{first['classifier']} under {first['nuisance']}: {found}"
        )
        rows.append(("for comparison", text))
    return Table(("", ""), tuple(rows), "pairs")


class _Parts:
    """The parts of the section, each over all image sets."""

    def __init__(self, run: MeasureRun, results: Results) -> None:
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

    def _results(self, images: str, here: Results) -> Iterator[Block]:
        compared, worst = self.all.compared, here.worst_of
        extras = {key: name for key, name in EXTRAS.items() if key in self.all.first}
        ranks = {nuisance: sentences.ranks(here.under(nuisance)) for nuisance in here.nuisances}

        def rank(row: Row) -> str:
            low, high = ranks[row["nuisance"]][row["classifier"]]
            return f"{low}–{high}" if high > low else str(low)

        columns: dict[Column | str, Callable[[Row], TableCell]] = {
            "nuisance": lambda row: str(row["nuisance"]),
            "classifier": lambda row: ClassifierName(row["classifier"]),
            Column("ρ", "share"): lambda row: estimate(row, "rho", "interval"),
        }
        if compared:
            columns["rank"] = rank
        if here.labelled:
            columns["accuracy under the nuisance"] = lambda row: estimate(row, "accuracy_nuisance")
            if worst:
                columns[f"worst of {worst}"] = lambda row: estimate(row, "accuracy_worst")
            columns["clean accuracy"] = lambda row: estimate(row, "accuracy_clean")
        columns["flip rate"] = lambda row: estimate(row, "flip_rate")
        if here.uneven:
            columns["images × draws"] = lambda row: (Count(row["images"]), " × ", Count(row["samples"]))
        for key, name in extras.items():
            missing = "infinite" if key == "nll" else "–"
            columns[name] = partial(_extra, key=key, missing=missing)
        rows = [row for nuisance in here.nuisances for row in here.under(nuisance).rows]
        yield Table(tuple(columns), tuple(tuple(make(row) for make in columns.values()) for row in rows), by=0)
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
        text: tuple[Span, ...] = (
            "Two classifiers on the same images and the same θ, first minus second. "
            f"{'Accuracy is that under the nuisance. ' * labelled}It is a tie unless the interval lies on one side of "
            f"zero. The {self.percent} intervals {holding}.",
        )
        if fewer:
            text += (
                " ",
                Styled("Shown: every classifier against the one whose ρ is highest under the nuisance."),
                f" All {len(self.all.pairs):,} comparisons are in summary.json.",
            )
        yield from self._group("Paired differences", "paired", self._paired, Sentence(text))

    def _paired(self, images: str, here: Results) -> Iterator[Block]:
        fewer = len(here.shown) < len(here.classifiers)
        best = (pair for nuisance in here.nuisances for pair in here.under(nuisance).against_best)
        pairs = list(best) if fewer else here.pairs
        names = ("nuisance", "first − second", Column("difference in ρ", "difference"), "more robust")
        yield Table(
            (*names, *(["difference in accuracy", "more accurate"] if here.labelled else [])),
            tuple(tuple(_pair(pair, here.labelled)) for pair in pairs),
            by=0 if len(here.classifiers) > 2 else None,
        )
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
        text = (
            "Nuisances of one kind that differ in one option. Where it is ImageNet-C’s level, the curve begins at 0, "
            "the untouched image, and the drop of accuracy, paired image by image, stands beside it. Behind all points "
            "of a curve stand the same random numbers, so the curve is compared draw by draw. Whiskers: "
            f"{self.percent} intervals, each on its own.{' Dotted: clean accuracy.' * dotted}"
        )
        return self._group("Against an option or severity", "options", self._options, Sentence(text))

    def _options(self, images: str, here: Results) -> Iterator[Block]:
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
        text = (
            f"ρ of each class, weakest on top. The thick line is the class’s own {self.percent} interval; the thin "
            "line is simultaneous over all classes: use it when you pick out a class from the list."
        )
        return self._group("Per class", "classes", self._classes, Sentence(text))

    def _classes(self, images: str, here: Results) -> Iterator[Block]:
        """None where images have no labels or all are of one class."""
        fold: Any = "open"
        for nuisance in here.nuisances:
            rows = [row for row in here.under(nuisance).rows if row["classifier"] in self.all.shown]
            if not all(len(row.get("classes", ())) > 1 for row in rows):
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
        text: Text = (
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
        return Group("Gallery", (Sentence(text), Sentence(recognise), *self._on_sets(self._gallery)), key="gallery")

    def _gallery(self, images: str, here: Results) -> Iterator[Block]:
        yield from sizes(self.run, images)
        for place, nuisance in enumerate(here.nuisances):
            yield gallery(self.run, images, nuisance, place == 0)


def _means(here: Results) -> str:
    def told(row: Row) -> str:
        said = f"{row['classifier']} ρ {sentences.told(row['rho'], row['interval'])}"
        if not here.labelled:
            return said
        return f"{said}, accuracy {sentences.told(row['accuracy_nuisance'], row['accuracy_nuisance_interval'])}"

    return f"Means over the {here.means[0]['mean_of']}: {'; '.join(map(told, here.means))}."


def _extra(row: Row, key: str, missing: str) -> Estimate:
    return Estimate(row[key], missing=missing)


def _pair(pair: Row, labelled: bool) -> Iterator[TableCell]:
    names = {"first": pair["first"], "second": pair["second"]}
    yield pair["nuisance"]
    yield f"{pair['first']} − {pair['second']}"
    yield estimate(pair, "rho_difference", "rho_interval")
    yield Verdict(names.get(pair["rho_better"]))
    if labelled:
        yield estimate(pair, "accuracy_nuisance_difference", "accuracy_nuisance_interval")
        yield Verdict(names.get(pair["accuracy_nuisance_better"]))


def _class_table(rows: Sequence[Row]) -> Table:
    by = {(row["classifier"], each["label"]): each for row in rows for each in row["classes"]}
    found: Iterable[tuple[str, str, Row]] = (
        (shown[1], row["classifier"], by[row["classifier"], shown[0]])
        for shown in shown_classes(rows)
        for row in rows
        if shown is not None and (row["classifier"], shown[0]) in by
    )
    return Table(
        ("class", "classifier", "images", "ρ", "simultaneous", "accuracy under the nuisance", "clean accuracy"),
        tuple(
            (
                name,
                ClassifierName(classifier),
                Count(each["images"]),
                bounded(each["rho"], each["interval"]),
                interval(each["interval_simultaneous"]) or "–",
                estimate(each, "accuracy_nuisance"),
                Estimate(each["accuracy_clean"]),
            )
            for name, classifier, each in found
        ),
        by=0,
    )
