"""What commands call: the one place where the command line meets the rest of the house."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TextIO

from brittle.cli.parameters import Shown
from brittle.commands import ExecutionOptions
from brittle.terminal import visible

if TYPE_CHECKING:
    from brittle.engine.run import FinishedRun
    from brittle.report.html import WrittenReport


class Carried(NamedTuple):
    """A run at its end, and its report, where a folder keeps it."""

    run: FinishedRun
    report: WrittenReport | None


def carry_out(study: Any, out: str | None, how: ExecutionOptions) -> Carried:
    """Carries out a study, a study file or the values of one; a folder gets its report, made from what was just
    computed. Warnings go to standard error."""
    from brittle.engine.open import open_inputs
    from brittle.engine.run import run
    from brittle.errors import BrittleWarning
    from brittle.progress import Bar

    with printed_once():
        with Bar() as progress:
            finished = run(open_inputs(study), out, how, progress)
        for text in finished.summary["warnings"]:
            warnings.warn(text, BrittleWarning, stacklevel=1)
        if out is None:
            return Carried(finished, None)
        from brittle.report.html import report_of

        return Carried(finished, report_of(finished))


@contextmanager
def printed_once() -> Iterator[None]:
    """What Python is warned of within is printed as commands print warnings, each text once."""
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


def write_report(folder: str, *, load: bool = True) -> WrittenReport:
    from brittle.report.html import written_report as write

    return write(Path(folder), nothing_loaded=not load)


def write_report_as(folder: str, format: Literal["json", "markdown"], *, load: bool = True) -> Path:
    from brittle.report.html import write_as

    return write_as(Path(folder), format, nothing_loaded=not load)


def kept_report(folder: str) -> Path | None:
    """The report of a run of live objects, which must not be lost."""
    from brittle.report.html import kept_report as kept

    return kept(Path(folder))


def code_named(folder: str) -> list[str]:
    """What a report of the run in a folder would run."""
    from brittle.report.page.loaded import code_named as named

    return named(Path(folder))


def show(summary: dict[str, Any], report: WrittenReport | None, shown: Shown) -> None:
    """What every measure of a run says: all of it, or where a folder keeps it a screenful and where the rest is."""
    from brittle.report.console import print_found, print_screenful

    if report is None or shown.full:
        print_found(summary)
        lines = 0
    else:
        lines = print_screenful(summary, report.findings)
    if report is not None:
        print_report(report.path)
    if lines:
        say(f"tables: the same command with --full prints all {lines} lines")


def say(text: str, file: TextIO | None = None) -> None:
    """A line on standard output, or elsewhere."""
    print(visible(text), file=file)


def warn(warnings: Iterable[str]) -> None:
    from brittle.report.page.words import warned

    for text in warned(list(warnings)):
        say(text, file=sys.stderr)


def print_json(what: Mapping[str, Any]) -> None:
    from brittle.engine.kept_json import without_wide

    print(json.dumps(without_wide(what)))


def print_report(path: Path) -> None:
    say(f"report: {path}")
