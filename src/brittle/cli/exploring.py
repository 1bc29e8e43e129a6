"""The command `explore`."""

from __future__ import annotations

import importlib.util
from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import Any

import typer

from brittle.cli.build import TypedArguments, add_command, parameters
from brittle.cli.output import print_json, say, warn
from brittle.cli.parameters import OutputOptions
from brittle.commands import TABLES
from brittle.registry.options import option
from brittle.terminal import visible

NEEDED = ("starlette", "uvicorn")
SHOWN = 5  # classes of an answer


@dataclass(frozen=True, kw_only=True)
class ExploreOptions:
    folder: str = option(MISSING, "a run folder", positional=True)
    at: str | None = option(
        None, "print what classifiers say of what the page shows there, and end: its address, or what follows its #"
    )
    cases: str = option("cases.toml", "the file that named cases are saved in (docs/gate.md)")
    port: int = option(0, "the port of the page's address; any that is free by default", least=0, most=65535)
    host: str = option(
        "127.0.0.1", "the address that is listened on; others than this machine's own can be reached from outside"
    )


def add_explore(app: typer.Typer) -> None:
    about = "Explore a run in the browser: drag θ, and see the picture and what classifiers say of it change."
    wanted = [*parameters(ExploreOptions), *parameters(OutputOptions)]
    add_command(app, "explore", about, wanted, _explore, panel=TABLES)


def _explore(given: TypedArguments) -> None:
    what = given.made(ExploreOptions)
    folder = Path(what.folder)
    if what.at is None:
        if missing := next((each for each in NEEDED if importlib.util.find_spec(each) is None), None):
            from brittle.errors import MissingPackage

            raise MissingPackage(missing, "explore", "the explorer")
        _warn_of_code(folder)
        from brittle.explorer.serve import serve

        serve(
            folder,
            Path(what.cases),
            what.host,
            what.port,
            lambda text: print(visible(text), flush=True),
            lambda text: warn([text]),
        )
        return
    _warn_of_code(folder)
    from brittle.explorer.evaluate import evaluate
    from brittle.explorer.opened import OpenedRun
    from brittle.explorer.queries import Query

    run = OpenedRun(folder)
    found = evaluate(run.session, Query.at(what.at))
    if given.made(OutputOptions).as_json:
        print_json({key: value for key, value in found.items() if key != "pictures"})
    else:
        _print_answers(found, {each["name"]: each["classes"] for each in run.described()["classifiers"]})


def _print_answers(found: dict[str, Any], classes: dict[str, list[str]]) -> None:
    for name, answer in found["answers"].items():
        label = answer["label"]
        say(f"{name}:" if label < 0 else f"{name} (the label is {classes[name][label]}):")
        for place, probability in answer["top"][:SHOWN]:
            say(f"  {probability:.6f}  {classes[name][place]}")


def _warn_of_code(folder: Path) -> None:
    from brittle.report.page.loaded import code_named

    if code := code_named(folder):
        warn([f"code that the study in {folder} names is run: {', '.join(code)}"])
