"""The commands `filter` and `label`."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import dataclass
from pathlib import Path

import typer

from brittle.cli.build import TypedArguments, add_command, parameters
from brittle.cli.output import print_json, warn, warnings_printed
from brittle.cli.parameters import OutputOptions
from brittle.commands import GENERATED, DeviceOptions
from brittle.generation.filter.options import FilterInputs, FilterOptions
from brittle.generation.labels.options import LabelInputs, LabelOptions
from brittle.registry.options import option
from brittle.terminal import visible

NEEDED = ("starlette", "uvicorn")


@dataclass(frozen=True, kw_only=True)
class LabelPageOptions:
    """The page, or what is done in its place."""

    summary: bool = option(False, "print what the labels say so far, and end")
    port: int = option(0, "the port of the page's address; any that is free by default", least=0, most=65535)
    host: str = option(
        "127.0.0.1", "the address that is listened on; others than this machine's own can be reached from outside"
    )


def add_filter(app: typer.Typer) -> None:
    about = "Keep the generated images that still show their class, by four scores and thresholds from labels."
    kinds = (FilterInputs, FilterOptions, DeviceOptions, OutputOptions)
    add_command(app, "filter", about, [each for kind in kinds for each in parameters(kind)], _filter, panel=GENERATED)


def add_label(app: typer.Typer) -> None:
    about = "Label generated images in the browser, by keyboard, one person or several: class, partly or not class."
    kinds = (LabelInputs, LabelOptions, LabelPageOptions, DeviceOptions, OutputOptions)
    add_command(app, "label", about, [each for kind in kinds for each in parameters(kind)], _label, panel=GENERATED)


def _filter(given: TypedArguments) -> None:
    options = {**vars(given.made(FilterInputs)), **vars(given.made(FilterOptions)), **vars(given.made(DeviceOptions))}
    from brittle.api.generated_images import filter_asked
    from brittle.report.console import console_of, show
    from brittle.report.generated_images import filter_blocks
    from brittle.report.renderers.console import printed

    with warnings_printed():
        found = filter_asked(options | {"progress": True})
    if given.made(OutputOptions).as_json:
        print_json(found.values)
        return
    for each in printed(filter_blocks(found)):
        show(console_of(sys.stdout), each)


def _label(given: TypedArguments) -> None:
    what, options, page = given.made(LabelInputs), given.made(LabelOptions), given.made(LabelPageOptions)
    if options.proxy:
        from brittle.api.generated_images import proxy_labels

        with warnings_printed():
            proxy_labels(what, options, given.made(DeviceOptions).device, True)
    if options.proxy or page.summary:
        _summary(what, given.made(OutputOptions).as_json)
        return
    if missing := next((each for each in NEEDED if importlib.util.find_spec(each) is None), None):
        from brittle.errors import MissingPackage

        raise MissingPackage(missing, "explore", "the labelling page")
    _serve(what, options, page)


def _summary(what: LabelInputs, as_json: bool) -> None:
    from brittle.api.generated_images import labels_of
    from brittle.report.console import console_of, show
    from brittle.report.generated_images import label_blocks
    from brittle.report.renderers.console import printed

    found = labels_of(what.folder, what.out, annotations=what.annotations)
    if as_json:
        print_json(found.values)
        return
    for each in printed(label_blocks(found)):
        show(console_of(sys.stdout), each)


def _serve(what: LabelInputs, options: LabelOptions, page: LabelPageOptions) -> None:
    from brittle.api.generated_images import chosen_images
    from brittle.files import real_path
    from brittle.images import image_set
    from brittle.labelling.serve import serve
    from brittle.labelling.session import LabellingSession, examples_of

    images = chosen_images(what, options)
    examples = {} if what.examples is None else examples_of(image_set(what.examples), images.classes)
    if lacking := [name for index, name in images.classes.items() if index not in examples]:
        warn([f"no real example opens {len(lacking)} of {len(images.classes)} classes: {', '.join(lacking[:5])}"])
    session = LabellingSession(images, Path(real_path(what.out)), examples, options.people, options.shift_visible)
    serve(session, page.host, page.port, _print, lambda text: warn([text]))


def _print(text: str) -> None:
    print(visible(text), flush=True)
