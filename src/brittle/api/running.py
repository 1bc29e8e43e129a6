"""The one way in from Python: classifiers, images, nuisances and measures, or a study alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from brittle.api.asked import Choice, measure_entries, refuse_nothing, study_values, values_of
from brittle.api.shown import Shown, shown, unseen, warn
from brittle.commands import Command, ExecutionOptions
from brittle.engine.inputs import Inputs
from brittle.engine.open import open_inputs
from brittle.engine.run import run as carry_out
from brittle.errors import BrittleError
from brittle.measures.commands import built_in
from brittle.registry.options import checked
from brittle.results.run import Run
from brittle.study import Study

COMMANDS = {command.measure: command for command in built_in()}


def run(
    classifiers: Any,
    images: Any = None,
    nuisances: Any = None,
    measures: Any = "robustness",
    *,
    seed: int = 0,
    groups: Mapping[str, str] | None = None,
    attributes: Mapping[str, Mapping[str, Any]] | None = None,
    count: int | None = None,
    where: str | Sequence[str] = (),
    columns: str | Path | None = None,
    ids: str | Sequence[int] = (),
    train: Any = None,
    train_count: int | None = None,
    out: str | Path | None = None,
    device: str | None = None,
    batch: int | None = None,
    engine: Literal["local", "ray"] = "local",
    workers: int | None = None,
    time_limit: float | None = None,
    progress: Shown = None,
) -> Run:
    """Carries out measures of classifiers on images under nuisances; or a study alone, `brittle.run("study.toml")`.

    `classifiers` is a spec or an object, or several by name in a dictionary; `images` an image set, or several by name;
    `nuisances` one, a list, or a dictionary by name. `measures` are dataclasses such as `brittle.measures.Robustness`,
    specs such as "weak-points:count=20", several in a list, or by name in a dictionary.

    In place of these four there may be a study: a file, a `Study`, or a dictionary of what a study file holds, in which
    modules, functions, Datasets and the like may stand in place of specs; `seed` to `train_count` are then its own.

    `out` keeps rows and report in a folder; the same call again resumes or extends what is there. `found.of(measure)`
    is what one measure says. `help(brittle.robustness)` explains the other parameters.
    """
    if images is not None and holds_a_study(classifiers):
        raise BrittleError("a study holds its own images, nuisances and measures", "Name its folder: out='run'.")
    choice = Choice(count, where, columns, ids, train, train_count)
    if images is None:
        said = {"nuisances": nuisances, "groups": groups, "attributes": attributes, "seed": seed or None}
        said |= {"measures": None if measures == "robustness" else measures}
        said |= {key: value or None for key, value in vars(choice).items()}
        beside = next((key for key, value in said.items() if value is not None), None)
        if beside is not None:
            raise BrittleError(
                f"{beside} is given, and no images", "Give images too, or a study alone, which holds all."
            )
        inputs = open_inputs(classifiers)
    else:
        entries = measure_entries(measures)
        values = study_values(
            classifiers, images, nuisances, entries, choice, seed=seed, groups=groups, attributes=attributes
        )
        inputs = open_inputs(values)
    how = checked_execution(device=device, batch=batch, engine=engine, workers=workers, time_limit=time_limit)
    return _carried_out(inputs, out, how, progress, always_report=images is not None)


def run_measure(command: Command, given: Mapping[str, Any]) -> Any:
    """What a function per measure does with its arguments, by name."""
    how = checked_execution(**{key: given[key] for key in ExecutionOptions.__dataclass_fields__})
    inputs = open_inputs(values_of(command, given))
    found = _carried_out(inputs, given["out"], how, given["progress"], always_report=True)
    refuse_nothing(found.summary, command.measure)
    return found.of(command.measure)


def holds_a_study(what: Any) -> bool:
    """Whether it is a study rather than classifiers."""
    if isinstance(what, Mapping):
        return "classifiers" in what and "images" in what
    return isinstance(what, Study) or (isinstance(what, (str, Path)) and str(what).endswith(".toml"))


def checked_execution(**options: Any) -> ExecutionOptions:
    return ExecutionOptions(**checked(ExecutionOptions, {k: v for k, v in options.items() if v is not None}, "run"))


def _carried_out(
    inputs: Inputs, out: str | Path | None, how: ExecutionOptions, progress: Shown, *, always_report: bool
) -> Run:
    """The run, at its end. A folder also gets its report where some of its things are live, since only this process can
    make pictures of those."""
    with shown(progress) as seen:
        finished = carry_out(inputs, out, how, seen)
    if finished.folder is not None and (always_report or inputs.live):
        from brittle.report.html import report_of  # matplotlib, when there is a report to write

        report_of(finished)
    warn([*unseen(seen), *finished.summary["warnings"]])
    return Run(finished)
