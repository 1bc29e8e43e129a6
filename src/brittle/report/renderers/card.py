"""A report in short, as Markdown for a model card: the verdict, one table, three pictures, and the cautions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from brittle.report.blocks import Sentence, Table
from brittle.report.blocks.matrix import Matrix
from brittle.report.blocks.wording import plain
from brittle.report.page.first_screen import FirstScreen
from brittle.report.page.loaded import LoadedRun
from brittle.report.page.words import counted
from brittle.report.renderers.data import as_table
from brittle.report.renderers.markdown import as_markdown, escaped

ROWS = 100  # of the table


def as_card(title: str, first: FirstScreen, pictures: Sequence[str], cautions: Sequence[str], run: LoadedRun) -> str:
    """`pictures` are the names of the files with the failures' pictures."""
    return "\n\n".join(filter(None, _parts(title, first, pictures, cautions, run)))


def _parts(
    title: str, first: FirstScreen, pictures: Sequence[str], cautions: Sequence[str], run: LoadedRun
) -> Iterator[str]:
    shown = first.shown
    yield f"# {escaped(title)}"
    if first.verdict:
        yield f"**{escaped(plain(first.verdict))}**"
    if shown is not None:
        table = as_table(shown) if isinstance(shown, Matrix) else shown
        yield as_markdown([Table(table.columns, table.rows, shown=ROWS, noun=table.noun)])
        if isinstance(shown, Matrix):
            yield as_markdown([Sentence(_how_to_read(shown))])
    else:
        yield as_markdown(first.instead)
    if pictures:
        yield "## What failing looks like"
        yield "Chosen among confident mistakes for how little the images were changed: how it fails, not how often."
    for name, strip in zip(pictures, first.failures, strict=True):
        yield f"![{escaped(strip.cards[-1].alt)}]({name})\n\n{escaped(plain(strip.text))}"
    if cautions:
        yield "## Cautions"
        yield "\n".join(f"- {escaped(text)}" for text in cautions)
    version = run.environment.get("packages", {}).get("brittle", "unknown")
    images = sum(each["images"] for each in run.summary["image_sets"].values())
    yield escaped(
        f"Measured with Brittle {version} on {counted(images, 'image')}; sha256 of study.toml: {run.study_hash}. "
        "report.html in the run folder has all findings, and what these numbers do not say."
    )


def _how_to_read(matrix: Matrix) -> str:
    """What stands in a cell; the drawing of the page is not there."""
    said = f"In each cell {' and '.join(matrix.numbers)}, with intervals that each hold on their own."
    ticks = [square.tick for row in matrix.squares for square in row if square is not None and square.tick is not None]
    if matrix.tick and ticks:
        low, high = min(ticks), max(ticks)
        said += f" {matrix.tick[:1].upper()}{matrix.tick[1:]}: {low:.3f}{f' to {high:.3f}' if high > low else ''}."
    return said


def picture_names(path: Path, first: FirstScreen) -> list[str]:
    """What the pictures beside a card are called: report-1.png, report-2.png, report-3.png."""
    return [f"{path.stem}-{place}.png" for place in range(1, len(first.failures) + 1)]
