"""The section of the measure `failure-points`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import pyarrow as pa
from markupsafe import Markup
from rich.console import RenderableType

from brittle.report.page.fewer import some_of
from brittle.report.page.pictures import EXACT_UP_TO, data_uri
from brittle.report.page.section import MeasureRun, Summary, compared
from brittle.report.page.words import counted, percent, sentence
from brittle.report.sections import register
from brittle.report.sections.failure_points import words
from brittle.report.sections.failure_points.console import mean_drop, printed
from brittle.report.sections.failure_points.figures import class_figure, curve_figure, histogram_figure
from brittle.report.sections.failure_points.pictures import films
from brittle.report.sections.flatten import arrow, flat
from brittle.report.sections.legacy import Finding, LegacySection, Remarks
from brittle.report.sections.references import CNS_BENCH_2025, HENDRYCKS_2019, WAUDBY_SMITH_2023

LEADS, ASIDE = 0.5, 0.35  # how much a finding matters
MOST_FINDINGS = 3
MOST_PARTS = 3  # nuisances in one sentence
MOST_PAIRS = 45  # past this many, differences are shown against the classifier that fails last
MOST_SEVERITIES = 21  # in a table
SIDE_BY_SIDE = 4  # classifiers in a histogram or a map of classes
A_SINK, MANY = 0.5, 20  # the share of failures that fall into one label, of at least so many, that is worth a sentence
DETAILS = ("severities", "classes")
LIMITS = (
    "A failure point belongs to one path on a grid of severities: between two of them an image may be wrong and right "
    "again unseen, and with another draw it fails elsewhere.",
    "The mean failure point is restricted to the last severity, and is of images that are right at 0: a classifier "
    "that gets only easy images right can have the higher mean. Read accuracy at each severity beside it.",
    "Severities of different nuisances are not the same amount of change: an average over nuisances depends on which "
    "were chosen.",
    "A strong change can destroy what the label names; then being wrong is no fault. Look at the pictures.",
)


@register("failure-points")
class FailurePointsSection(LegacySection):
    """Where predictions become wrong along severity, accuracy on the way, and what that looks like."""

    title = "Failure points"

    def console(self, summary: Summary) -> RenderableType:
        return printed(summary)

    def table(self, summary: Summary) -> pa.Table:
        """A row per classifier, image set, nuisance and severity."""
        rows = []
        for row in summary["results"]:
            about = {key: value for key, value in row.items() if key not in DETAILS}
            rows += [flat(about | {k: v for k, v in entry.items() if k != "falls"}) for entry in row["severities"]]
        return arrow(rows)

    def findings(self, run: MeasureRun) -> Sequence[Finding]:
        told: dict[tuple[str, str, str], list[str]] = {}
        units = {_cell(row): row for row in run.summary["results"]}
        for pair in run.summary["comparisons"]:
            names = {"first": (pair["first"], pair["second"]), "second": (pair["second"], pair["first"])}
            if pair["better"] in names:
                about = pair["image_set"], pair["first"], pair["second"]
                told.setdefault(about, []).append(_later(*names[pair["better"]], pair, units[_cell(pair)]))
        said = [
            Finding(sentence("; ".join(parts[:MOST_PARTS])), LEADS, compared(*about)) for about, parts in told.items()
        ]
        alone = [Finding(_alone(row), LEADS) for row in run.summary["results"][:2] if row["mean"] is not None]
        return [*(said[:MOST_FINDINGS] or alone), *_sinks(run)]

    def remarks(self, run: MeasureRun) -> Remarks:
        first = run.summary["results"][0]
        return Remarks(
            explanation="A failure point is the first severity at which a prediction is wrong. Intervals in brackets: "
            f"{percent(first['confidence'])}.",
            limits=LIMITS,
            citing=f"the severities ({words.grid(first)}; {first['unit']}), "
            f"{counted(first['repeats'], 'path')} per image",
            references=(CNS_BENCH_2025, HENDRYCKS_2019, WAUDBY_SMITH_2023),
        )

    def body(self, run: MeasureRun) -> Markup:
        groups = groupby(run.summary["results"], _cell)
        parts = [_part(run, place, list(rows)) for place, (_, rows) in enumerate(groups)]
        return self.rendered(
            "body.html.j2", run, parts=parts, words=words, uri=data_uri, mean_drop=mean_drop,
            first=run.summary["results"][0], pooled=_pooled(run.summary["pooled"]),
        )  # fmt: skip


def _cell(row: words.Row) -> tuple[str, str]:
    return row["image_set"], row["nuisance"]


def _later(later: str, sooner: str, pair: words.Row, row: words.Row) -> str:
    bounds = pair["interval"] if later == pair["first"] else [-pair["interval"][1], -pair["interval"][0]]
    return (
        f"under {pair['nuisance']} {later} fails later than {sooner}, by "
        f"{words.estimate(row, abs(pair['difference']), bounds)} ({row['unit']})"
    )


def _alone(row: words.Row) -> str:
    return (
        f"Under {row['nuisance']}, {row['classifier']} fails at {words.value(row, row['mean'])} on average "
        f"({row['unit']}; {words.mean_is(row)}), and {words.share(row['never'])} of the images never fail."
    )


def _sinks(run: MeasureRun) -> list[Finding]:
    """Where failures have one name (CNS-Bench, section 5.3: "comic book" under a cartoon style)."""
    found = []
    for row in run.summary["results"]:
        sink = words.sink(row)
        if sink is not None and sink.share >= A_SINK and sink.failures >= MANY:
            name = run.whole.label_names(row["classifier"], row["image_set"])(sink.label)
            text = (
                f"Under {row['nuisance']}, {words.share(sink.share)} of the {sink.failures} first failures of "
                f"{row['classifier']} fall into one label: {name}."
            )
            found.append((sink.share, Finding(text, ASIDE)))
    return [finding for _, finding in sorted(found, key=lambda each: -each[0])[:1]]


def _pooled(averages: Sequence[words.Row]) -> list[words.Row]:
    """The classifiers that lose least over all nuisances first."""
    return sorted(averages, key=lambda each: (each["image_set"], each["drop"] or 0.0))


def _thinned(entries: Sequence[words.Row]) -> list[words.Row]:
    """Of a fine grid some severities, with both ends."""
    wanted = min(len(entries), MOST_SEVERITIES)
    return [entries[place * (len(entries) - 1) // max(1, wanted - 1)] for place in range(wanted)]


def _part(run: MeasureRun, place: int, rows: list[words.Row]) -> dict[str, Any]:
    """Everything of one image set under one nuisance, ready for the template."""
    images, nuisance = _cell(rows[0])
    by = {row["classifier"]: row for row in rows}
    means = {name: row["mean"] or 0.0 for name, row in by.items()}
    some = [by[name] for name in some_of(list(by), means)]
    few = [by[name] for name in some_of(list(by), means, SIDE_BY_SIDE)]
    chosen = run.whole.chosen(images)
    pairs = [pair for pair in run.summary["comparisons"] if _cell(pair) == (images, nuisance)]
    best = max(means, key=lambda name: means[name])
    cut = len(pairs) > MOST_PAIRS
    return {
        "images": images,
        "nuisance": nuisance,
        "rows": rows,
        "some": some,
        "few": few,
        "pairs": [pair for pair in pairs if best in (pair["first"], pair["second"])] if cut else pairs,
        "cut": best if cut else "",
        "curves": curve_figure(run.anchor(f"c{place}"), some, run.looks),
        "histogram": histogram_figure(run.anchor(f"h{place}"), few, run.looks),
        "classes": class_figure(run.anchor(f"m{place}"), few) if len(rows[0]["classes"]) > 1 else None,
        "shown": films(run, images, nuisance, [row["classifier"] for row in few]),
        "small": chosen is not None and max(chosen.images.shape[1:]) <= EXACT_UP_TO,
        "looks": {row["classifier"]: run.looks[row["classifier"]] for row in some},
        "numbers": {row["classifier"]: _thinned(row["severities"]) for row in few},
        "names": {row["classifier"]: run.whole.label_names(row["classifier"], images) for row in few},
    }
