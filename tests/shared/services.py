"""Services in processes of their own, on 127.0.0.1."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import toy_service


class Toys:
    """A service that is running, and how to speak to it."""

    def __init__(self, folder: Path, process: subprocess.Popen[str], port: int) -> None:
        self.folder, self.process, self.port = folder, process, port
        self.url = f"http://127.0.0.1:{port}"

    @property
    def seen(self) -> dict[str, Any]:
        return json.loads((self.folder / "seen.json").read_text())

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Callable[..., Toys]]:
    """`served("500=3")`: a service that makes this trouble."""
    begun: list[Toys] = []

    def serve(*troubles: str, port: int = 0) -> Toys:
        folder = tmp_path / f"service{len(begun)}"
        folder.mkdir()
        process = subprocess.Popen(
            [sys.executable, toy_service.__file__, str(folder), str(port), *troubles], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        begun.append(Toys(folder, process, int(process.stdout.readline())))
        return begun[-1]

    yield serve
    for each in begun:
        each.kill()
        each.process.stdout.close()
