"""Commands made from dataclasses of options: what they show, what they take, and what they refuse."""

from dataclasses import MISSING, dataclass
from typing import Literal

import pytest
import typer
from typer.testing import CliRunner

from brittle.cli.build import add_command, parameters
from brittle.errors import BrittleError
from brittle.registry.options import option


@dataclass(frozen=True)
class Things:
    what: str = option(MISSING, "what it is", positional=True)
    count: int | None = option(None, "how many", least=1, flag="images")
    mode: Literal["fast", "slow"] = option("fast", "how it goes")
    ways: tuple[float, ...] = option((0.5, 1.0), "numbers", above=0)
    where: tuple[str, ...] = option((), "conditions")
    words: tuple[str, ...] = option(("all",), "words")
    adapt: bool = option(True, "whether it adapts")
    as_json: bool = option(False, "how it prints", flag="json")


@dataclass(frozen=True)
class Others:
    count: int = option(3, "another count of the same name")


def call(*arguments, changes=None):
    """The help and, where it ran, what the command's body was given."""
    found = []
    app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)
    wanted = [*parameters(Things, **(changes or {})), *parameters(Others)]
    add_command(app, "go", "Go.", wanted, lambda given: found.append((given.made(Things), given.made(Others))))
    result = CliRunner().invoke(app, [*map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.output, (found or [None])[0]


def test_what_is_typed_arrives_as_the_options_say():
    _, (things, others) = call(
        *("it", "--images", 4, "--mode", "slow", "--ways", "0.25/2", "--where", "a=b/c", "--where", "d=e"),
        *("--no-adapt", "--json", "--count", 7, "--words", "b", "--words", "c"),
    )
    assert things == Things("it", 4, "slow", (0.25, 2.0), ("a=b/c", "d=e"), ("b", "c"), adapt=False, as_json=True)
    assert others == Others(7)


def test_what_is_not_typed_is_the_default_of_the_option():
    assert call("it")[1] == (Things("it"), Others())
    assert call("it", changes={"count": {"default": 20}})[1][0].count == 20


def test_help_shows_defaults_choices_and_ranges():
    shown = " ".join(call("--help")[0].split())
    for words in (
        "--images <int> How many. [at least 1]",
        "--mode <fast|slow> How it goes. [default: fast]",
        "--ways <float/…> Numbers. [above 0] [default: 0.5/1]",
        "--adapt / --no-adapt",
        "--json How it prints.",
        "--count <int> Another count of the same name. [default: 3]",
    ):
        assert words in shown


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--images", 0), "go: count (--images) is 0, but must be at least 1"),
        (("--mode", "fsat"), "go: mode is 'fsat', but must be fast or slow. Did you mean 'fast'?"),
        (("--ways", "1/0"), "go: ways is '1/0', but each must be above 0"),
    ],
)
def test_a_wrong_value_is_refused_as_anywhere_else(arguments, said):
    with pytest.raises(BrittleError) as error:
        call("it", *arguments)
    assert str(error.value) == said


@dataclass(frozen=True)
class SameFlag:
    number: int = option(1, "a number", flag="count")


def test_two_options_of_one_flag_are_refused():
    with pytest.raises(BrittleError, match="the command 'go' has two options --count"):
        add_command(typer.Typer(), "go", "Go.", [*parameters(Others), *parameters(SameFlag)], print)
