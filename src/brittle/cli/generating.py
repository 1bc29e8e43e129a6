"""The commands `generate`, `train-sliders` and `train-tokens`, their options those of the measures behind them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, dataclass
from typing import Any

import typer

from brittle.cli.build import TypedArguments, add_command, parameters
from brittle.cli.output import print_json, say, show, warnings_printed
from brittle.cli.parameters import DetailOptions, OutputOptions
from brittle.commands import GENERATED, ExecutionOptions
from brittle.generation.options import GenerationTarget, TrainingTarget
from brittle.measures.generate.options import GenerateOptions
from brittle.measures.train_sliders.options import TrainSlidersOptions
from brittle.measures.train_tokens.options import TrainTokensOptions
from brittle.registry.options import option

OURS = ("folder", "state", "weights")  # which the commands give themselves
SHOWN = (DetailOptions, OutputOptions)


@dataclass(frozen=True, kw_only=True)
class CostOptions:
    """What is only told."""

    cost: bool = option(False, "say what it would cost, and end")


@dataclass(frozen=True, kw_only=True)
class LearnedFrom:
    """What words are learned from."""

    images: str = option(MISSING, "an image set of the classes, such as folder:photos,size=512,crop=512", flag="images")


def add_generate(app: typer.Typer) -> None:
    about = "Generate a benchmark of shifts whose strength is a dial, in CNS-Bench's layout; resumes after a kill."
    wanted = [
        *parameters(GenerateOptions, without=OURS),
        *parameters(GenerationTarget),
        *parameters(CostOptions),
        *parameters(ExecutionOptions, without=("batch",)),
        *(each for kind in SHOWN for each in parameters(kind)),
    ]
    add_command(app, "generate", about, wanted, _generate, panel=GENERATED)


def add_train_sliders(app: typer.Typer) -> None:
    about = "Train a slider for every class and shift, as files that plain diffusers loads too."
    wanted = [
        *parameters(TrainSlidersOptions, without=OURS),
        *parameters(TrainingTarget),
        *parameters(ExecutionOptions, without=("batch",)),
        *(each for kind in SHOWN for each in parameters(kind)),
    ]
    add_command(app, "train-sliders", about, wanted, _train_sliders, panel=GENERATED)


def add_train_tokens(app: typer.Typer) -> None:
    about = "Learn a word for every class of an image set (IN*), as files that plain diffusers loads too."
    wanted = [
        *parameters(TrainTokensOptions, without=OURS),
        *parameters(LearnedFrom),
        *parameters(TrainingTarget),
        *parameters(ExecutionOptions, without=("batch",)),
        *(each for kind in SHOWN for each in parameters(kind)),
    ]
    add_command(app, "train-tokens", about, wanted, _train_tokens, panel=GENERATED)


def _generate(given: TypedArguments) -> None:
    options, how = given.made(GenerateOptions), given.made(ExecutionOptions)
    if given.made(CostOptions).cost:
        from brittle.api.generating import generation_cost

        cost = generation_cost(**vars(options), device=how.device)
        if given.made(OutputOptions).as_json:
            print_json(cost.values)
        else:
            say(str(cost))
        return
    from brittle.api.generating import generate_asked

    _carry_out(generate_asked, {**vars(options), **vars(given.made(GenerationTarget)), **vars(how)}, given)


def _train_sliders(given: TypedArguments) -> None:
    from brittle.api.generating import train_sliders_asked

    options, how = given.made(TrainSlidersOptions), given.made(ExecutionOptions)
    _carry_out(train_sliders_asked, {**vars(how), **vars(options), **vars(given.made(TrainingTarget))}, given)


def _train_tokens(given: TypedArguments) -> None:
    from brittle.api.generating import train_tokens_asked

    options, how = given.made(TrainTokensOptions), given.made(ExecutionOptions)
    asked = {**vars(how), **vars(options), **vars(given.made(LearnedFrom)), **vars(given.made(TrainingTarget))}
    _carry_out(train_tokens_asked, asked, given)


def _carry_out(asked: Callable[[dict[str, Any]], Any], values: dict[str, Any], given: TypedArguments) -> None:
    with warnings_printed():
        found = asked(values | {"progress": True})
    if given.made(OutputOptions).as_json:
        print_json(found)
    else:
        show(found, given.made(DetailOptions))
