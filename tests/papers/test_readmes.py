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


def fawzi_page() -> str:
    return " ".join((PAPERS / "fawzi2016" / "README.md").read_text(encoding="utf-8").split())


def test_so_many_cells_of_table_1_lie_near_the_paper_s() -> None:
    rows = fawzi("table1")
    cells = {(row["network"], row["alpha"]) for row in rows}
    apart = {
        (network, alpha): abs(mean_of(rows, "difference", network=network, alpha=alpha)) for network, alpha in cells
    }
    near = [each for each in apart.values() if each <= 0.03]
    far = [apart[which] for which in (("cnn-1-da", 10.0), ("cnn-2-da", 50.0), ("cnn-2-stn", 50.0), ("cnn-2-stn", 10.0))]
    assert f"{len(near)} of {len(apart)} cells lie within 0.03 of the paper's" in fawzi_page()
    first, *others, last = (f"{each:.3f}" for each in far)
    assert f"by {first}, {', '.join(others)} and {last}." in fawzi_page()
    ranges = [max(own) - min(own) for network, alpha in cells if (own := rhos(rows, network, alpha))]
    assert max(ranges) <= 0.02
    most = max(
        abs(
            mean_of(rows, "rho", network=f"{base}-dropout", alpha=alpha)
            - mean_of(rows, "rho", network=base, alpha=alpha)
        )
        for base in ("cnn-1", "cnn-2")
        for alpha in (100, 50, 10)
    )
    assert f"at most {most:.3f} either way" in fawzi_page()


def rhos(rows: list[dict[str, Any]], network: str, alpha: float) -> list[float]:
    return [row["rho"] for row in rows if (row["network"], row["alpha"]) == (network, alpha)]


def test_what_is_said_of_accuracy_in_table_1_is_what_was_trained() -> None:
    rows = fawzi("table1")
    error = {
        name: 100 * mean_of(rows, "test_error", network=name)
        for name in ("cnn-1", "cnn-1-dropout", "cnn-2", "cnn-2-dropout")
    }
    assert f"{error['cnn-1']:.2f}" == f"{error['cnn-1-dropout']:.2f}"
    assert f"leaves CNN-1's error at {error['cnn-1-dropout']:.2f} % here" in fawzi_page()
    assert f"CNN-2's from {error['cnn-2']:.2f} to {error['cnn-2-dropout']:.2f} %" in fawzi_page()
    for base in ("cnn-1", "cnn-2"):
        for column in ("test_error", "paper_test_error"):
            assert mean_of(rows, column, network=f"{base}-da") < mean_of(rows, column, network=base)


def test_figure_1_of_fawzi_and_frossard_s_page_counts_what_was_drawn() -> None:
    rows = fawzi("figure1")
    effective, one_minus_mu = {}, {}
    for row in rows:
        effective[row["sampler"], row["image"]] = row["effective"]
        one_minus_mu[row["image"]] = row["one_minus_mu_by_quadrature"]
    chain, default = (
        [f"{value:.0f}" for (name, _), value in effective.items() if (name == "Metropolis") == metropolis]
        for metropolis in (True, False)
    )
    assert f"it gives {chain[0]} and {chain[1]} effective draws" in fawzi_page()
    assert f"Brittle's default sampler {default[0]} and {default[1]}" in fawzi_page()
    first, second = (f"{value:.2f}" for value in one_minus_mu.values())
    assert f"with 1 − µ(x) of {first} and {second}" in fawzi_page()


def test_efficiency_of_metropolis_on_rare_failures_is_that_of_the_benchmarks() -> None:
    table = (PAPERS.parent / "benchmarks" / "README.md").read_text(encoding="utf-8")
    assert re.search(r"^\| metropolis:step=1,adapt=no \| \d+ \| 23\.3 \|", table, re.MULTILINE)
    assert re.search(r"^\| rejection \| \d+ \| 1\.0 \|", table, re.MULTILINE)
    assert "23.3 effective draws against 1.0" in fawzi_page()


def test_faces_of_fawzi_and_frossard_s_page_are_those_of_its_table() -> None:
    table = (PAPERS / "fawzi2016" / "figure4.md").read_text(encoding="utf-8")
    rows = {
        (prior, region): line.split(" | ")[5]
        for line in table.splitlines()
        if line.count(" | ") == 6
        for prior, region in [(line.split(" | ")[0].strip("| "), line.split(" | ")[1])]
    }
    at = {region: rows["scale = 0.05", region] for region in ("mouth", "nose", "eyes")}
    flat = rows["the paper's prior (σ = 2000)", "mouth"]
    assert f"{flat} times as often as draws of the prior that hide as much, and {at['mouth']} times" in fawzi_page()
    assert f"nose ({at['nose']}) and eyes ({at['eyes']}) follow" in fawzi_page()
    assert "ρ is 0.958 [0.849, 0.993]" in fawzi_page()
    assert "| 0.958 [0.849, 0.993] |" in table


def test_re_training_of_fawzi_and_frossard_s_page_has_its_means() -> None:
    rows = fawzi("harden")

    def rho(data: str, method: str) -> str:
        return f"{mean_of(rows, 'rho', data=data, nuisance='affine:alpha=100', method=method):.3f}"

    kinds = ("weak points, equal", "prior, as many calls", "before", "weak points, corrected")
    equal, prior, before, corrected = (rho("FashionMNIST", kind) for kind in kinds)
    assert f"ρ̂ {equal} against {prior}; {before} before)" in fawzi_page()
    assert f"level on FashionMNIST ({corrected})" in fawzi_page()
    equal, prior, before, corrected = (rho("MNIST", kind) for kind in kinds)
    assert f"({equal} against {prior}, no seed's interval excludes 0; {before} before)" in fawzi_page()
    assert f"({corrected} in the mean)" in fawzi_page()
    seeds = [
        {row["seed"]: row["rho"] for row in rows if which(row) == ("MNIST", "affine:alpha=100", method)}
        for method in ("weak points, corrected", "prior, as many calls")
    ]
    ahead = [seeds[0][seed] - seeds[1][seed] for seed in seeds[0]]
    assert f"in each of three seeds, by {min(ahead):.3f} to {max(ahead):.3f}" in fawzi_page()


def which(row: dict[str, Any]) -> tuple[str, str, str]:
    return row["data"], row["nuisance"], row["method"]


def test_confidence_on_untouched_photographs_is_that_of_the_page() -> None:
    rows = fawzi("table2-untouched")
    first, *others = (f"{mean_of(rows, 'p_label', network=f'lite{number}'):.2f}" for number in range(3))
    assert f"confidence on untouched photographs, {first} against {' and '.join(others)}" in fawzi_page()
