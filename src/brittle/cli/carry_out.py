"""What commands call: the one place where the command line meets the rest of the house."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TextIO

from brittle.cli.parameters import Execution, Selection, Shown, Subject
from brittle.terminal import visible

if TYPE_CHECKING:
    from brittle.report.html import WrittenReport


def study_of(
    subject: Subject,
    selection: Selection,
    count: int | None,
    ids: tuple[int, ...],
    wanted: dict[str, dict[str, Any]],
) -> Any:
    """The study behind a command that carries out one measure, and those that it is derived from."""
    from brittle.api import study_of as make

    return make(
        [subject.classifier, *selection.against],
        subject.images,
        subject.nuisances,
        count=count,
        where=selection.where,
        ids=ids,
        columns=selection.columns or "",
        seed=selection.seed,
        wanted=wanted,
        trained_on=subject.train,
        train_count=subject.count,
    )


def run_study(study: Any, out: str | None, how: Execution) -> dict[str, Any]:
    """The summary of a study or of a study file, carried out; warnings go to standard error."""
    from brittle.api import run
    from brittle.progress import Bar

    with printed_once(), Bar() as progress:
        summary: dict[str, Any] = run(
            study,
            out,
            device=how.device,
            batch=how.batch,
            engine=how.engine,
            workers=how.workers,
            time_limit=how.time_limit,
            progress=progress,
        )
    return summary


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


def first_entry(summary: Mapping[str, Any], measure: str) -> dict[str, Any]:
    """What `--json` prints of a run of one measure: its first result, with the others and all else beside it."""
    entry = summary["measures"][measure]
    rows = next((key for key in ("results", "entries") if key in entry), None)
    said = {key: value for key, value in entry.items() if key not in (rows, "kind")}
    said |= {key: summary[key] for key in ("warnings", "skipped") if key in summary}
    if rows is None:
        return said
    first: dict[str, Any]
    first, *others = entry[rows]
    return first | {"others": others} | said


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
