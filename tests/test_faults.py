"""A small part of `make faults`, so that the campaign itself stays fit to run."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cc") is None, reason="the campaign is loaded before libc, and needs a C compiler")
@pytest.mark.parametrize("command", ["run", "harden", "train", "generate", "report"])
def test_whatever_happens_to_a_command_the_same_one_ends_as_if_nothing_had(command):
    said = subprocess.run(
        [sys.executable, "-m", "benchmarks.faults", "--times", "1", "--only", command],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert said.returncode == 0, said.stdout + said.stderr
    assert f"{command}: EIO at a read event" in said.stdout
    assert (f"{command}: SIGSTOP of a worker on Ray: 1 of 1 held" in said.stdout) == (command == "run")
