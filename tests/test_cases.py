"""The file of named cases: what is written is read again, and what is not a case is refused in one line."""

from pathlib import Path

import pytest

from brittle.cases import NamedCase, add_case, read_cases, write_cases
from brittle.errors import BrittleError

AT_THETA = NamedCase(
    "seven on its side",
    "digits",
    2**62 + 1,
    "rotation",
    "7",
    theta=(0.25, -1e-7),
    severity=0.5,
    spec="rotation:sigma=15",
)
AT_A_DRAW = NamedCase('a "boot" in fog\n', "shoes", -3, "fog", "Stiefel ブーツ", draw=12, seed=0)


def test_cases_are_read_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "cases.toml"
    add_case(path, AT_THETA)
    add_case(path, AT_A_DRAW)
    assert read_cases(path) == (AT_THETA, AT_A_DRAW)


def test_no_two_cases_have_one_name(tmp_path: Path) -> None:
    path = tmp_path / "cases.toml"
    add_case(path, AT_THETA)
    before = path.read_bytes()
    with pytest.raises(BrittleError, match="two cases are called"):
        add_case(path, AT_THETA)
    assert path.read_bytes() == before


def test_a_file_of_no_cases_is_read(tmp_path: Path) -> None:
    write_cases(tmp_path / "cases.toml", [])
    assert read_cases(tmp_path / "cases.toml") == ()


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ('draw = 3\nseed = 0\nexpectd = "7"', "unknown key 'expectd'. Did you mean 'expected'"),
        ('draw = 3\nexpected = "7"', "known by its number and the study's seed"),
        ('draw = 3\nseed = 0\ntheta = [1.0]\nexpected = "7"', "either theta or draw"),
        ('expected = "7"', "either theta or draw"),
        ('theta = ["a"]\nexpected = "7"', "Write a list of numbers"),
        ('theta = [nan]\nexpected = "7"', "Write a list of numbers"),
        ('theta = 3\nexpected = "7"', "Write a list of numbers"),
        ("theta = [1.0]", "'expected' is missing"),
        ("theta = [1.0]\nexpected = 7", "expected is 7"),
        ('theta = [1.0]\nseverity = inf\nexpected = "7"', "severity is inf"),
        ('draw = true\nseed = 0\nexpected = "7"', "draw is True"),
    ],
)
def test_what_is_not_a_case_is_refused_in_one_line(tmp_path: Path, table: str, said: str) -> None:
    path = tmp_path / "cases.toml"
    path.write_text(f'version = 1\n[[case]]\nname = "x"\nimages = "i"\nimage = 3\nnuisance = "n"\n{table}\n')
    with pytest.raises(BrittleError) as caught:
        read_cases(path)
    assert said in str(caught.value)
    assert str(caught.value).startswith(f"{path}: the case 'x'")


NOT_CASES = {
    "": "version = 1",
    "version = 2": "version = 1",
    "version = 1\ncase = 1": "[[case]]",
    "version = 1\ncases = []": "Did you mean 'case'",
}


@pytest.mark.parametrize("text", NOT_CASES)
def test_what_is_not_a_file_of_cases_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "cases.toml"
    path.write_text(text)
    with pytest.raises(BrittleError) as caught:
        read_cases(path)
    assert NOT_CASES[text] in str(caught.value)
