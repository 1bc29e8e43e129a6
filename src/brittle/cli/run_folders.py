"""The commands `status`, `verify` and `merge`, which look after run folders."""

from __future__ import annotations

from dataclasses import MISSING, dataclass

import typer

from brittle.cli.build import TypedArguments, add_command, parameters
from brittle.cli.output import print_json, say, warn
from brittle.cli.parameters import OutputOptions
from brittle.commands import FOLDERS, DeviceOptions
from brittle.registry.options import option


@dataclass(frozen=True, kw_only=True)
class StatusOptions:
    folder: str = option(MISSING, "a run folder", positional=True)


@dataclass(frozen=True, kw_only=True)
class VerifyOptions(DeviceOptions):
    folder: str = option(MISSING, "a run folder", positional=True)
    units: int = option(20, "how many units are recomputed, of one classifier each", least=1)
    seed: int = option(0, "which units these are")
    batch: int | None = option(None, "images classified at once", least=1)


@dataclass(frozen=True, kw_only=True)
class MergeOptions:
    folder: str = option(MISSING, "a run folder", positional=True)
    others: tuple[str, ...] = option(MISSING, "further runs of the same study", positional=True)
    out: str = option(MISSING, "the new run folder")


def add_status(app: typer.Typer) -> None:
    about = "Tell how far a run is, also on another machine: units, rate, time left, failures."
    add_command(app, "status", about, [*parameters(StatusOptions), *parameters(OutputOptions)], _status, panel=FOLDERS)


def add_verify(app: typer.Typer) -> None:
    about = "Recompute a sample of a run's rows and compare: exit status 1 where they differ."
    add_command(app, "verify", about, [*parameters(VerifyOptions), *parameters(OutputOptions)], _verify, panel=FOLDERS)


def add_merge(app: typer.Typer) -> None:
    about = "Join runs of one study that were made on different machines into a new folder."
    add_command(app, "merge", about, [*parameters(MergeOptions), *parameters(OutputOptions)], _merge, panel=FOLDERS)


def _status(given: TypedArguments) -> None:
    from brittle.api import status

    found = status(given.made(StatusOptions).folder)
    _told(given, found.values(), str(found))


def _verify(given: TypedArguments) -> None:
    what = given.made(VerifyOptions)
    from brittle.api import verify
    from brittle.engine.store.run_folder import folder_path
    from brittle.report.page.loaded import code_named

    if code := code_named(folder_path(what.folder)):
        warn([f"code that the study in {what.folder} names may be run: {', '.join(code)}"])
    found = verify(what.folder, units=what.units, seed=what.seed, device=what.device, batch=what.batch, progress=True)
    _told(given, found.values(), str(found))
    if not found.same:
        raise typer.Exit(1)


def _merge(given: TypedArguments) -> None:
    what = given.made(MergeOptions)
    from brittle.api import merge

    found = merge(what.folder, *what.others, out=what.out)
    _told(given, found.values(), str(found))


def _told(given: TypedArguments, values: dict[str, object], text: str) -> None:
    if given.made(OutputOptions).as_json:
        print_json(values)
        return
    for line in text.splitlines():
        say(line)
