"""All commands, put together."""

from __future__ import annotations

from typing import Annotated

import typer

from brittle.cli.build import HelpPanels
from brittle.cli.checking import add_check
from brittle.cli.exploring import add_explore
from brittle.cli.generating import add_generate, add_train_sliders, add_train_tokens
from brittle.cli.labelling import add_filter, add_label
from brittle.cli.measuring import add_measures
from brittle.cli.run_folders import add_merge, add_status, add_verify
from brittle.cli.running import add_agreement, add_demo, add_export, add_list, add_report, add_run
from brittle.cli.training import add_harden, add_train

OTHERS = (
    "demo",
    "run",
    "report",
    "explore",
    "check",
    "export",
    "agreement",
    "train",
    "harden",
    "generate",
    "train-sliders",
    "train-tokens",
    "filter",
    "label",
    "list",
    "merge",
    "status",
    "verify",
)


def make_app() -> typer.Typer:
    """The command line, with the commands of other packages that are installed."""
    app = typer.Typer(
        help="How brittle is an image classifier, where does it break, and what does that look like.",
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        cls=HelpPanels,
    )
    app.callback()(_common)
    add_demo(app)
    add_measures(app, taken=set(OTHERS))
    for add in (
        add_run,
        add_report,
        add_explore,
        add_check,
        add_export,
        add_agreement,
        add_train,
        add_harden,
        add_generate,
        add_train_sliders,
        add_train_tokens,
        add_filter,
        add_label,
        add_list,
        add_status,
        add_verify,
        add_merge,
    ):
        add(app)
    return app


def _version(wanted: bool) -> None:
    if wanted:
        from brittle import __version__

        print(__version__)
        raise typer.Exit


def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None: ...
