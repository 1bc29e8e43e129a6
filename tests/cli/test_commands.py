"""Every command: made without torch, from the options of what it runs; other packages' commands beside them."""

import re
import subprocess
import sys

import pytest

from brittle.cli.assemble import make_app
from brittle.engine.run import FinishedRun
from brittle.hardening.options import HardeningOptions
from brittle.measures import measures
from brittle.measures.commands import built_in
from brittle.registry import options_of
from brittle.results.base import result_values
from brittle.training.options import TrainingOptions

HEAVY = ("torch", "numpy", "scipy", "pyarrow", "matplotlib", "onnxruntime", "jinja2", "PIL")
COMMANDS = (
    "demo",
    "clean",
    "robustness",
    "measure",
    "compare",
    "interference",
    "line",
    "weak-points",
    "breaking-points",
    "failure-points",
    "perturbation",
    "sample",
    "break",
    "fail",
    "layer-noise",
    "layer-changes",
    "connectedness",
    "occlusion",
    "perturb",
    "shuffling",
    "cue-conflict",
    "error-consistency",
    "ranking",
    "corruption-error",
    "run",
    "report",
    "explore",
    "check",
    "export",
    "agreement",
    "augmentation",
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
MEASURE = ("measure", "bundled:plain", "sample", "--nuisance", "affine:alpha=50", "--count", 20, "--samples", 3)

SHAKY = '''
"""Another package's measure: how much of the picture changes. Its options need no torch."""
from dataclasses import dataclass

from brittle.extend import Command, option


@dataclass(frozen=True)
class ChangeOptions:
    draws: int = option(3, "draws of θ per image", least=1)


COMMAND = Command("change", "Measure how much changes.", ChangeOptions, images=10)
'''


def install(folder, points, **modules):
    for module, text in modules.items():
        (folder / f"{module}.py").write_text(text)
    info = folder / "shaky-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: shaky\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[brittle.commands]\n" + "".join(f"{k} = {v}\n" for k, v in points.items()))


def test_no_help_imports_anything_heavy():
    code = (
        "import sys\n"
        "from brittle.cli.assemble import make_app\n"
        f"for command in ((), *((name,) for name in {COMMANDS})):\n"
        "    make_app()([*command, '--help'], standalone_mode=False)\n"
        f"    heavy = set({HEAVY}) & set(sys.modules)\n"
        "    assert not heavy, (command, heavy)\n"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr
    assert said.stdout.count("Usage:") == 1 + len(COMMANDS)


def test_the_version_and_a_mistake_in_options_need_no_torch_either():
    code = (
        "import sys\n"
        "from brittle.cli import main\n"
        "sys.argv = ['brittle', *sys.argv[1:]]\n"
        "try: main()\n"
        "finally: assert 'torch' not in sys.modules"
    )
    for arguments, status in ((["--version"], 0), ([*map(str, MEASURE), "--tolerance", "0.7"], 2)):
        said = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)
        assert said.returncode == status, said.stderr


def test_there_is_a_command_for_everything():
    names = [command.name for command in make_app().registered_commands]
    assert sorted(names) == sorted(COMMANDS)


@pytest.mark.parametrize("command", list(built_in()), ids=lambda command: command.measure)
def test_a_measures_command_has_every_option_of_the_measure(command, cli):
    kind = measures.get(command.measure)
    assert options_of(kind) == options_of(command.options)
    shown = cli(command.measure, "--help").out
    for name in options_of(kind):
        assert re.search(rf"--{name}[ ,]", shown), name


@pytest.mark.parametrize(("command", "options"), [("train", TrainingOptions), ("harden", HardeningOptions)])
def test_a_command_has_every_option_of_what_it_runs(command, options, cli):
    shown = cli(command, "--help").out
    for name, field in options_of(options).items():
        assert f"--{field.metadata['flag'] or name} " in shown, name


def test_another_packages_command_stands_beside_the_built_in_ones(tmp_path, monkeypatch, cli):
    install(tmp_path, {"change": "shaky:COMMAND", "measure": "shaky:COMMAND", "gone": "nowhere:COMMAND"}, shaky=SHAKY)
    monkeypatch.syspath_prepend(tmp_path)
    said = cli("--help")
    assert "change Measure how much changes." in " ".join(said.out.split())
    assert "gone Unusable: No module named 'nowhere'" in " ".join(said.out.split())
    assert said.err == (
        "warning: the command 'measure' of the package 'shaky' is left out: there is one of that name\n"
    )
    shown = cli("change", "--help").out
    assert "--draws <int>" in shown
    assert "ρ" in cli("measure", "--help").out
    broken = cli("gone")
    assert broken.status == 2
    assert "the command 'gone' of the package 'shaky' can't be loaded: No module named 'nowhere'" in broken.err
    assert "Fix or uninstall that package." in broken.err
    wrong = cli("change", "bundled:plain", "sample", "--nuisance", "affine", "--draws", 0)
    assert "change: draws is 0, but must be at least 1" in wrong.err


def test_the_engine_is_passed_on(monkeypatch, cli):
    seen = []

    def run(inputs, out, how, progress):
        seen.append({key: getattr(how, key) for key in ("batch", "device", "engine")})
        summary = {"measures": {"robustness": {"kind": "robustness", "results": [{"rho": 0.5}]}}, "warnings": []}
        return FinishedRun(inputs, None, None, summary)

    monkeypatch.setattr("brittle.engine.run.run", run)
    assert cli(*MEASURE, "--json", "--batch", 7).json["rho"] == 0.5
    assert cli(*MEASURE, "--json", "--engine", "ray", "--device", "cpu").status == 0
    assert seen == [
        {"batch": 7, "device": None, "engine": "local"},
        {"batch": None, "device": "cpu", "engine": "ray"},
    ]
    assert "engine is 'rya', but must be local or ray" in cli(*MEASURE, "--engine", "rya").complaint(2)


def test_json_has_every_result_and_the_values_of_the_only_one():
    said = {"kind": "robustness", "results": [{"rho": 1}, {"rho": 2}], "comparisons": [3]}
    summary = {"measures": {"robustness": said}, "warnings": [], "skipped": {}, "calls": {"it": 4}}
    assert result_values(summary, "robustness") == {
        "results": [{"rho": 1}, {"rho": 2}],
        "comparisons": [3],
        "warnings": [],
        "skipped": {},
    }
    summary = {"measures": {"own": {"kind": "own", "entries": [{"keep": 1}]}}, "warnings": ["a"]}
    assert result_values(summary, "own") == {"keep": 1, "results": [{"keep": 1}], "warnings": ["a"]}
    summary = {"measures": {"own": {"kind": "own", "change": 0.5}}, "warnings": []}
    assert result_values(summary, "own") == {"change": 0.5, "warnings": []}


def test_ids_that_were_asked_for_are_not_cut_short_by_a_default(cli):
    ids = "/".join(map(str, range(30)))
    arguments = ("sample", "bundled:plain", "sample", "--nuisance", "rotation", "--budget", 4, "--keep", 2, "--json")
    assert cli(*arguments, "--ids", ids).json["images"] == 30
