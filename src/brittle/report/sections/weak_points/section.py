"""The section of the measure `weak-points`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from brittle.report.blocks import Block, Group, Sentence, Table, Weighted
from brittle.report.blocks.text import Styled, Text
from brittle.report.page.choose_few import MOST_CLASSIFIERS, some_of
from brittle.report.page.section import MeasureRun, Row, Summary
from brittle.report.sections import register
from brittle.report.sections.base import BaseSection
from brittle.report.sections.flatten import arrow
from brittle.report.sections.references import FAWZI_2016, VEHTARI_2021, VEHTARI_2024
from brittle.report.sections.weak_points import sentences
from brittle.report.sections.weak_points.brief import overview, printed, share_of
from brittle.report.sections.weak_points.entry import entry_group

MOST_HEADLINES = 3  # per image set, on top of the report
LEADS = 0.5  # how much a headline matters
MOST_ENTRIES = 24  # in full: past these, entries of some classifiers


@register("weak-points")
class WeakPointsSection(BaseSection):
    """Where a classifier breaks, and what that looks like."""

    title = "Weak points"

    def brief(self, summary: Summary) -> Sequence[Block]:
        return list(printed(summary["entries"]))

    def table(self, summary: Summary) -> pa.Table:
        """A row per image."""
        names = ("classifier", "image_set", "nuisance")
        return arrow(
            [{key: entry[key] for key in names} | row for entry in summary["entries"] for row in entry["per_image"]]
        )

    def top(self, run: MeasureRun) -> Sequence[Weighted]:
        """Where weak points lead, for some of the entries of each image set."""
        said: dict[str, list[Weighted]] = {}
        for entry in run.summary["entries"]:
            images, text = entry["image_set"], sentences.headline(entry)
            text = f"On {images}: {text[0].lower()}{text[1:]}" if run.many_sets else text
            said.setdefault(images, []).append(Weighted(Sentence(text, "finding"), LEADS))
        return [each for headlines in said.values() for each in headlines[:MOST_HEADLINES]]

    def blocks(self, run: MeasureRun) -> Sequence[Block]:
        shown, label = with_pictures(run.summary["entries"]), _label_word(run)
        return [
            Sentence(_what(bool(shown[0]["failing"]), label)),
            _how(run, shown),
            *_left_out(run, shown),
            *(
                entry_group(run, entry, len(shown), unfolded=place == 0 or len(shown) == 2)
                for place, entry in enumerate(shown)
            ),
            *_others(run, shown),
            Sentence(
                "A weak point is a θ drawn from the nuisance’s prior given that the classifier does not give the "
                f"{label}. Shares are of all weak points that have another label.",
                "definition",
            ),
            *(Sentence(text, "limit") for text in sentences.LIMITS),
            *(Sentence(text, "reference") for text in (FAWZI_2016, VEHTARI_2021, VEHTARI_2024)),
        ]


def with_pictures(entries: Sequence[Row]) -> list[Row]:
    """The entries that are shown in full, in their order: all, or those of some classifiers by the mean share of the
    prior that is weak."""
    if len(entries) <= MOST_ENTRIES:
        return list(entries)
    doubt: dict[str, list[float]] = {}
    for entry in entries:
        doubt.setdefault(entry["classifier"], []).append(entry[share_of(entry)[1]] or 0.0)
    cells = len({(entry["image_set"], entry["nuisance"]) for entry in entries})
    means = {name: float(np.mean(values)) for name, values in doubt.items()}
    shown = some_of(list(doubt), means, max(1, min(MOST_CLASSIFIERS, MOST_ENTRIES // cells)))
    return [entry for entry in entries if entry["classifier"] in shown]


def _label_word(run: MeasureRun) -> str:
    chosen = (run.whole.chosen(entry["image_set"]) for entry in run.summary["entries"])
    labelled = all(each is None or bool((each.images.labels >= 0).all()) for each in chosen)
    return "label" if labelled else "reference label"


def _what(failing: bool, label: str) -> Text:
    what = (
        f"draws of θ, of equal weight, from p(θ | not ℓ, x), the prior weighted with the probability that the "
        f"classifier does not give the {label} ℓ (Fawzi & Frossard 2016, section 2.3). A transformation shows up more "
        f"often the more probable it is in the prior and the less the classifier believes in the {label} there."
    )
    if failing:
        what = (
            "draws of θ, of equal weight, from p(θ | the prediction is not ℓ, x): the prior, restricted to θ at which "
            f"the classifier gives another label than the {label} ℓ. A transformation shows up the more often the more "
            "probable it is in the prior."
        )
    return (
        f"Where a classifier breaks, and what that looks like: {what} ",
        Styled("A badge", "badge"),
        " marks images whose draws can’t be trusted: what they show did happen, but not in these proportions.",
    )


def _how(run: MeasureRun, shown: Sequence[Row]) -> Table:
    most: dict[str, int] = {}
    for entry in shown:
        most[entry["image_set"]] = max(entry["images"], most.get(entry["image_set"], 0))
    counts = "; ".join(f"{count} images{f' of {name}' * run.many_sets}" for name, count in most.items())
    sampler = shown[0]["sampler"]
    chosen = ": chosen for each image, as the diagnostics below tell" if sampler == "auto" else ""
    follows = "draws depend on the seed, the image’s id and the nuisance, and on the classifier’s answers"
    return Table(("", ""), (("sampled on", counts), ("sampler", f"{sampler}{chosen}; {follows}")), "pairs")


def _left_out(run: MeasureRun, shown: Sequence[Row]) -> Iterator[Sentence]:
    if len(shown) == len(run.summary["entries"]):
        return
    every, some = (len({entry["classifier"] for entry in rows}) for rows in (run.summary["entries"], shown))
    share = "share of wrong predictions" if shown[0]["failing"] else "1 − µ"
    yield Sentence(
        f"Of {every} classifiers {some} {'is' if some == 1 else 'are'} shown in full: the first of the study, and "
        f"those whose {share} is greatest and least on average. The others follow in a table at the end; image by "
        "image all are in summary.json.",
        "caution",
    )


def _others(run: MeasureRun, shown: Sequence[Row]) -> Iterator[Group]:
    if rest := [entry for entry in run.summary["entries"] if entry not in shown]:
        more = ("nuisance", *["image_set"] * run.many_sets)
        yield Group("The other classifiers", (overview(rest, *more),))
