"""The sections of what generates: how many images of which shift, which sliders, which words."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from brittle.report.blocks import Block, Group, Sentence
from brittle.report.page.section import MeasureRun, Summary
from brittle.report.page.words import counted
from brittle.report.sections import register
from brittle.report.sections.base import BaseSection, remarks
from brittle.report.sections.tables import bare, count, table, text

PAPER = "Dünkel et al., CNS-Bench: Benchmarking image classifier robustness under continuous nuisance shifts, 2025."
SAYS_NOT = (
    "Generated images may no longer show the class that they were made for, more of them at higher scales: filter them "
    "before a classifier is judged by them."
)


class _Section(BaseSection, ABC):
    listed = "results"

    @abstractmethod
    def parts(self, summary: Summary) -> list[Block]: ...

    def brief(self, summary: Summary) -> Sequence[Block]:
        return [Group(self.title, tuple(self.parts(summary)))]

    def blocks(self, run: MeasureRun) -> Sequence[Block]:
        return [*self.parts(run.summary), *remarks(limits=(SAYS_NOT,), references=(PAPER,))]


@register("generate")
class GenerateSection(_Section):
    """What was generated, shift by shift."""

    title = "Generated images"

    def parts(self, summary: Summary) -> list[Block]:
        about = summary["settings"]
        megabytes = summary["bytes"] / 2**20
        said = f"{counted(summary['images'], 'image')} ({megabytes:,.1f} MB)"
        said += (
            "" if summary["folder"] is None else f" in {summary['folder']}; as an image set, cns:{summary['folder']}"
        )
        how = (
            f"{about['pipeline']}, {about['steps']} steps ({about['sampler']}), guidance {about['guidance']:g}; "
            f"sliders in the last {about['active']:.0%} of the steps."
        )
        shown = table(
            summary["results"],
            ("shift", text("shift")),
            ("images", count("images")),
            ("classes", count("classes")),
            ("seeds", count("seeds")),
            ("scales", count("scales")),
            noun="shift",
        )
        return [Sentence(f"{said}."), shown, Sentence(how, "note")]


@register("train-sliders")
class TrainSlidersSection(_Section):
    """Which sliders there are."""

    title = "Trained sliders"

    def parts(self, summary: Summary) -> list[Block]:
        where = "" if summary["folder"] is None else f" in {summary['folder']}"
        loss = ("loss of the last step", bare("loss", 6))
        shown = table(summary["results"], ("class", text("class")), ("shift", text("shift")), loss, noun="slider")
        return [Sentence(f"{counted(summary['sliders'], 'slider')}{where}."), shown]


@register("train-tokens")
class TrainTokensSection(_Section):
    """Which words there are."""

    title = "Learned words"

    def parts(self, summary: Summary) -> list[Block]:
        where = "" if summary["folder"] is None else f" in {summary['folder']}"
        loss = ("loss of the last step", bare("loss", 4))
        shown = table(summary["results"], ("class", text("class")), ("word", text("token")), loss, noun="word")
        return [Sentence(f"{counted(summary['tokens'], 'word')}{where}."), shown]
