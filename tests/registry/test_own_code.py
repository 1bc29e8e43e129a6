"""Nuisances, samplers and measures from a file of the user's own."""

import pytest

import brittle
from brittle.errors import BrittleError
from brittle.nuisances import nuisance
from brittle.registry.source import code_hash, names_code
from brittle.samplers import sampler

OWN = '''
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from brittle.measures.base import Derived
from brittle.nuisances.light.tone import Brightness
from brittle.registry import option
from brittle.samplers.importance import Importance


@dataclass(frozen=True)
class Lamp(Brightness):
    """More light, by a factor."""

    watts: float = option(1.0, "how strong the lamp is", above=0)

    def apply(self, batch, theta):
        return super().apply(batch, theta * self.watts)


@dataclass(frozen=True)
class Mine(Importance):
    """Importance sampling under another name."""


@dataclass(frozen=True)
class Count(Derived):
    """How many images there are."""

    over: ClassVar = frozenset({"images"})
    times: int = option(1, "a factor", least=1)

    def summarise(self, run):
        return {"results": [{"images": self.times * len(each)} for each in run.images.values()]}


NOT_A_CLASS = 3
'''


@pytest.fixture
def own(tmp_path):
    file = tmp_path / "own.py"
    file.write_text(OWN)
    return file


def test_a_nuisance_from_a_file_is_measured_as_one_with_a_name(own, cli):
    arguments = ("measure", "bundled:plain", "sample", "--count", 20, "--samples", 3, "--json", "--nuisance")
    ours = cli(*arguments, f"{own}:Lamp,sigma=0.3").json
    assert ours["nuisance"] == f"{own}:Lamp,sigma=0.3"
    assert 0 < ours["flip_rate"] < 1
    # Its random numbers follow its class's name, so that another option is seen with the same z.
    twice = cli(*arguments, f"{own}:Lamp,sigma=0.15,watts=2").json
    assert twice["rho"] == pytest.approx(ours["rho"], abs=1e-6)
    joined = cli(*arguments, f"contrast+{own}:Lamp").json
    assert joined["prior"].count("then") == 1


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("own.py:Lanp", "has no 'Lanp'. Did you mean 'Lamp'?"),
        ("own.py:Lamp,wats=3", "own.py:Lamp has no option 'wats'. Did you mean 'watts'?"),
        ("own.py:Lamp,watts=0", "watts is 0, but must be above 0"),
        ("own.py:NOT_A_CLASS", "own.py:NOT_A_CLASS is not a class. Name the class of a nuisance."),
        ("owm.py:Lamp", "there is no file owm.py. Did you mean 'own.py'?"),
        ("nowhere.at.all:Lamp", "there is no module 'nowhere'"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(own, spec, words, monkeypatch):
    monkeypatch.chdir(own.parent)
    with pytest.raises(BrittleError) as error:
        nuisance(spec)
    assert words in str(error.value)


def test_samplers_and_measures_come_from_files_too(own):
    assert type(sampler(f"{own}:Mine")).__name__ == "Mine"
    found = brittle.run(
        {
            "classifiers": "bundled:plain",
            "images": "sample",
            "nuisances": ["affine"],
            "measures": {
                "counted": {"kind": f"{own}:Count", "times": 2},
                "weak": {"kind": "weak-points", "sampler": f"{own}:Mine", "count": 2, "budget": 100},
            },
        }
    )
    assert found["measures"]["counted"]["results"] == [{"images": 2 * 1000}]
    assert found["measures"]["weak"]["entries"][0]["images"] == 2


def test_a_run_is_not_resumed_with_other_code(own, cli, tmp_path):
    command = ("measure", "bundled:plain", "sample", "--count", 10, "--samples", 2, "--nuisance", f"{own}:Lamp")
    assert cli(*command, "--out", tmp_path / "run").status == 0
    assert cli(*command, "--out", tmp_path / "run").status == 0
    own.write_text(OWN.replace("theta * self.watts", "theta / self.watts"))
    line = cli(*command, "--out", tmp_path / "run").complaint(2)
    assert "was computed from other things than this study names" in line


def test_a_report_tells_and_can_be_kept_from_running_code(own, cli, tmp_path):
    command = ("measure", "bundled:plain", "sample", "--count", 10, "--samples", 2, "--nuisance", f"{own}:Lamp")
    cli(*command, "--out", tmp_path / "run")
    assert (
        f"code that the study in {tmp_path / 'run'} names may be run: {own}:Lamp" in cli("report", tmp_path / "run").err
    )
    own.write_text("open('ran', 'w')\n" + OWN)
    assert cli("report", tmp_path / "run", "--no-load").status == 0
    assert not (tmp_path / "ran").exists()


def test_what_names_code():
    assert names_code("my.py:Dim,sigma=0.5")
    assert names_code("package.module:Dim")
    assert not names_code("affine:alpha=0.5")
    assert not names_code("layers.conv")
    assert not names_code("jpeg:level=1.5")


def test_the_hash_of_code_is_that_of_its_contents(tmp_path):
    first, second = tmp_path / "a.py", tmp_path / "b.py"
    first.write_text("x = 1")
    second.write_text("x = 1")
    assert code_hash(f"{first}:X") == code_hash(f"contrast+{second}:X,y=3") != ""
    second.write_text("x = 2")
    assert code_hash(f"{first}:X") != code_hash(f"{second}:X")
    assert code_hash("affine:alpha=50") == ""
