"""The command `check`, the gate: exit status 3 where robustness fell, and 4 where it can't be told yet."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import typer

from brittle.cli.build import TypedArguments, add_command, parameters
from brittle.cli.output import print_json, say, warn, warnings_printed
from brittle.cli.parameters import OutputOptions
from brittle.cli.specs import check_study
from brittle.commands import TABLES, ExecutionOptions
from brittle.files import write_durably
from brittle.gate.options import GateInputs, GateOptions, GateOutputs


def add_check(app: typer.Typer) -> None:
    about = "Carry out a study and judge it: beside an earlier run, by conditions and by named cases."
    kinds = (GateInputs, GateOptions, GateOutputs, ExecutionOptions, OutputOptions)
    add_command(app, "check", about, [each for kind in kinds for each in parameters(kind)], _check, panel=TABLES)


def _check(given: TypedArguments) -> None:
    what, to = given.made(GateInputs), given.made(GateOutputs)
    as_json = given.made(OutputOptions).as_json
    if what.study.endswith(".toml"):
        check_study(what.study)
    from brittle.api.check import checked_study, is_run
    from brittle.gate.annotations import annotations_of, wanted
    from brittle.report.page.loaded import code_named

    if is_run(Path(what.study)) and (code := code_named(Path(what.study))):
        warn([f"code that the study in {what.study} names may be run: {', '.join(code)}"])
    with warnings_printed():
        how = vars(given.made(ExecutionOptions))
        verdict = checked_study(what.study, given.made(GateOptions), what.out, True, how)
    if to.junit is not None:
        _write(Path(to.junit), verdict.junit())
    if to.markdown is not None:
        _write(Path(to.markdown), verdict.markdown())
    if as_json:
        print_json(verdict.values)
    else:
        for line in str(verdict).splitlines():
            say(line)
    if wanted(to.annotations):
        for line in annotations_of(verdict):
            say(line, file=sys.stderr if as_json else None)
        if page := os.environ.get("GITHUB_STEP_SUMMARY"):
            with open(page, "a", encoding="utf-8") as file:
                file.write(verdict.markdown())
    raise typer.Exit(verdict.exit_status)


def _write(path: Path, text: str) -> None:
    write_durably(path, lambda to: to.write_text(text, encoding="utf-8"))
