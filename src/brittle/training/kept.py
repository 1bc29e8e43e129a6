"""What a hardening keeps in its folder after every round, so that the same command goes on after a kill."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from brittle.classifiers.base import first_line
from brittle.classifiers.checkpoint import load_weights
from brittle.errors import BrittleError
from brittle.files import write_durably
from brittle.progress import Silent
from brittle.training.trainer import refuse_changes

State = dict[str, Tensor]


@dataclass(frozen=True)
class Kept:
    """Weights and facts of every round under `folder/rounds`; with no folder nothing is kept."""

    folder: Path | None
    about: Mapping[str, Any]  # plain values: what the hardening is of

    def _round(self, number: int) -> Path | None:
        return None if self.folder is None else self.folder / "rounds" / f"{number}.safetensors"

    def read(self, number: int, module: nn.Module) -> list[dict[str, Any]] | None:
        """Fills the module with a round's weights and returns what was found; None where it is not done yet."""
        path = self._round(number)
        if path is None or not path.is_file():
            return None
        try:
            with safe_open(path, framework="pt") as file:
                known: dict[str, Any] = json.loads((file.metadata() or {})["hardening"])
        except (SafetensorError, OSError, KeyError, ValueError) as error:
            raise BrittleError(f"{path} can't be read: {first_line(error)}", "Delete it to do it again.") from error
        refuse_changes(path, known["about"], self.about)
        load_weights(module, path)
        found: list[dict[str, Any]] = known["found"]
        return found

    def write(self, number: int, module: nn.Module, found: list[dict[str, Any]]) -> None:
        path = self._round(number)
        if path is not None:
            save_weights(path, state_of(module), {"about": self.about, "found": found})


def state_of(module: nn.Module) -> State:
    """A copy of the weights, on the CPU."""
    return {key: value.detach().cpu().clone().contiguous() for key, value in module.state_dict().items()}


def save_weights(path: Path, weights: State, facts: Mapping[str, Any]) -> None:
    # One entry, since safetensors writes several in any order and the same hardening would give other bytes.
    write_durably(path, lambda to: to.write_bytes(save(weights, {"hardening": json.dumps(facts)})))


class Phases(Silent):
    """Several pieces of work, each with a total of its own, on one bar."""

    def __init__(self, bar: Silent) -> None:
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
