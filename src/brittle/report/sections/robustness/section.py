"""The section of the measure `robustness`."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence, Set
from typing import Any

import pyarrow as pa
from markupsafe import Markup
from rich.console import RenderableType

from brittle.report.page.pictures import EXACT_UP_TO, LONGEST
from brittle.report.page.section import MeasureRun, Summary
from brittle.report.page.words import percent, pixels
from brittle.report.sections import register
from brittle.report.sections.flatten import arrow, flat
from brittle.report.sections.legacy import Finding, LegacySection, Remarks
from brittle.report.sections.references import FAWZI_2016, HOWARD_2021, WAUDBY_SMITH_2023
from brittle.report.sections.robustness import sentences
from brittle.report.sections.robustness.console import printed
from brittle.report.sections.robustness.curves import Curve, curves
from brittle.report.sections.robustness.figures import class_figure, curve_figure, shown_classes
from brittle.report.sections.robustness.gallery import Galleries, galleries
from brittle.report.sections.robustness.results import Results

EXTRAS = {"nll": "NLL", "ece": "ECE", "top5": "top-5 accuracy"}


@register("robustness")
class RobustnessSection(LegacySection):
    """ρ and accuracy under the nuisance with their intervals, and pictures beside them."""

    title = "Robustness"

    def console(self, summary: Summary) -> RenderableType:
        return printed(Results(summary))

    def table(self, summary: Summary) -> pa.Table:
        """A row per result: per class the summary has more."""
        return arrow([_flat(row) for row in summary["results"]])

    def findings(self, run: MeasureRun) -> Sequence[Finding]:
        return sentences.findings(Results(run.summary), run.many_sets)

    def remarks(self, run: MeasureRun) -> Remarks:
        results = Results(run.summary)
        first = results.first
        which = "the right label" if results.labelled else "the reference label"
        return Remarks(
            explanation=f"ρ is the mean probability that a classifier gives {which} when nuisances are drawn from "
            f"their prior: 1 is best. Intervals in brackets: {percent(first['confidence'])}.",
            cautions=sentences.cautions(results),
            limits=sentences.limits(results),
            citing=f"the estimand ({first['estimand']}), the confidence ({percent(first['confidence'])})",
            references=(FAWZI_2016, HOWARD_2021 if first["estimand"] == "set" else WAUDBY_SMITH_2023),
        )

    def body(self, run: MeasureRun) -> Markup:
        results, pictures = Results(run.summary), self._galleries(run)
        first = results.first
        return self.rendered(
            "body.html.j2",
            run,
            results=results,
            first=first,
            percent=percent(first["confidence"]),
            extras={key: name for key, name in EXTRAS.items() if key in first},
            sets=[_image_set(run, results, name, pictures, place) for place, name in enumerate(results.image_sets)],
            pictures=pictures,
            longest=LONGEST,
        )

    def beside(self, run: MeasureRun, images: str, nuisance: str) -> Markup | None:
        """The prior's first draws and confident mistakes, with what the classifiers said."""
        gallery = self._galleries(run).by_cell.get((images, nuisance))
        if gallery is None:
            return None
        small = _small(run, images)
        return self.rendered("gallery.html.j2", run, gallery=gallery, small=small)

    def _galleries(self, run: MeasureRun) -> Galleries:
        return run.once("galleries", lambda: galleries(run))


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """The interval of ρ is called after it, as those of everything else are."""
    renamed = {"interval": "rho_interval", "interval_simultaneous": "rho_simultaneous_interval"}
    return flat({renamed.get(key, key): value for key, value in row.items() if key != "classes"})


def _small(run: MeasureRun, images: str) -> bool:
    """Whether pictures are shown pixel by pixel."""
    chosen = run.whole.chosen(images)
    return chosen is not None and max(chosen.images.shape[1:]) <= EXACT_UP_TO


def _image_set(run: MeasureRun, results: Results, name: str, pictures: Galleries, place: int) -> dict[str, Any]:
    """Everything of one image set, ready for the template."""
    here, chosen, shown = results.on(name), run.whole.chosen(name), frozenset(results.shown)
    fewer = len(here.shown) < len(here.classifiers)
    paired = [pair for nuisance in here.nuisances for pair in here.under(nuisance).against_best]
    return {
        "name": name,
        "results": here,
        "pairs": paired if fewer else here.pairs,
        "chosen": chosen,
        "pixels": "" if chosen is None else pixels(chosen.images.shapes),
        "small": _small(run, name),
        "ranks": {nuisance: sentences.ranks(here.under(nuisance)) for nuisance in here.nuisances},
        "curves": _curves(run, here, shown, _changes(pictures, name), run.anchor(f"s{place}")),
        "classes": _classes(run, here, shown, run.anchor(f"s{place}")),
    }


def _changes(pictures: Galleries, images: str) -> dict[str, float | None]:
    """How much each nuisance changes the pictures of an image set."""
    return {nuisance: gallery.change for (name, nuisance), gallery in pictures.by_cell.items() if name == images}


def _curves(
    run: MeasureRun, here: Results, shown: Set[str], changes: Mapping[str, float | None], key: str
) -> list[tuple[Curve, Markup]]:
    spaces = {name: run.whole.job.nuisances[name] for name in here.nuisances if name in run.whole.job.nuisances}
    rows = [row for row in here.rows if row["classifier"] in shown]
    return [
        (curve, curve_figure(f"{key}o{place}", curve, rows, run.looks, falling=_falling(curve, changes)))
        for place, curve in enumerate(curves(spaces))
    ]


def _falling(curve: Curve, change: Mapping[str, float | None]) -> bool | None:
    """Whether smaller values of the option change images more, judging by the pictures themselves; None if unclear."""
    changes = [change.get(name) for name in curve.points.values()]
    known = [each for each in changes if each is not None]
    if len(known) < len(changes) or len(set(known)) == 1:
        return None
    slope = statistics.correlation(range(len(known)), known)
    return slope < 0 if abs(slope) > 0.5 else None


def _classes(run: MeasureRun, here: Results, shown: Set[str], key: str) -> list[dict[str, Any]]:
    """A figure and its numbers per nuisance; none where images have no labels or all are of one class."""
    found = []
    for place, nuisance in enumerate(here.nuisances):
        rows = [row for row in here.under(nuisance).rows if row["classifier"] in shown]
        if all(len(row.get("classes", ())) > 1 for row in rows):
            classes = shown_classes(rows)
            found.append(
                {
                    "nuisance": nuisance,
                    "figure": class_figure(f"{key}c{place}", nuisance, rows, run.looks),
                    "shown": [each for each in classes if each is not None],
                    "cut": None in classes,
                    "total": len(rows[0]["classes"]),
                    "by": {(row["classifier"], each["label"]): each for row in rows for each in row["classes"]},
                }
            )
    return found
