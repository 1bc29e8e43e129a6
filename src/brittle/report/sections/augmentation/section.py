"""The section of the measure `augmentation`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
from markupsafe import Markup
from rich.console import Group, RenderableType

from brittle.report.page.section import MeasureRun, Summary
from brittle.report.page.words import counted, estimate, number, percent
from brittle.report.sections import register
from brittle.report.sections.augmentation import words
from brittle.report.sections.augmentation.figures import scatter
from brittle.report.sections.augmentation.pictures import strips
from brittle.report.sections.flatten import arrow, flat
from brittle.report.sections.legacy import EVERYTHING, Finding, LegacySection, Remarks, line, plain_table
from brittle.report.sections.references import GONTIJO_LOPES_2020, MARCU_2022, WAUDBY_SMITH_2023

LEADS = 0.3
MOST_PRINTED = 40
MOST_FINDINGS = 2
LIMITS = (
    "Affinity says how far augmented images are from what the reference classifier knows, not whether training with "
    "them helps: neither high affinity nor high diversity is desirable in itself (Marcu & Prügel-Bennett 2022, "
    "section 4).",
    "Diversity is the loss of one training at its end: it depends on network, schedule and number of epochs, and is "
    "compared only between trainings that share them.",
)


@register("augmentation")
class AugmentationSection(LegacySection):
    """How much accuracy is lost on augmented images, beside the loss of training with them."""

    title = "Augmentations"

    def console(self, summary: Summary) -> RenderableType:
        return Group(*_printed(summary))

    def table(self, summary: Summary) -> pa.Table:
        """A row per reference classifier, image set and augmentation."""
        return arrow([flat(row) for row in summary["results"]])

    def findings(self, run: MeasureRun) -> Sequence[Finding]:
        rows = sorted(run.summary["results"], key=lambda row: row["affinity"])[:MOST_FINDINGS]
        return [
            Finding(
                f"On images augmented by {row['augmentation']}, {row['classifier']} has an affinity of "
                f"{words.points(row['affinity'], row['affinity_interval'])} points.",
                LEADS,
            )
            for row in rows
        ]

    def remarks(self, run: MeasureRun) -> Remarks:
        return Remarks(
            explanation="Affinity: accuracy on augmented images minus accuracy on clean ones, in points.",
            limits=LIMITS,
            citing=f"the draws per image ({run.summary['results'][0]['samples']})",
            references=(GONTIJO_LOPES_2020, MARCU_2022, WAUDBY_SMITH_2023),
        )

    def body(self, run: MeasureRun) -> Markup:
        first, lines = run.summary["results"][0], words.lines(run.summary)
        told = [each for each in lines if each.diversity.mean is not None]
        return self.rendered(
            "body.html.j2",
            run,
            rows=run.summary["results"],
            lines=lines,
            words=words,
            figure=scatter(run.anchor("scatter"), told) if told else None,
            strips=[strips(run, name) for name in dict.fromkeys(row["image_set"] for row in run.summary["results"])],
            percent=percent(first["confidence"]),
            several=len({each.group for each in lines}) > 1,
        )


def _printed(summary: Summary) -> Iterator[RenderableType]:
    yield line(("Affinity", "bold"), ": accuracy on augmented images minus accuracy on clean ones, in points")
    rows = summary["results"]
    table = plain_table("", "augmentation", "affinity", "accuracy", "clean", folds=2)
    for row in rows[:MOST_PRINTED]:
        table.add_row(
            row["classifier"],
            row["augmentation"],
            words.points(row["affinity"], row["affinity_interval"]),
            estimate(row["accuracy_augmented"], row["accuracy_augmented_interval"]),
            number(row["accuracy_clean"]),
        )
    yield table
    if len(rows) > MOST_PRINTED:
        yield line(f"  … and {len(rows) - MOST_PRINTED} more ({EVERYTHING})")
    for each in words.lines(summary)[:MOST_PRINTED]:
        parts = [f"affinity {each.affinity.told()} over {each.affinity.runs} runs"] if each.affinity.runs > 1 else []
        if each.diversity.mean is not None:
            parts.append(f"diversity {each.diversity.told()}")
        if each.mix_diversity.mean is not None:
            parts.append(f"mixed {each.mix_diversity.told()}")
        if parts:
            yield line(f"  {each.augmentation}, {each.group}: {', '.join(parts)}")
    first = rows[0]
    mixed = next((row for row in rows if row["pairs"] is not None), None)
    how = f"; mixes: over {counted(mixed['pairs'], 'disjoint pair')}, the majority’s label" if mixed is not None else ""
    yield line(f"{percent(first['confidence'])} intervals over images{how}; seed {first['seed']}.")
