"""Options: every value is converted and checked in one place, however it is given, and refused in one kind of line."""

import dataclasses
import math
import pickle
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch

from brittle.errors import BrittleError
from brittle.registry.options import allowed, checked, convert, did_you_mean, option, options_of, validated


@validated("thing")
@dataclass(frozen=True)
class Thing:
    """One option of every sort."""

    path: str = option("", "a path", positional=True)
    above: float = option(1.0, "above 0", above=0)
    least: int = option(1, "at least 1", least=1)
    below: float = option(0.0, "below 1", below=1)
    most: int = option(0, "at most 5", most=5)
    open: float | None = option(None, "an open interval", above=0, below=0.5, remedy="Try 0.01.")
    closed: int = option(3, "a closed interval", least=1, most=16)
    half_open: float = option(1.0, "above one end, at most the other", above=0, most=1)
    infinite: float = option(1.0, "any number at all", finite=False)
    mode: Literal["fast", "slow"] = option("fast", "a mode")
    name: str = option("plain", "a name", choices=("plain", "augmented"))
    dark: bool = option(False, "whether")
    fill: float | Literal["edge", "mirror"] = option(0.0, "a grey value or a word", least=0, most=1)
    ways: tuple[float, ...] = option((1.0,), "numbers", above=0, most=1, fewest=1)
    extra: tuple[Literal["nll", "ece"], ...] = option((), "words of a few")
    words: tuple[str, ...] = option((), "words")
    pair: tuple[int, int] = option((1, 2), "two numbers")
    size: int | str | tuple[int, int] | None = option(None, "pixels or HxW")
    rate: float = option(1.0, "a rate", above=0, flag="lr")
    anything: Any = option(None, "anything")


TAKEN = [
    ("above", "0.001", 0.001),
    ("above", 3, 3.0),
    ("above", " 2.5 ", 2.5),
    ("above", np.float32(0.5), 0.5),
    ("above", np.array(4), 4.0),
    ("above", torch.tensor(0.25), 0.25),
    ("least", "1", 1),
    ("least", np.int64(7), 7),
    ("least", torch.tensor(7), 7),
    ("below", "-3", -3.0),
    ("most", "5", 5),
    ("most", -12, -12),
    ("open", "0.499", 0.499),
    ("open", "none", None),
    ("open", "", None),
    ("open", None, None),
    ("closed", 1, 1),
    ("closed", "16", 16),
    ("half-open", 1, 1.0),
    ("half_open", "1e-3", 0.001),
    ("infinite", "inf", math.inf),
    ("mode", "slow", "slow"),
    ("name", "augmented", "augmented"),
    ("dark", "yes", True),
    ("dark", "FALSE", False),
    ("dark", np.bool_(True), True),
    ("fill", "0.5", 0.5),
    ("fill", 1, 1.0),
    ("fill", "mirror", "mirror"),
    ("ways", "0.5/0.75/1", (0.5, 0.75, 1.0)),
    ("ways", "0.5, 1", (0.5, 1.0)),
    ("ways", [0.5, 1], (0.5, 1.0)),
    ("ways", np.array([0.5, 1.0]), (0.5, 1.0)),
    ("extra", "nll/ece", ("nll", "ece")),
    ("extra", ["ece"], ("ece",)),
    ("extra", "", ()),
    ("words", ["a/b", "c,d"], ("a/b", "c,d")),
    ("words", "a/b", ("a", "b")),
    ("pair", "3/4", (3, 4)),
    ("size", "224", 224),
    ("size", "224x320", "224x320"),
    ("size", [224, 320], (224, 320)),
    ("size", None, None),
    ("path", Path("a/b"), "a/b"),
    ("anything", object, object),
]


@pytest.mark.parametrize(("name", "given", "expected"), TAKEN)
def test_a_value_becomes_what_its_annotation_says(name, given, expected):
    (found,) = checked(Thing, {name: given}, "thing").values()
    assert found == expected
    assert type(found) is type(expected)
    made = Thing(**{name.replace("-", "_"): given})
    assert getattr(made, name.replace("-", "_")) == expected


REFUSED = [
    ("above", 0, "thing: above is 0, but must be above 0"),
    ("above", "-1", "thing: above is -1, but must be above 0"),
    ("above", "much", "thing: above is 'much', but must be a number above 0"),
    ("above", math.nan, "thing: above is nan, but must be a number above 0"),
    ("above", "inf", "thing: above is inf, but must be a number above 0"),
    ("above", True, "thing: above is True, but must be a number above 0"),
    ("above", None, "thing: above is None, but must be a number above 0"),
    ("above", [1.0], "thing: above is [1.0], but must be a number above 0"),
    ("least", 0, "thing: least is 0, but must be at least 1"),
    ("least", True, "thing: least is True, but must be a whole number of at least 1"),
    ("least", "1e3", "thing: least is 1e3, but must be a whole number of at least 1. Write 1000."),
    ("least", 3.0, "thing: least is 3, but must be a whole number of at least 1. Write 3."),
    ("least", 2.5, "thing: least is 2.5, but must be a whole number of at least 1"),
    ("below", 1, "thing: below is 1, but must be below 1"),
    ("most", 6, "thing: most is 6, but must be at most 5"),
    ("open", 0.7, "thing: open is 0.7, but must lie between 0 and 0.5 (exclusive). Try 0.01."),
    ("open", 0.5, "thing: open is 0.5, but must lie between 0 and 0.5 (exclusive). Try 0.01."),
    ("open", "0", "thing: open is 0, but must lie between 0 and 0.5 (exclusive). Try 0.01."),
    ("closed", 17, "thing: closed is 17, but must lie between 1 and 16"),
    ("half-open", 0, "thing: half-open is 0, but must be above 0 and at most 1"),
    ("infinite", "none", "thing: infinite is 'none', but must be a number"),
    ("mode", "fsat", "thing: mode is 'fsat', but must be fast or slow. Did you mean 'fast'?"),
    ("mode", 3, "thing: mode is 3, but must be fast or slow"),
    ("name", "plian", "thing: name is 'plian', but must be plain or augmented. Did you mean 'plain'?"),
    ("dark", "perhaps", "thing: dark is 'perhaps', but must be true or false"),
    ("dark", 1, "thing: dark is 1, but must be true or false"),
    ("fill", 1.5, "thing: fill is 1.5, but must be a number between 0 and 1, edge or mirror"),
    ("fill", "mirrr", "but must be a number between 0 and 1, edge or mirror. Did you mean 'mirror'?"),
    ("ways", "", "thing: ways is '', but must be a list of 1 or more numbers above 0 and at most 1"),
    ("ways", 0.5, "thing: ways is 0.5, but must be a list of 1 or more numbers above 0 and at most 1"),
    ("ways", (0.5, 1.5), "thing: ways is (0.5, 1.5), but each must be above 0 and at most 1"),
    ("extra", "nll/eec", "thing: extra is 'nll/eec', but each must be nll or ece. Did you mean 'ece'?"),
    ("words", [1], "thing: words is [1], but each must be text"),
    ("pair", "1/2/3", "thing: pair is '1/2/3', but must be 2 whole numbers"),
    ("path", 3, "thing: path is 3, but must be text"),
    ("rate", 0, "thing: rate (--lr) is 0, but must be above 0"),
]


@pytest.mark.parametrize(("name", "given", "said"), REFUSED)
def test_a_wrong_value_is_answered_in_one_line_that_says_what_is_right(name, given, said):
    for make in (
        lambda: checked(Thing, {name: given}, "thing"),
        lambda: Thing(**{name.replace("-", "_"): given}),
        lambda: dataclasses.replace(Thing(), **{name.replace("-", "_"): given}),
    ):
        with pytest.raises(BrittleError) as error:
            make()
        assert said in str(error.value)
        assert str(error.value).endswith(said)
        assert error.value.exit_status == 2


def test_a_long_value_does_not_make_a_long_line():
    with pytest.raises(BrittleError) as error:
        Thing(mode="x" * 1000)
    assert len(str(error.value)) < 200


def test_an_unknown_option_is_answered_with_a_near_one():
    with pytest.raises(BrittleError, match=r"^thing has no option 'half-opne'\. Did you mean 'half-open'\?$"):
        checked(Thing, {"half_opne": 1}, "thing")
    with pytest.raises(BrittleError, match=r"^thing has no option 'zzz'\. Known: above, anything, below, "):
        checked(Thing, {"zzz": 1}, "thing")
    assert did_you_mean("a", []) == "There are none."


def test_a_message_lists_no_thousand_names():
    said = did_you_mean("zzz", [f"class {number:04}" for number in range(1000)])
    assert said.startswith("Known: class 0000, class 0001, ")
    assert said.endswith("class 0059 and 940 more.")


def test_an_option_in_two_spellings_is_given_twice():
    with pytest.raises(BrittleError, match="half-open is given twice"):
        checked(Thing, {"half-open": 1, "half_open": 1}, "thing")


def test_what_is_required_is_asked_for():
    @dataclass(frozen=True)
    class Needy:
        path: str = option(dataclasses.MISSING, "the file", positional=True)
        count: int = option(dataclasses.MISSING, "how many")

    with pytest.raises(BrittleError, match=r"^file needs 'path' \(the file\)\. For example file:…$"):
        checked(Needy, {"count": 3}, "file")
    with pytest.raises(BrittleError, match=r"^file needs 'count' \(how many\)\. For example file:count=…$"):
        checked(Needy, {"path": "a"}, "file")


def test_direct_construction_keeps_the_signature_and_pythons_own_errors():
    assert Thing("a", 2).above == 2.0
    assert Thing.__init__.__wrapped__ is not Thing.__init__
    with pytest.raises(TypeError, match="abvoe"):
        Thing(abvoe=2)
    assert pickle.loads(pickle.dumps(Thing(above=2))) == Thing(above=2.0)


def test_relations_between_options_are_checked_on_values_that_are_right():
    @validated("span")
    @dataclass(frozen=True)
    class Span:
        low: float = option(0.0, "one end", least=0)
        high: float = option(1.0, "the other", most=1)

        def __post_init__(self) -> None:
            if not self.low < self.high:
                raise BrittleError(f"span: low is {self.low:g} and high is {self.high:g}", "Take low < high.")

    assert Span("0.25", "0.5") == Span(0.25, 0.5)
    with pytest.raises(BrittleError, match="Take low < high"):
        Span("0.5", "0.25")
    with pytest.raises(BrittleError, match="low is 'x', but must be a number"):
        Span("x", "0.25")


def test_a_subclass_is_checked_by_its_own_declarations():
    @validated("wide")
    @dataclass(frozen=True)
    class Wide(Thing):
        above: float = option(1.0, "anything now")

    assert Wide(above=-1).above == -1
    with pytest.raises(BrittleError, match="wide: least is 0"):
        Wide(least=0)


def test_what_an_option_may_be_is_told_in_words():
    words = {key: allowed(Thing, field) for key, field in options_of(Thing).items()}
    assert words["above"] == "a number above 0"
    assert words["least"] == "a whole number of at least 1"
    assert words["open"] == "a number between 0 and 0.5 (exclusive)"
    assert words["closed"] == "a whole number between 1 and 16"
    assert words["mode"] == "fast or slow"
    assert words["name"] == "plain or augmented"
    assert words["dark"] == "true or false"
    assert words["fill"] == "a number between 0 and 1, edge or mirror"
    assert words["ways"] == "a list of 1 or more numbers above 0 and at most 1"
    assert words["extra"] == "any of nll, ece"
    assert words["words"] == "a list of words"
    assert words["path"] == "text"
    assert words["anything"] == ""


def test_a_value_without_a_declaration_is_converted_by_its_annotation():
    assert convert("3", int, "--ids", "ids") == 3
    with pytest.raises(BrittleError, match=r"^--ids: ids is 'x', but must be a whole number$"):
        convert("x", int, "--ids", "ids")


def test_options_need_nothing_but_the_standard_library():
    code = (
        "import sys; before = set(sys.modules)\n"
        "import brittle.registry, brittle.measures.robustness.options, brittle.hardening.options\n"
        "new = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "assert new - set(sys.stdlib_module_names) == {'brittle'}, new"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr
