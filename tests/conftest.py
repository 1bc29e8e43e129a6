"""What tests of several places share: the command line, in this process or in one of its own."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from brittle import cli as command_line


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """`@pytest.mark.warned("near chance")`: the test makes Brittle warn, in words that hold these. No other warning is
    expected of it."""
    for item in items:
        for words in (words for mark in item.iter_markers("warned") for words in mark.args):
            item.add_marker(pytest.mark.filterwarnings(f"ignore:.*{re.escape(words)}:brittle.BrittleWarning"))


class Said(NamedTuple):
    """What a command left behind."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    def complaint(self, status: int) -> str:
        """The one line on standard error that a mistake or failure is answered with, and nothing besides."""
        lines = self.err.splitlines()
        assert (self.status, self.out, len(lines)) == (status, "", 1), self
        assert lines[0].startswith("brittle: "), self
        return lines[0]


# Tests that run in the background inherit an ignored SIGINT; a user at a terminal does not.
MAIN = """import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from brittle.cli import main
main()"""


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Said]:
    """`cli("measure", …)`: the command's own entry point, in this process."""

    def call(*arguments: object) -> Said:
        monkeypatch.setattr(sys, "argv", ["brittle", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            command_line.main()
        return Said(int(stop.value.code or 0), *capsys.readouterr())

    return call


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """`start("run", …)`: the command in a process of its own, which does not outlive the test."""
    begun: list[subprocess.Popen[str]] = []

    def call(*arguments: object, cwd: Path | None = None, **variables: str) -> subprocess.Popen[str]:
        begun.append(
            subprocess.Popen(
                [sys.executable, "-c", MAIN, *map(str, arguments)],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                cwd=cwd,
                env=os.environ | {"OMP_NUM_THREADS": "1"} | variables,
            )
        )
        return begun[-1]

    yield call
    for process in begun:
        process.kill()
        process.communicate()


@pytest.fixture
def ended() -> Callable[[subprocess.Popen[str]], Said]:
    """What a started command said, once it has ended."""

    def wait(process: subprocess.Popen[str]) -> Said:
        out, err = process.communicate(timeout=120)
        return Said(process.returncode, out, err)

    return wait


@pytest.fixture(scope="session")
def torchvision() -> Iterator[Any]:
    """torchvision, which timm needs too. Beside a CPU build of torch its own operators are missing, and it fails to
    import for want of two that no classifier uses: these are then declared here."""
    import torch

    kept = None
    try:
        import torchvision
    except RuntimeError:
        kept = torch.library.Library("torchvision", "DEF")
        for name in ("nms", "qnms"):
            kept.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        import torchvision
    yield torchvision
    del kept


@pytest.fixture(autouse=True)
def own_modules(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A folder that a test's specs put on the path, and the modules found there, are gone with the test."""
    before, here = list(sys.path), str(tmp_path_factory.getbasetemp())
    yield
    added = [folder for folder in sys.path if folder.startswith(here) and folder not in before]
    if added:
        sys.path[:] = [folder for folder in sys.path if folder not in added]
        for name, module in list(sys.modules.items()):
            if str(getattr(module, "__file__", None)).startswith(tuple(folder + os.sep for folder in added)):
                del sys.modules[name]
