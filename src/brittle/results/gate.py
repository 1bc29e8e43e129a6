"""The result of `brittle.check`: the verdict of the gate."""

from __future__ import annotations

from dataclasses import dataclass

from brittle.gate.blocks import as_html, as_text, markdown_of
from brittle.gate.junit import junit_of
from brittle.gate.verdict import GateVerdict


@dataclass(frozen=True, repr=False)
class GateResult(GateVerdict):
    """A verdict: its `state`, the `changes`, `numbers`, `cases` and `failures` behind it, and plain `values`."""

    def __repr__(self) -> str:
        return as_text(self)

    def _repr_html_(self) -> str:
        return as_html(self)

    def markdown(self) -> str:
        """A short summary, for a pull request or a model's page."""
        return markdown_of(self)

    def junit(self) -> str:
        """JUnit XML, as CI systems read it."""
        return junit_of(self)
