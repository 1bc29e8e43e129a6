"""The commands `demo`, `run`, `report` and `list`."""

from __future__ import annotations

from dataclasses import MISSING, dataclass
from importlib import resources
from typing import Literal

import typer

from brittle.cli.build import TypedArguments, add_command, parameters
from brittle.cli.output import print_json, print_report, report_path, say, show, warn, warnings_printed
from brittle.cli.parameters import DetailOptions, OutputOptions
from brittle.cli.specs import check_study
from brittle.commands import START, TABLES, ExecutionOptions
from brittle.errors import BrittleError
from brittle.registry.options import option


@dataclass(frozen=True, kw_only=True)
class DemoOptions:
    out: str = option("demo", "where the run folder and its report go")


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    study: str = option(MISSING, "a study file (TOML)", positional=True)
    out: str = option(MISSING, "the run folder; an existing one is resumed")


@dataclass(frozen=True, kw_only=True)
class ReportOptions:
    folder: str = option(MISSING, "a run folder", positional=True)
    others: tuple[str, ...] = option((), "further runs, each compared with the first, pair by pair", positional=True)
    out: str | None = option(None, "the file that several runs are compared in; comparison.html by default")
    pair: tuple[str, ...] = option((), "NEW=OLD: classifiers that have other names in the first run; may be repeated")
    load: bool = option(
        True,
        "load what the study names, which runs code that it names (docs/trust.md); without, there are no pictures",
    )
    format: Literal["html", "json", "markdown", "csv"] = option(
        "html",
        "what is written: html; json, the blocks that the page is made of, as data; markdown, a short card with three "
        "pictures beside it; or csv, the numbers of the first screen",
    )


@dataclass(frozen=True, kw_only=True)
class ListingOptions:
    what: str = option(
        "",
        "classifiers, images, nuisances, suites, measures, samplers, networks or mixes, or one kind, such as affine; "
        "the names of all by default",
        positional=True,
    )


@dataclass(frozen=True, kw_only=True)
class ExportOptions:
    folder: str = option(MISSING, "a run folder", positional=True)
    format: Literal["csv", "parquet", "markdown"] = option(
        "csv", "what is written: csv, parquet, or markdown, which leaves out the rows"
    )
    out: str | None = option(None, "the folder for the files; export in the run folder by default")


@dataclass(frozen=True, kw_only=True)
class AgreementOptions:
    folder: str = option(MISSING, "a run folder", positional=True)
    out: str = option(MISSING, "the file, .csv or .parquet, for --columns or columns = … in a study")
    group: str | None = option(None, "only classifiers of this group")
    images: str | None = option(None, "the image set, where the run has several")


def add_export(app: typer.Typer) -> None:
    about = "Write what a run says, and its rows with names and θ, as CSV, Parquet or Markdown."
    add_command(app, "export", about, [*parameters(ExportOptions), *parameters(OutputOptions)], _export, panel=TABLES)


def _export(given: TypedArguments) -> None:
    what = given.made(ExportOptions)
    from brittle.api import export

    files = export(what.folder, what.out, format=what.format)
    if given.made(OutputOptions).as_json:
        print_json({"files": [str(file) for file in files]})
        return
    for file in files:
        say(str(file))


def add_agreement(app: typer.Typer) -> None:
    about = "Write a column of how many classifiers of a run get each image right, to choose images by."
    add_command(
        app, "agreement", about, [*parameters(AgreementOptions), *parameters(OutputOptions)], _agreement, panel=TABLES
    )


def _agreement(given: TypedArguments) -> None:
    what = given.made(AgreementOptions)
    from brittle.api import agreement

    found = agreement(what.folder, what.out, group=what.group, images=what.images)
    right = found["right"].to_numpy()
    told = {
        "file": what.out,
        "images": len(right),
        "classifiers": found["classifiers"][0].as_py(),
        "right_by_all": int((right == 1).sum()),
        "right_by_none": int((right == 0).sum()),
    }
    if given.made(OutputOptions).as_json:
        print_json(told)
        return
    say(
        f"{told['images']} images, {told['classifiers']} classifiers: {told['right_by_all']} right by all, "
        f"{told['right_by_none']} by none"
    )
    say(f"columns: {what.out} (id, right, agree, classifiers)")


def add_demo(app: typer.Typer) -> None:
    about = "Measure two bundled classifiers on bundled images, and write a report."
    add_command(
        app,
        "demo",
        about,
        [*parameters(DemoOptions), *parameters(ExecutionOptions), *parameters(DetailOptions)],
        _demo,
        panel=START,
    )


def add_run(app: typer.Typer) -> None:
    about = "Carry out a study into a folder, or resume it there, and write its report."
    wanted = [
        *parameters(RunOptions),
        *parameters(ExecutionOptions),
        *parameters(DetailOptions),
        *parameters(OutputOptions),
    ]
    add_command(app, "run", about, wanted, _run, panel=START)


def add_report(app: typer.Typer) -> None:
    about = "Write the report of a run as a page, JSON, a short card in Markdown or CSV; or a page of several runs."
    add_command(app, "report", about, parameters(ReportOptions), _report, panel=TABLES)


def add_list(app: typer.Typer) -> None:
    about = "List every kind of classifier, image set, nuisance, measure, sampler, network and mix, and suites."
    add_command(app, "list", about, [*parameters(ListingOptions), *parameters(OutputOptions)], _list, panel=START)


def _demo(given: TypedArguments) -> None:
    with resources.as_file(resources.files("brittle") / "demo.toml") as study:
        _run_study(str(study), given.made(DemoOptions).out, given, as_json=False)


def _run(given: TypedArguments) -> None:
    what = given.made(RunOptions)
    check_study(what.study)
    _run_study(what.study, what.out, given, as_json=given.made(OutputOptions).as_json)


def _run_study(study: str, out: str, given: TypedArguments, *, as_json: bool) -> None:
    from brittle.api import run

    with warnings_printed():
        found = run(study, out=out, progress=True, **vars(given.made(ExecutionOptions)))
    if as_json:
        print_json(found | {"report": str(report_path(found))})
    else:
        show(found, given.made(DetailOptions))


def _report(given: TypedArguments) -> None:
    what = given.made(ReportOptions)
    if what.others:
        from brittle.api import compare_runs

        print_report(compare_runs(what.folder, *what.others, out=what.out, pair=what.pair))
        return
    if what.out is not None:
        raise BrittleError("the report of one run goes into its folder", "Leave --out out, or name several runs.")
    from brittle.engine.store.run_folder import folder_path
    from brittle.report.html import kept_report, write_as, write_report
    from brittle.report.page.loaded import code_named

    folder = folder_path(what.folder)
    if what.format == "html" and what.load and (kept := kept_report(folder)) is not None:
        warn(
            [
                f"the report in {what.folder} is left as it is: it shows live Python objects, which can't be loaded "
                "again; --no-load writes one without pictures"
            ]
        )
        print_report(kept)
        return
    if what.load and (code := code_named(folder)):
        named = f"code that the study in {what.folder} names may be run: {', '.join(code)}"
        warn([f"{named}; --no-load writes a report without"])
    nothing = not what.load
    if what.format == "html":
        print_report(write_report(folder, nothing_loaded=nothing))
    else:
        print_report(write_as(folder, what.format, nothing_loaded=nothing))


def _list(given: TypedArguments) -> None:
    from brittle.report.listing import listing, print_listing, print_names

    what = given.made(ListingOptions).what
    if given.made(OutputOptions).as_json:
        print_json(listing(what))
    elif what:
        print_listing(what, listing(what))
    else:
        print_names()
