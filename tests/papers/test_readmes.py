"""The papers' pages say what their scripts computed: every estimate with an interval is in the tables beside it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAPERS = Path(__file__).parents[2] / "papers"
NUMBER = r"[+−-]?\d+(?:\.\d+)?"
ESTIMATE = re.compile(rf"({NUMBER})(?: %)? \[({NUMBER}), ({NUMBER})\]")


def estimates(text: str) -> list[tuple[str, str, str]]:
    """Every "1.18 [0.80, 1.63]", as written but for the sign."""
    return [tuple(each.replace("−", "-") for each in found) for found in ESTIMATE.findall(text)]  # type: ignore[misc]


def rounds_to(value: str, written: str) -> bool:
    digits = len(written.partition(".")[2])
    return abs(float(value) - float(written)) <= 0.5 * 10.0**-digits + 1e-9


@pytest.mark.parametrize("paper", ["urem", "marcu2022", "cns2025"])
def test_every_estimate_of_the_page_is_in_its_tables(paper: str) -> None:
    page = (PAPERS / paper / "README.md").read_text(encoding="utf-8")
    tables = estimates((PAPERS / paper / "results.md").read_text(encoding="utf-8"))
    lacking = [each for each in estimates(page) if not any(all(map(rounds_to, known, each)) for known in tables)]
    assert len(estimates(page)) >= 3
    assert not lacking
