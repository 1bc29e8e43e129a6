"""The sections of what generates: which images along which scales, which sliders, which words."""

from __future__ import annotations

import statistics
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from brittle.measures.training_losses import loss_curves
from brittle.report.blocks import Block, Group, Sentence, Table, Weighted
from brittle.report.blocks.text import TableCell
from brittle.report.blocks.wording import share
from brittle.report.page.section import MeasureRun, Row, Summary
from brittle.report.page.words import counted, percent
from brittle.report.sections import register
from brittle.report.sections.base import BaseSection, finding, remarks
from brittle.report.sections.generated.dial import MOST_CURVES, change_figure, dials, moved
from brittle.report.sections.generated.losses import loss_figure
from brittle.report.sections.references import CNS_BENCH_2025
from brittle.report.sections.tables import Titled, bare, count, table, text

TELLS = 0.3  # how much a finding matters
SHOWN = 40  # rows of a table on the console
SAYS_NOT = (
    "Generated images may no longer show the class that they were made for, more of them at higher scales: filter them "
    "before a classifier is judged by them.",
    "A change of pixels is not an amount of a shift: a picture that was moved changes much, and light snow little.",
)
LOSS_SAYS_NOT = (
    "A low loss says that noise is predicted as was asked, not what pictures come of it: generate some, and look at "
    "them. Losses of several classes or shifts are not to be compared: some targets are further away.",
)
LOSSES: tuple[Titled, ...] = (
    ("loss, first steps", bare("loss_first", 3, format="significant")),
    ("loss, last steps", bare("loss", 3, format="significant")),
)


class _Section(BaseSection, ABC):
    listed = "results"
    limits: Sequence[str] = ()

    @abstractmethod
    def parts(self, summary: Summary) -> list[Block]: ...

    @abstractmethod
    def shown(self, run: MeasureRun) -> list[Block]:
        """What only a page has room for."""

    def brief(self, summary: Summary) -> Sequence[Block]:
        return [Group(self.title, tuple(self.parts(summary)))]

    def blocks(self, run: MeasureRun) -> Sequence[Block]:
        return [
            *self.parts(run.summary),
            *self.shown(run),
            *remarks(limits=self.limits, references=(CNS_BENCH_2025,)),
        ]


@register("generate")
class GenerateSection(_Section):
    """What was generated, shift by shift."""

    title = "Generated images"
    per = "changes"
    limits = SAYS_NOT

    def parts(self, summary: Summary) -> list[Block]:
        about = summary["settings"]
        where = (
            "" if summary["folder"] is None else f" in {summary['folder']}; as an image set, cns:{summary['folder']}"
        )
        how = (
            f"{about['pipeline']}, {about['steps']} steps ({about['sampler']}), guidance {about['guidance']:g}; "
            f"sliders in the last {percent(about['active'])} of the steps."
        )
        return [Sentence(f"{_images(summary)}{where}."), _by_shift(summary), Sentence(how, "note")]

    def shown(self, run: MeasureRun) -> list[Block]:
        rows = _shifted(run.summary)
        shifts = [row["shift"] for row in rows]
        figures = [change_figure(rows, shifts[:MOST_CURVES])] if rows else []
        return [*figures, Group("Images along the scale", tuple(dials(run, shifts)))]

    def top(self, run: MeasureRun) -> Sequence[Weighted]:
        rows = _shifted(run.summary)
        if not rows:
            return [finding(f"{_images(run.summary)}.", TELLS)]
        rows = sorted(rows, key=_last_change)
        least, most = rows[0], rows[-1]
        scale = most["changes"][-1]["scale"]
        said = f"by {moved(most)} of their range under {most['shift']}"
        if len(rows) > 1:
            said = f"by {moved(least)} (under {least['shift']}) to {moved(most)} ({most['shift']}) of their range"
        return [finding(f"{_images(run.summary)}: at scale {scale:g} pixels have changed {said}.", TELLS)]


@register("train-sliders")
class TrainSlidersSection(_Section):
    """Which sliders there are, and how they were trained."""

    title = "Trained sliders"
    limits = LOSS_SAYS_NOT

    def parts(self, summary: Summary) -> list[Block]:
        about = summary["settings"]
        columns = (("class", text("class")), ("shift", text("shift")), *LOSSES)
        how = (
            f"{about['pipeline']}: target {about['target']}, η {about['eta']:g}, rank {about['rank']}, from “"
            f"{about['template']}” to “{about['shifted_template']}”; {_steps(about)}, noise on {about['pool']} images "
            "per class that the pipeline makes."
        )
        return [_written(summary, "slider"), _trained(summary, *columns, noun="slider"), Sentence(how, "note")]

    def shown(self, run: MeasureRun) -> list[Block]:
        return _losses(run, "sliders", lambda row: f"{row['class']} in {row['shift']}")

    def top(self, run: MeasureRun) -> Sequence[Weighted]:
        return [finding(_fell(run.summary, "slider"), TELLS)]


@register("train-tokens")
class TrainTokensSection(_Section):
    """Which words there are, and how they were learned."""

    title = "Learned words"
    limits = LOSS_SAYS_NOT

    def parts(self, summary: Summary) -> list[Block]:
        about = summary["settings"]
        columns = (("class", text("class")), ("word", text("token")), *LOSSES)
        how = (
            f"{about['pipeline']}: each word in “{about['template']}”, from at most {about['most']:,} images of its "
            f"class; {_steps(about)}."
        )
        return [_written(summary, "word"), _trained(summary, *columns, noun="word"), Sentence(how, "note")]

    def shown(self, run: MeasureRun) -> list[Block]:
        return _losses(run, "words", lambda row: str(row["class"]))

    def top(self, run: MeasureRun) -> Sequence[Weighted]:
        return [finding(_fell(run.summary, "word"), TELLS)]


def _images(summary: Summary) -> str:
    """How many of what there are."""
    every, shifts = summary["results"][0], len(_shifted(summary))
    said = f"{counted(summary['images'], 'image')} ({summary['bytes'] / 2**20:,.1f} MB) of "
    said += f"{counted(every['classes'], 'class')} by {counted(every['seeds'], 'seed')}"
    return said + (f" under {counted(shifts, 'shift')}" if shifts else "")


def _by_shift(summary: Summary) -> Table:
    shifted = _shifted(summary)
    last = max((row["changes"][-1]["scale"] for row in shifted), default=0.0)
    change: list[Titled] = [(f"change of pixels at scale {last:g}", _change)] if shifted else []
    counts = ((each, count(each)) for each in ("images", "classes", "seeds", "scales"))
    return table(summary["results"], ("shift", text("shift")), *counts, *change, noun="shift")


def _shifted(summary: Summary) -> list[Row]:
    """The results that are of a shift: all but those of scale 0."""
    return [row for row in summary["results"] if len(row["changes"]) > 1]


def _last_change(row: Row) -> float:
    return float(row["changes"][-1]["change"])


def _change(row: Row) -> TableCell:
    last = row["changes"][-1]
    return share(last, "change", places=1) if last["scale"] else None


def _written(summary: Summary, noun: str) -> Sentence:
    where = "" if summary["folder"] is None else f" in {summary['folder']}"
    return Sentence(f"{counted(len(summary['results']), noun)}{where}.")


def _fell(summary: Summary, noun: str) -> str:
    first, last = (statistics.median(row[key] for row in summary["results"]) for key in ("loss_first", "loss"))
    middle = "their median loss" if len(summary["results"]) > 1 else "its loss"
    return f"{counted(len(summary['results']), noun)}: {middle} went from {first:.3g} to {last:.3g}."


def _trained(summary: Summary, *columns: Titled, noun: str) -> Table:
    return table(summary["results"], *columns, noun=noun, shown=SHOWN)


def _steps(about: Row) -> str:
    return f"{about['training_steps']:,} steps of {about['batch']} images, rate {about['rate']:g}"


def _losses(run: MeasureRun, what: str, name: Callable[[Row], str]) -> list[Block]:
    """A figure for each image set, or for all where none is named."""
    view, shown = run.view, list[Block]()
    if view is None:
        return [Sentence("The run can't be read any more, so there are no losses of it.", "note")]
    for cell in view.cells():
        curves = loss_curves(view, cell)
        figure = loss_figure({name(row): curves[row["unit"]] for row in view.table(cell).to_pylist()}, what)
        shown.append(Group(f"Losses on {cell.images}", (figure,)) if run.many_sets else figure)
    return shown
