"""The results of what generates, trains, filters and labels, which print as on the command line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from brittle.generation.filter.filter import FilterResult
from brittle.generation.labels.summary import LabelSummary
from brittle.report.blocks import Block
from brittle.report.console import text_of
from brittle.report.generated_images import filter_blocks, label_blocks
from brittle.report.renderers.console import printed
from brittle.report.renderers.markdown import as_markdown
from brittle.results.base import Result


class GenerateResult(Result, kind="generate"):
    """A generated benchmark: its `folder`, `images`, `settings`, and a result per shift."""

    @property
    def spec(self) -> str:
        """What names it as an image set in scales."""
        return f"cns:{self['folder']}"


class TrainSlidersResult(Result, kind="train-sliders"):
    """Trained sliders: their `folder`, and a result for each class and shift."""


class TrainTokensResult(Result, kind="train-tokens"):
    """Learned words: their `folder`, and a result for each class."""


@dataclass(frozen=True, repr=False)
class FilteredBenchmark(FilterResult):
    """What a filter kept: `annotations` is the file that `cns:FOLDER,annotations=…` reads, `values` are plain."""

    def __repr__(self) -> str:
        return _as_text(filter_blocks(self))

    def _repr_html_(self) -> str:
        return _as_html(filter_blocks(self))

    def markdown(self) -> str:
        return as_markdown(filter_blocks(self), 3) + "\n"


@dataclass(frozen=True, repr=False)
class LabelledBenchmark(LabelSummary):
    """What labels say; `values` are plain."""

    def __repr__(self) -> str:
        return _as_text(label_blocks(self))

    def _repr_html_(self) -> str:
        return _as_html(label_blocks(self))

    def markdown(self) -> str:
        return as_markdown(label_blocks(self), 3) + "\n"


def _as_text(blocks: Sequence[Block]) -> str:
    return text_of(*printed(blocks))


def _as_html(blocks: Sequence[Block]) -> str:
    from brittle.report.renderers.plain_html import as_plain_html  # matplotlib, which nothing here draws with

    return str(as_plain_html(list(blocks)))
