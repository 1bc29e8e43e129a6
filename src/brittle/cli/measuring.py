"""The commands that carry out one measure each, made from the `COMMAND` of its options."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import pkgutil
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import typer

import brittle.measures
from brittle.cli.build import Given, Parameter, add_command, parameters
from brittle.cli.carry_out import first_entry, print_json, run_study, show, study_of, warn, write_report
from brittle.cli.parameters import Execution, Output, Selection, Shown, Subject
from brittle.commands import Command
from brittle.errors import BrittleError
from brittle.images.id_list import ids_of
from brittle.registry.entry_points import entry_points
from brittle.registry.spec import parse_named

GROUP = "brittle.commands"


def add_measures(app: typer.Typer, taken: set[str]) -> None:
    """A command for every measure that has one; `taken` are the names of other commands."""
    for command in built_in():
        _add(app, command)
        taken.add(command.name)
    for entry in entry_points(GROUP):
        package = entry.dist.name if entry.dist is not None else entry.module
        if entry.name in taken:
            warn([f"the command {entry.name!r} of the package {package!r} is left out: there is one of that name"])
            continue
        taken.add(entry.name)
        try:
            _add(app, _loaded(entry))
        except Exception as error:
            app.command(entry.name, help=f"Unusable: {error}")(_complaint(entry.name, package, error))


def built_in() -> Iterator[Command]:
    """`COMMAND` of every `brittle.measures.*.options`; the measures themselves are not imported."""
    for module in pkgutil.iter_modules(brittle.measures.__path__, "brittle.measures."):
        name = f"{module.name}.options"
        if module.ispkg and importlib.util.find_spec(name) is not None:
            command = getattr(importlib.import_module(name), "COMMAND", None)
            if command is not None:
                yield command


def _loaded(entry: importlib.metadata.EntryPoint) -> Command:
    command = entry.load()
    if not isinstance(command, Command) or command.name != entry.name:
        raise TypeError(f"{entry.value} is not a brittle.commands.Command named {entry.name!r}")
    return command


def _complaint(name: str, package: str, error: Exception) -> Callable[[], None]:
    def complain() -> None:
        raise BrittleError(
            f"the command {name!r} of the package {package!r} can't be loaded: {error}",
            "Fix or uninstall that package.",
        )

    return complain


def _add(app: typer.Typer, command: Command) -> None:
    add_command(app, command.name, command.about, _parameters(command), partial(_carried_out, command))


def _parameters(command: Command) -> list[Parameter]:
    count: dict[str, Any] = {"default": command.images}
    if command.images is not None:
        count["help"] = "how many images, drawn by the seed"
    return [
        *parameters(
            Subject,
            without=_without(command),
            count=count,
        ),
        *parameters(command.options, without=[command.images_option or ""]),
        *(each for kind in command.reads.values() for each in parameters(kind, without=command.unread)),
        *parameters(
            Selection,
            without=["against"] if command.against is None else [],
            against={"help": command.against or ""},
            out={"help": command.out},
        ),
        *parameters(Execution),
        *parameters(Shown),
        *parameters(Output),
    ]


def _without(command: Command) -> list[str]:
    """What of a subject the command does not ask for."""
    offered = {"nuisances": command.nuisance != "none", "train": command.train}
    return [name for name, there in offered.items() if not there]


def _refuse_without_nuisance(images: str) -> None:
    """Only an image set that comes in scales brings its own."""
    from brittle.images import in_scales

    if not in_scales(parse_named(images)[1]):
        raise BrittleError("no nuisance is given", "Add one: --nuisance affine:alpha=50, for example.")


def _carried_out(command: Command, given: Given) -> None:
    subject, selection, how = given.made(Subject), given.made(Selection), given.made(Execution)
    options = given.of(command.options, command.measure)
    if command.nuisance == "required" and not subject.nuisances:
        _refuse_without_nuisance(subject.images)
    # A number of images that nobody asked for does not cut short the ids that somebody did.
    ids = () if selection.ids is None else ids_of(selection.ids)
    count = None if ids and command.images is not None else subject.count
    if command.images_option is not None:
        options[command.images_option] = len(ids) or subject.count
    wanted = {kind: given.of(read, kind) for kind, read in command.reads.items()} | {command.measure: options}
    summary = run_study(study_of(subject, selection, count, ids, wanted), selection.out, how)
    report = None if selection.out is None else write_report(selection.out)
    if given.made(Output).as_json:
        print_json(first_entry(summary, command.measure))
        return
    show(summary | {"measures": {command.measure: summary["measures"][command.measure]}}, report, given.made(Shown))
