"""The command `explore`."""

from __future__ import annotations

import importlib.util
import shlex
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
NEEDED_BY_BUNDLES = ("onnx", "onnxscript")
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
    bundle: str | None = option(
        None, "in place of a server, write a static site into this folder, with classifiers that run in the browser"
    )
    runtime: str | None = option(
        None,
        "where --bundle finds onnxruntime-web: a folder, an archive of npm, npm to fetch it, or off for a site with "
        "nothing live; by default where npm has installed it",
    )
    count: int = option(48, "how many images of each image set --bundle takes along", least=1, most=2000)


def add_explore(app: typer.Typer) -> None:
    about = "Explore a run in the browser: drag θ, and see the picture and what classifiers say of it change."
    wanted = [*parameters(ExploreOptions), *parameters(OutputOptions)]
    add_command(app, "explore", about, wanted, _explore, panel=TABLES)


def _explore(given: TypedArguments) -> None:
    what, folder = given.made(ExploreOptions), Path(given.made(ExploreOptions).folder)
    if what.at is not None:
        _warn_of_code(folder)
        _answer(folder, what.at, given.made(OutputOptions).as_json)
    elif what.bundle is not None:
        _need(NEEDED_BY_BUNDLES)
        _warn_of_code(folder)
        _bundle(folder, Path(what.bundle), what.runtime, what.count)
    else:
        _need(NEEDED)
        _warn_of_code(folder)
        from brittle.explorer.serve import serve

        serve(folder, Path(what.cases), what.host, what.port, _say, lambda text: warn([text]))


def _need(packages: tuple[str, ...]) -> None:
    if missing := next((each for each in packages if importlib.util.find_spec(each) is None), None):
        from brittle.errors import MissingPackage

        raise MissingPackage(missing, "explore", "the explorer")


def _answer(folder: Path, at: str, as_json: bool) -> None:
    from brittle.explorer.evaluate import evaluate
    from brittle.explorer.opened import OpenedRun
    from brittle.explorer.queries import Query

    run = OpenedRun(folder)
    found = evaluate(run.session, Query.at(at))
    if as_json:
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


def _say(text: str) -> None:
    print(visible(text), flush=True)


def _bundle(folder: Path, to: Path, where: str | None, images: int) -> None:
    from brittle.explorer.bundle.runtime import find_runtime
    from brittle.explorer.bundle.site import check_folder, write_bundle
    from brittle.report.page.loaded import load

    check_folder(to)
    runtime = find_runtime(where)
    found = write_bundle(load(folder), to, runtime, images, _say)
    if found.pairs:
        _say(f"live: {found.live} of {found.pairs}, within {found.largest_difference:.1g} of Python in probability")
    _say(f"bundle: {found.folder} ({found.bytes / 1e6:.0f} MB); to look at it: {_serving(to)}")


def _serving(folder: Path) -> str:
    return f"python -m http.server --bind 127.0.0.1 --directory {shlex.quote(str(folder))}"
