"""What a run says, on the console: every measure's section in turn, and as text, HTML and tables elsewhere."""

from __future__ import annotations

import io
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from rich.console import Console, RenderableType
from rich.text import Text

from brittle.errors import BrittleError
from brittle.measures.class_order import ORDER
from brittle.report.page.words import unreadable, warned
from brittle.report.renderers.console import line, printed
from brittle.report.sections import section_of
from brittle.terminal import visible, visible_values

WIDTH, SCREENFUL = 110, 50  # where the size of the reader's window is not known
LINES_AROUND = 6  # of a screen: the command, warnings, and where the rest is


def print_found(summary: Mapping[str, Any]) -> None:
    """What every measure of a run says, and which images were skipped. Warnings are the caller's to print."""
    console = console_of(sys.stdout)
    for each in _shown(summary):
        show(console, each)


def print_screenful(summary: Mapping[str, Any], findings: Sequence[str]) -> int:
    """The same where it fits a screen; otherwise the findings that do, or the first lines where there are none. Returns
    how many lines there would have been, or 0 where all are printed."""
    console = console_of(sys.stdout)
    height = (console.height if console.is_terminal else SCREENFUL) - LINES_AROUND
    lines = _recorded(_shown(summary), width=console.width).export_text().splitlines()
    needed = sum(max(1, -(-len(each) // console.width)) for each in lines)  # a terminal wraps what is too long
    if needed <= height:
        print_found(summary)
        return 0
    for each in _fitting(findings, height, console.width) or lines[:height]:
        show(console, line(visible(each)))
    return needed


def _fitting(findings: Sequence[str], height: int, width: int) -> list[str]:
    """The lines of as many findings as fit, and of the first in any case."""
    found: list[str] = []
    for each in findings:
        text = each.replace(" %", "\xa0%")
        lines = textwrap.wrap(text, width, initial_indent="- ", subsequent_indent="  ")
        if found and len(found) + len(lines) > height:
            break
        found += lines
    return found


def as_text(summary: Mapping[str, Any]) -> str:
    """The same as text, warnings at the end; but first, where classes seem to be matched in the wrong order."""
    return text_of(*_first(summary), *_shown(summary), *_warnings(summary))


def text_of(*shown: RenderableType) -> str:
    return _recorded(shown).export_text().rstrip()


def _recorded(shown: Iterable[RenderableType], width: int = WIDTH, **more: Any) -> Console:
    """A console that shows nothing and remembers all; in a notebook it would display what it is given, too."""
    plain: dict[str, Any] = {"highlight": False, "markup": False, "emoji": False}
    console = Console(file=io.StringIO(), width=width, record=True, force_jupyter=False, **plain, **more)
    for each in shown:
        show(console, each)
    return console


def one_table(summary: Mapping[str, Any], measure: str | None = None) -> pa.Table:
    """What one measure says as an Arrow table; its name may be left out where there is only one."""
    entry = summary["measures"][one_measure(summary, measure)]
    return section_of(entry["kind"]).table(entry)


def one_measure(summary: Mapping[str, Any], measure: str | None = None) -> str:
    """The name of a measure of a run, which may be left out where there is only one."""
    entries = summary["measures"]
    if measure is None and len(entries) > 1:
        raise BrittleError(f"the run holds several measures: {', '.join(entries)}", "Name one of them.")
    name = next(iter(entries)) if measure is None else measure
    if name not in entries:
        raise BrittleError(f"the run holds no measure called {name!r}", f"Known: {', '.join(entries)}.")
    return str(name)


def console_of(file: Any) -> Console:
    """A console on a stream: as wide as the terminal, or as a page where it is not one."""
    return Console(file=file, highlight=False, markup=False, emoji=False, width=None if file.isatty() else WIDTH)


def show(console: Console, what: RenderableType) -> None:
    """Tables fit the console; lines are left whole for the terminal to wrap."""
    console.print(what, crop=False, soft_wrap=isinstance(what, Text))


def _shown(summary: Mapping[str, Any]) -> Iterator[RenderableType]:
    summary = visible_values(dict(summary))
    entries = summary["measures"]
    kinds = [entry["kind"] for entry in entries.values()]
    for place, (name, entry) in enumerate(entries.items()):
        if place:
            yield line()
        if kinds.count(entry["kind"]) > 1:
            yield line((name, "bold underline"))
        yield from printed(section_of(entry["kind"]).brief(entry))
    for name, skipped in summary.get("skipped", {}).items():
        if skipped:
            yield line(f"{name}: {unreadable(len(skipped))} skipped, the first {skipped[0]}")


def _first(summary: Mapping[str, Any]) -> Iterator[RenderableType]:
    for text in warned([each["said"] for each in summary.get(ORDER, ())]):
        yield line((visible(text), "bold"))


def _warnings(summary: Mapping[str, Any]) -> Iterator[RenderableType]:
    first = {each["said"] for each in summary.get(ORDER, ())}
    for text in warned([text for text in summary.get("warnings", ()) if text not in first]):
        yield line((visible(text), "bold"))
