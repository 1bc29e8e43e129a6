"""The commands `train` and `harden`, their options those of what they call."""

from __future__ import annotations

import typer

from brittle.cli.build import TypedArguments, add_command, parameters
from brittle.cli.output import print_json, print_report, say, warnings_printed
from brittle.cli.parameters import OutputOptions
from brittle.commands import BETTER, DeviceOptions
from brittle.hardening.options import HardeningInputs, HardeningOptions
from brittle.training.options import TrainingInputs, TrainingOptions


def add_train(app: typer.Typer) -> None:
    about = "Train a network by its own recipe, or resume training, and print its test error."
    add_command(
        app,
        "train",
        about,
        [
            *parameters(TrainingInputs),
            *parameters(TrainingOptions),
            *parameters(DeviceOptions),
            *parameters(OutputOptions),
        ],
        _train,
        panel=BETTER,
    )


def add_harden(app: typer.Typer) -> None:
    about = "Fine-tune a classifier on its weak points, choose a round, and measure before and after."
    add_command(
        app,
        "harden",
        about,
        [
            *parameters(HardeningInputs),
            *parameters(HardeningOptions),
            *parameters(DeviceOptions),
            *parameters(OutputOptions),
        ],
        _harden,
        panel=BETTER,
    )


def _train(given: TypedArguments) -> None:
    what, options = given.made(TrainingInputs), given.made(TrainingOptions)
    from brittle.api import train

    with warnings_printed():
        found = train(**vars(what), **vars(options), **vars(given.made(DeviceOptions)), progress=True)
    if given.made(OutputOptions).as_json:
        print_json(found)
        return
    times = f"{found['epochs']} epoch{'' if found['epochs'] == 1 else 's'}"
    say(f"{found['network']}: {times} of {found['images']} images, loss {found['loss']:.4f}")
    if found["objective"] is not None and found["diversity"] is not None:
        say(f"diversity: {found['diversity']:.4f} (majority label), {found['mix_diversity']:.4f} (mixed labels)")
    if found["test_error"] is not None:
        say(f"test error: {found['test_error']:.2%} of {found['test_images']} images")
    say(f"classifier: {found['classifier']}")


def _harden(given: TypedArguments) -> None:
    what, settings = given.made(HardeningInputs), given.made(HardeningOptions)
    as_json = given.made(OutputOptions).as_json
    from brittle.api import harden
    from brittle.engine.store.run_folder import folder_path
    from brittle.report.harden_console import print_criterion, print_hardened

    if not as_json:
        print_criterion(settings)
    with warnings_printed():
        done = harden(**vars(what), **vars(settings), **vars(given.made(DeviceOptions)), progress=True)
    path = folder_path(what.out) / "report.html"
    if as_json:
        print_json(done.summary | {"report": str(path)})
        return
    print_hardened(done)
    print_report(path)
