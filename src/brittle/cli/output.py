"""What commands print: results on standard output, and warnings, each once, on standard error."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from brittle.cli.parameters import DetailOptions
from brittle.terminal import visible

if TYPE_CHECKING:
    from brittle.engine.store.place import Place
    from brittle.results import ResultValues


@contextmanager
def warnings_printed() -> Iterator[None]:
    """What Python is warned of within is printed at the end, each text once."""
    from brittle.errors import BrittleWarning

    texts: dict[str, None] = {}
    show_others = warnings.showwarning

    def note(message: Warning | str, category: type[Warning], *where: Any) -> None:
        if issubclass(category, BrittleWarning):
            texts[str(message)] = None
        else:
            show_others(message, category, *where)

    with warnings.catch_warnings():
        warnings.simplefilter("always", BrittleWarning)
        warnings.showwarning = note  # type: ignore[assignment]
        yield
    warn(texts)


def show(found: ResultValues, shown: DetailOptions) -> None:
    """What a result says: all of it, or where a folder keeps it a screenful and where the rest is."""
    from brittle.report.console import print_found, print_screenful

    report = report_path(found)
    if report is None or shown.full:
        print_found(found.summary)
        lines = 0
    else:
        lines = print_screenful(found.summary, found.findings)
    if report is not None:
        print_report(report)
    if lines:
        say(f"tables: the same command with --full prints all {lines} lines")


def report_path(found: ResultValues) -> Place | None:
    """Where a folder keeps a result's report."""
    return None if found.run.folder is None else found.run.folder / "report.html"


def say(text: str, file: TextIO | None = None) -> None:
    """A line on standard output, or elsewhere."""
    print(visible(text), file=file)


def warn(texts: Iterable[str]) -> None:
    from brittle.report.page.words import warned

    for text in warned(list(texts)):
        say(text, file=sys.stderr)


def print_json(what: Mapping[str, Any]) -> None:
    from brittle.engine.store.checked_json import wide_as_text

    print(json.dumps(wide_as_text(what)))


def print_report(path: Path | Place) -> None:
    say(f"report: {path}")
