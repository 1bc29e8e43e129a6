"""The command `explore`."""

from __future__ import annotations

import importlib.util
from dataclasses import MISSING, dataclass
from pathlib import Path

import typer

from brittle.cli.build import TypedArguments, add_command, parameters
from brittle.cli.output import warn
from brittle.commands import TABLES
from brittle.registry.options import option
from brittle.terminal import visible

NEEDED = ("starlette", "uvicorn")


@dataclass(frozen=True, kw_only=True)
class ExploreOptions:
    folder: str = option(MISSING, "a run folder", positional=True)
    port: int = option(0, "the port of the page's address; any that is free by default", least=0, most=65535)
    cases: str = option("cases.toml", "the file that named cases are saved in; `brittle check` reads it (docs/gate.md)")
    host: str = option(
        "127.0.0.1", "the address that is listened on; others than this machine's own can be reached from outside"
    )


def add_explore(app: typer.Typer) -> None:
    about = "Explore a run in the browser: drag θ and see the picture and what classifiers say of it change."
    add_command(app, "explore", about, parameters(ExploreOptions), _explore, panel=TABLES)


def _explore(given: TypedArguments) -> None:
    what = given.made(ExploreOptions)
    if missing := next((each for each in NEEDED if importlib.util.find_spec(each) is None), None):
        from brittle.errors import MissingPackage

        raise MissingPackage(missing, "explore", "the explorer")
    from brittle.explorer.serve import serve
    from brittle.report.page.loaded import code_named

    folder = Path(what.folder)
    if code := code_named(folder):
        warn([f"code that the study in {what.folder} names is run: {', '.join(code)}"])

    serve(folder, Path(what.cases), what.host, what.port, lambda text: print(visible(text), flush=True), lambda text: warn([text]))
