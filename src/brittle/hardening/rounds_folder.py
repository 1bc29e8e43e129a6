"""What a hardening keeps in its folder after every round, so that the same command goes on after a kill."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import nn

from brittle.classifiers.checkpoint import load_weights
from brittle.files import remove_half_written
from brittle.progress import Progress
from brittle.training.trainer import refuse_changes
from brittle.training.weights import read_facts, save_weights, state_of

WEIGHTS = "weights.safetensors"
FILES = (WEIGHTS, "harden.json")


@dataclass(frozen=True)
class RoundsFolder:
    """Weights and facts of every round under `folder/rounds`; with no folder nothing is kept."""

    folder: Path | None
    about: Mapping[str, Any]  # plain values that identify the hardening

    def _round(self, number: int) -> Path | None:
        return None if self.folder is None else self.folder / "rounds" / f"{number}.safetensors"

    def remove_half_written(self, rounds: int) -> None:
        """Removes what a kill left half-written."""
        if self.folder is not None:
            remove_half_written(self.folder, FILES)
            remove_half_written(self.folder / "rounds", [f"{number}.safetensors" for number in range(rounds + 1)])

    def refuse_changes(self) -> None:
        """Refuses a folder that holds the rounds of another hardening."""
        path = self._round(0)
        if path is not None and path.is_file():
            refuse_changes(path.parent.parent, read_facts(path, "hardening")["about"], self.about, "hardening")

    def read(self, number: int, module: nn.Module) -> list[dict[str, Any]] | None:
        """Fills the module with a round's weights and returns what was found; None where it is not done yet."""
        path = self._round(number)
        if path is None or not path.is_file():
            return None
        known = read_facts(path, "hardening")
        refuse_changes(path.parent.parent, known["about"], self.about, "hardening")
        load_weights(module, path)
        found: list[dict[str, Any]] = known["found"]
        return found

    def write(self, number: int, module: nn.Module, found: list[dict[str, Any]]) -> None:
        path = self._round(number)
        if path is not None:
            save_weights(path, state_of(module), "hardening", {"about": self.about, "found": found})


class PhasedProgress(Progress):
    """Several pieces of work, each with a total of its own, on one bar."""

    def __init__(self, bar: Progress) -> None:
        super().__init__()
        self.bar, self.done, self.what = bar, 0, ""

    def phase(self, what: str) -> None:
        self.what = what
        self.bar.at(what)

    def start(self, total: int) -> None:
        self.bar.start(self.done + total)

    def at(self, what: str) -> None:
        self.bar.at(self.what)

    def advance(self, rows: int) -> None:
        self.done += rows
        self.bar.advance(rows)

    def note(self, text: str) -> None:
        self.bar.note(text)
