"""The commands `train` and `harden`, their options those of what they call."""

from __future__ import annotations

from dataclasses import MISSING, asdict, dataclass
from pathlib import Path

import typer

from brittle.cli.build import Given, add_command, parameters
from brittle.cli.carry_out import print_json, print_report, printed_once, say
from brittle.cli.parameters import Device, Output
from brittle.hardening.options import HardeningOptions
from brittle.registry.options import option
from brittle.training.options import TrainingOptions


@dataclass(frozen=True, kw_only=True)
class Train:
    network: str = option(
        MISSING, "a network's spec, such as cnn-2, cnn-1-da:shift=4 or preact-resnet-18:classes=9", positional=True
    )
    images: str = option(MISSING, "the training images' spec, such as idx:images.gz,labels=labels.gz", positional=True)
    out: str = option(MISSING, "the file of weights, .safetensors; a training that was interrupted is resumed")
    test: str | None = option(None, "images whose error is printed once training is over")
    seed: int = option(0, "of first weights, order, augmentation, mixing, random labels and dropout")


@dataclass(frozen=True, kw_only=True)
class Harden:
    classifier: str = option(
        MISSING, "the spec of a torch module, such as torch:package.module:factory,weights=…", positional=True
    )
    images: str = option(MISSING, "labelled images' spec, such as folder:photos; split into parts", positional=True)
    nuisance: str = option(MISSING, "a nuisance's spec, such as affine:alpha=100")
    out: str = option(MISSING, "the folder for weights, rounds and report; a hardening that was interrupted is resumed")
    test: str | None = option(
        None, "images that choose the round and measure before and after; parts of IMAGES by default"
    )
    seed: int = option(0, "of every draw")


def add_train(app: typer.Typer) -> None:
    about = "Train a network by its own recipe, or resume training, and print its test error."
    add_command(
        app,
        "train",
        about,
        [*parameters(Train), *parameters(TrainingOptions), *parameters(Device), *parameters(Output)],
        _train,
    )


def add_harden(app: typer.Typer) -> None:
    about = "Fine-tune a classifier on its weak points, choose a round, and measure before and after."
    add_command(
        app,
        "harden",
        about,
        [*parameters(Harden), *parameters(HardeningOptions), *parameters(Device), *parameters(Output)],
        _harden,
    )


def _train(given: Given) -> None:
    what, options = given.made(Train), given.of(TrainingOptions)
    from brittle.progress import Bar
    from brittle.training import train

    with Bar() as progress:
        found = train(
            what.network,
            what.images,
            what.out,
            test=what.test,
            seed=what.seed,
            device=given.made(Device).device,
            progress=progress,
            **options,
        )
    if given.made(Output).as_json:
        print_json(found)
        return
    times = f"{found['epochs']} epoch{'' if found['epochs'] == 1 else 's'}"
    say(f"{found['network']}: {times} of {found['images']} images, loss {found['loss']:.4f}")
    if found["objective"] is not None and found["diversity"] is not None:
        say(f"diversity: {found['diversity']:.4f} (majority label), {found['mix_diversity']:.4f} (mixed labels)")
    if found["test_error"] is not None:
        say(f"test error: {found['test_error']:.2%} of {found['test_images']} images")
    say(f"classifier: {found['classifier']}")


def _harden(given: Given) -> None:
    what, settings = given.made(Harden), given.made(HardeningOptions)
    as_json, device = given.made(Output).as_json, given.made(Device).device
    from brittle.api import harden
    from brittle.progress import Bar
    from brittle.report.harden_console import print_criterion, print_hardened

    if not as_json:
        print_criterion(settings)
    with printed_once(), Bar() as progress:
        done = harden(
            what.classifier,
            what.images,
            what.nuisance,
            what.out,
            test=what.test,
            seed=what.seed,
            device=device,
            progress=progress,
            **asdict(settings),
        )
    path = Path(what.out) / "report.html"
    if as_json:
        print_json(done.summary | {"report": str(path)})
        return
    print_hardened(done)
    print_report(path)
