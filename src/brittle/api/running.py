"""The one way in from Python and from the command line: things and measures, or a study, to a result."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from brittle.api.notices import progress_shown, unshown_notes, warn
from brittle.api.study_values import refuse_empty_result, values_for_command, values_of_run
from brittle.commands import Command, ExecutionOptions, SelectionOptions
from brittle.engine import run as engine
from brittle.engine.inputs import Inputs
from brittle.engine.open import open_inputs
from brittle.errors import BrittleError
from brittle.measures.commands import built_in
from brittle.registry.options import checked, options_of
from brittle.results import StudyResult
from brittle.study import Study

COMMANDS = {command.measure: command for command in built_in()}
DEFAULTS = {field.name: field.default for field in options_of(SelectionOptions).values()}  # of others None
HOW = frozenset({*ExecutionOptions.__dataclass_fields__, "out", "progress"})  # what goes with a study, too


def run_asked(given: Mapping[str, Any]) -> StudyResult:
    """What `brittle.run` does with its arguments, by name."""
    first = given["classifiers"]
    if given["images"] is None:
        _refuse_beside_study(given)
        return run_inputs(open_inputs(first), given, "run")
    if _is_study(first):
        raise BrittleError("a study holds its own images, nuisances and measures", "Name its folder: out='run'.")
    return run_inputs(open_inputs(values_of_run(given)), given, "run")


def run_measure(command: Command, given: Mapping[str, Any]) -> Any:
    """What a function or a command for one measure does with its arguments, by name."""
    found = run_inputs(open_inputs(values_for_command(command, given)), given, command.measure)
    refuse_empty_result(found.summary, command.measure)
    return found.of(command.measure)


def run_inputs(inputs: Inputs, given: Mapping[str, Any], where: str) -> StudyResult:
    """The run at its end; a folder gets its report, made from what was just computed."""
    said = {key: given[key] for key in ExecutionOptions.__dataclass_fields__ if given[key] is not None}
    how = ExecutionOptions(**checked(ExecutionOptions, said, where))
    with progress_shown(given["progress"]) as seen:
        done = engine.run(inputs, given["out"], how, seen)
    findings: Sequence[str] = ()
    if done.folder is not None:
        from brittle.report.html import report_of  # matplotlib, when there is a report to write

        findings = report_of(done).findings
    warn([*unshown_notes(seen), *done.summary["warnings"]])
    return StudyResult(done, findings)


def _refuse_beside_study(given: Mapping[str, Any]) -> None:
    """Where no images are given, only a study may be, and nothing of what it holds itself."""
    first = given["classifiers"]
    if not (_is_study(first) or (isinstance(first, Mapping) and "images" in first) or _is_file(first)):
        raise BrittleError(
            "no images are given", "Give them after the classifiers, or a study alone, such as 'study.toml'."
        )
    for key in given.keys() - HOW - {"classifiers"}:
        value, default = given[key], DEFAULTS.get(key)
        if value is not default and not (isinstance(value, (int, str, tuple)) and value == default):
            raise BrittleError(f"{key} is given, and no images", "Give images too, or a study alone, which holds all.")


def _is_study(what: Any) -> bool:
    if isinstance(what, Mapping):
        return ("classifiers" in what and "images" in what) or isinstance(what.get("measures"), Mapping)
    return isinstance(what, Study) or (isinstance(what, (str, Path)) and str(what).endswith(".toml"))


def _is_file(what: Any) -> bool:
    return isinstance(what, (str, Path)) and os.path.isfile(what)
