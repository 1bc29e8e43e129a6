"""The commands that carry out one measure each, made from the `COMMAND` of its options."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import typer

from brittle.cli.build import CommandParameter, TypedArguments, add_command, parameters
from brittle.cli.output import print_json, show, warn, warnings_printed
from brittle.cli.parameters import ComparisonOptions, DetailOptions, OutputOptions
from brittle.commands import Command, ExecutionOptions, SelectionOptions, SubjectOptions
from brittle.errors import BrittleError
from brittle.measures.commands import built_in
from brittle.registry.entry_points import entry_points
from brittle.registry.spec import parse_named

GROUP = "brittle.commands"


def add_measures(app: typer.Typer, taken: set[str]) -> None:
    """A command for every measure that has one; `taken` are the names of other commands."""
    for command in built_in():
        _add(app, command)
        taken |= {command.measure, *command.short}
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


def _loaded(entry: importlib.metadata.EntryPoint) -> Command:
    command = entry.load()
    if not isinstance(command, Command) or command.measure != entry.name:
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
    body = partial(_run_measure, command)
    add_command(
        app, command.measure, command.about, _parameters(command), body, panel=command.panel, short=command.short
    )


def _parameters(command: Command) -> list[CommandParameter]:
    count: dict[str, Any] = {"default": command.images}
    if command.images is not None:
        count["help"] = "how many images, drawn by the seed"
    return [
        *parameters(SubjectOptions, without=command.left_out),
        *parameters(command.options, without=[command.images_option or ""]),
        *(each for kind in command.reads.values() for each in parameters(kind, without=command.unread)),
        *parameters(ComparisonOptions, against={"help": command.against}),
        *parameters(SelectionOptions, count=count, out={"help": command.out}),
        *parameters(ExecutionOptions),
        *parameters(DetailOptions),
        *parameters(OutputOptions),
    ]


def _run_measure(command: Command, given: TypedArguments) -> None:
    subject, others = given.made(SubjectOptions), given.made(ComparisonOptions)
    asked = {
        **{key: value for kind, read in command.reads.items() for key, value in given.of(read, kind).items()},
        **given.of(command.options, command.measure),
        **vars(given.made(SelectionOptions)),
        **vars(given.made(ExecutionOptions)),
        "classifiers": _by_name([subject.classifier, *others.against]),
        "images": subject.images,
        "nuisances": list(subject.nuisances),
        "train": subject.train,
        "train_count": subject.train_count,
        "groups": dict(map(_pair, others.groups)),
        "progress": True,
    }
    from brittle.api.running import run_measure

    with warnings_printed():
        found = run_measure(command, asked)
    if given.made(OutputOptions).as_json:
        print_json(found)
    else:
        show(found, given.made(DetailOptions))


def _by_name(specs: Sequence[str]) -> dict[str, str]:
    """name → spec; two of one name would be one."""
    found: dict[str, str] = {}
    for name, spec in map(parse_named, specs):
        if name in found:
            raise BrittleError(f"the classifier {name!r} is given twice", f"Name one of them: other={name}.")
        found[name] = spec
    return found


def _pair(text: str) -> tuple[str, str]:
    name, equals, group = text.rpartition("=")
    if not equals:
        raise BrittleError(f"--group is {text!r}, which names no classifier", f"Write NAME={text}.")
    return name, group
