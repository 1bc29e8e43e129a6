"""The out-of-class filter and labels of generated images as blocks, for terminals, notebooks and Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from brittle.generation.filter.filter import FilterResult
from brittle.generation.filter.judged import JudgedFilter
from brittle.generation.labels.rule import VERDICTS
from brittle.generation.labels.summary import LabelSummary
from brittle.report.blocks import Block, Group, Sentence, Table
from brittle.report.blocks.text import Count, Estimate, TableCell
from brittle.report.page.words import counted
from brittle.statistics.estimate import Estimate as Computed


def filter_blocks(found: FilterResult) -> list[Block]:
    """How much stays, and how well the filter tells images apart."""
    paths, kept = (sum(getattr(each, name) for each in found.shifts) for name in ("paths", "kept"))
    parts: list[Block] = [
        Sentence(
            f"{found.images_gone:,} of {counted(found.images, 'image')} are taken for out of class. "
            f"{kept:,} of {counted(paths, 'path')} (a seed of a class under a shift) stay, as all of their scales do."
        ),
        Group("Paths that stay", (_shifts(found),)),
    ]
    if found.filters:
        parts += [
            Group(
                f"Judged on {counted(found.judged_on, 'labelled image')}, {found.out_of_class} of them out of class",
                (_rates(found.filters), *_about_labels(found)),
            )
        ]
    else:
        parts.append(Sentence("Thresholds are those of an earlier filter; nothing here judges them.", "note"))
    parts.append(Sentence(f"images that stay: {found.annotations}"))
    return parts


def _shifts(found: FilterResult) -> Table:
    rows = tuple((each.shift, Count(each.paths), Count(each.kept), Count(each.kept_by_text)) for each in found.shifts)
    return Table(("shift", "paths", "kept", "kept by text alone"), rows, noun="shift")


def _rates(filters: Sequence[JudgedFilter]) -> Table:
    rows = tuple(
        (
            each.name,
            _share(each.judged.true_positive),
            _share(each.judged.false_positive),
            _share(each.judged.accuracy),
            _share(each.chosen_on.true_positive),
            _share(each.chosen_on.false_positive),
        )
        for each in filters
    )
    titles = ("filter", "TPR", "FPR", "accuracy", "TPR, choosing", "FPR, choosing")
    return Table(titles, rows, chosen=len(rows) - 1, noun="filter")


def _about_labels(found: FilterResult) -> list[Block]:
    assert found.options is not None
    apart = "class and seed" if found.options.split == "seed" else "class"
    said = (
        f"Labels of {found.labels_of}. Thresholds were chosen on {found.chosen_on} other labelled images, so that each "
        f"removes at least {found.options.share:.0%} of those out of class (last two columns); no {apart} is on both "
        f"sides. {counted(found.partly, 'image')} called partly count neither way."
    )
    left = (
        "Of the labelled images that judge, this share is out of class before, and among those on paths that stay: ",
        _share(found.left_before),
        " and ",
        _share(found.left),
        ".",
    )
    return [Sentence(said, "note"), Sentence(left)]


def label_blocks(found: LabelSummary) -> list[Block]:
    """How many of each label, who agrees, and whether shifts are seen."""
    if not found.images:
        return [Sentence(f"Labels of {found.whose}: none yet.")]
    parts: list[Block] = [
        Sentence(
            (
                f"Labels of {found.whose}: {counted(found.images, 'image')}, {found.by_two} of them labelled at least "
                "twice. Out of class: ",
                _share(found.out_of_class),
                f" (standard error {found.standard_error:.1%}).",
            )
        ),
        Sentence(
            "That speaks of the whole benchmark only if the images were drawn from it at random (--count).", "note"
        ),
        Group("By scale", (_scales(found),)),
    ]
    if found.agreements:
        rows = tuple(
            (each.first, each.second, Count(each.images), _share(each.same), _number(each.kappa))
            for each in found.agreements
        )
        parts.append(
            Group("Agreement", (Table(("", "", "images", "same label", "κ of “not class”"), rows, noun="pair"),))
        )
    examples = tuple((each.name, Count(each.recognised, each.examples)) for each in found.examples if each.examples)
    if examples:
        parts.append(Group("Real examples labelled “class”", (Table(("", "examples"), examples, noun="person"),)))
    return parts


def _scales(found: LabelSummary) -> Table:
    rows: list[tuple[TableCell, ...]] = []
    for each in found.scales:
        counts = (Count(each.verdicts.get(name, 0)) for name in VERDICTS)
        rows.append((f"{each.scale:g}", *counts, _share(each.shift_visible)))
    return Table(("scale", *VERDICTS, "shift clearly visible"), tuple(rows), noun="scale")


def _share(value: Computed) -> Estimate:
    return _number(value, places=1, percent=True)


def _number(value: Computed, places: int = 2, percent: bool = False) -> Estimate:
    there = value.value == value.value
    low, high = value.interval or (None, None)
    return Estimate(value.value if there else None, low, high, places=places, format="percent" if percent else "fixed")
