"""The papers' pages say what their scripts computed: every estimate with an interval is in the tables beside it."""

from __future__ import annotations

import re
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
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


@pytest.mark.slow
@pytest.mark.parametrize("paper", ["urem", "marcu2022", "cns2025"])
def test_tables_are_what_the_page_s_command_makes_of_the_committed_data(paper: str, tmp_path: Path) -> None:
    command = [sys.executable, str(PAPERS / paper / "page.py"), "--out", str(tmp_path)]
    subprocess.run(command, check=True, capture_output=True)
    assert (tmp_path / "results.md").read_text("utf-8") == (PAPERS / paper / "results.md").read_text("utf-8")


def fawzi(name: str) -> list[dict[str, Any]]:
    return pq.read_table(PAPERS / "fawzi2016" / f"{name}.parquet").to_pylist()


def mean_of(rows: list[dict[str, Any]], column: str, **which: Any) -> float:
    return statistics.mean(row[column] for row in rows if all(row[key] == value for key, value in which.items()))


def test_table_1_of_fawzi_and_frossard_s_page_holds_the_means_of_its_trainings() -> None:
    rows = fawzi("table1")
    page = (PAPERS / "fawzi2016" / "README.md").read_text(encoding="utf-8")
    table = page.split("| network | test error |")[1].split("\n\n")[0].splitlines()[2:]
    base, seen = "", []
    for line in table:
        name, *cells = (cell.strip().replace("*", "") for cell in line.strip("|").split("|"))
        base = base if name.startswith("+") else name.lower()
        network = base + name.lower().replace("+ ", "-") if name.startswith("+") else base
        error, *rhos = ([float(number) for number in re.findall(r"\d+\.\d+", cell)] for cell in cells)
        assert mean_of(rows, "test_error", network=network) == pytest.approx(error[0] / 100, abs=5.01e-5)
        assert mean_of(rows, "paper_test_error", network=network) == pytest.approx(error[1] / 100)
        for alpha, (here, paper) in zip((100, 50, 10), rhos, strict=True):
            assert mean_of(rows, "rho", network=network, alpha=alpha) == pytest.approx(here, abs=5.01e-4)
            assert mean_of(rows, "paper_rho", network=network, alpha=alpha) == pytest.approx(paper)
        seen.append(network)
    assert sorted(seen) == sorted({row["network"] for row in rows})


def test_table_2_of_fawzi_and_frossard_s_page_holds_what_was_measured() -> None:
    rows = fawzi("table2")
    page = " ".join((PAPERS / "fawzi2016" / "README.md").read_text(encoding="utf-8").split())
    for number in range(3):
        means = [mean_of(rows, "rho", network=f"lite{number}", amplitude=amplitude) for amplitude in (4, 8, 16)]
        assert f"{', '.join(f'{each:.2f}' for each in means)} for Lite {number}" in page
    accuracies = [mean_of(rows, "accuracy_nuisance", network=f"lite{number}", amplitude=8) for number in range(3)]
    assert f"({', '.join(f'{each:.2f}' for each in accuracies)} at 8 pixels)" in page


def test_figure_4_of_fawzi_and_frossard_s_page_counts_what_was_drawn() -> None:
    rows = fawzi("figure4")
    page = " ".join((PAPERS / "fawzi2016" / "README.md").read_text(encoding="utf-8").split())
    chains = [row for row in rows if row["sampler"] == "metropolis"]
    priors = list(dict.fromkeys(row["prior"] for row in rows))
    rhat, effective = (
        [statistics.median(row[column] for row in chains if row["prior"] == prior) for prior in priors]
        for column in ("rhat", "effective")
    )
    assert f"R̂ is {rhat[0]:.1f} and {rhat[1]:.1f} (medians)" in page
    assert f"give {effective[0]:.0f} and {effective[1]:.0f} effective draws" in page
    assert not any(row["status"] == "trusted" for row in chains)
