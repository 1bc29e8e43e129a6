"""Garbage in a run's own files: one line that names the file and what to do, and never a number from it."""

import json
import shutil
from datetime import date
from pathlib import Path

import pytest
import tomli_w
from engine_runs import run_study

import brittle
from brittle.engine.job import FORMAT
from brittle.engine.open import open_inputs
from brittle.engine.store.checked_json import checked_text, read_checked
from brittle.errors import BrittleError
from brittle.measures import measures
from brittle.report.html import write_report

STUDY = {
    "classifiers": {"plain": "bundled:plain"},
    "images": {"sample": {"spec": "sample", "count": 12}},
    "nuisances": ["rotation"],
    "robustness": {"samples": 2},
}
JSON = ("begun.json", "environment.json", "summary.json")
GARBAGE = {
    "nothing": b"",
    "other bytes": b"\xff\xfe\0garbage",
    "other text": b"what is this?",
    "an empty object": b"{}",
    "a list": b"[1, 2]",
    "a number": b"3",
    "null": b"null",
    "something nested": b"[" * 100_000,
}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("finished") / "run"
    brittle.run(STUDY, out=folder)
    return folder


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "run"))


@pytest.mark.parametrize("name", [*JSON, "study.toml"])
@pytest.mark.parametrize("garbage", GARBAGE)
def test_a_report_names_the_file_that_is_garbage(run, cli, name, garbage):
    (run / name).write_bytes(GARBAGE[garbage])
    complaint = cli("report", run).complaint(2)
    assert f"{run / name} is " in complaint or "was made by another version" in complaint


@pytest.mark.parametrize("name", ["begun.json", "environment.json", "study.toml"])
@pytest.mark.parametrize("garbage", GARBAGE)
def test_resuming_names_the_file_that_is_garbage_and_keeps_the_rest(run, cli, name, garbage):
    study = run.parent / "study.toml"
    study.write_text(tomli_w.dumps(STUDY))
    (run / name).write_bytes(GARBAGE[garbage])
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file() and path.name != ".lock"}
    complaint = cli("run", study, "--out", run).complaint(2)
    assert f"{run / name} is " in complaint or "was made by another version" in complaint
    assert {path: path.read_bytes() for path in before} == before


@pytest.mark.parametrize("garbage", GARBAGE)
def test_a_summary_that_is_garbage_is_written_anew(run, finished, garbage):
    (run / "summary.json").write_bytes(GARBAGE[garbage])
    brittle.run(STUDY, out=run)
    assert (run / "summary.json").read_bytes() == (finished / "summary.json").read_bytes()


@pytest.mark.parametrize("name", JSON)
def test_a_changed_value_is_noticed(run, name):
    said = json.loads((run / name).read_text())
    key = next(key for key in said if key != "checksum")
    (run / name).write_text(json.dumps(said | {key: FORMAT if name == "begun.json" else "other", "labels": ["cat"]}))
    with pytest.raises(BrittleError, match=rf"{name} is not as Brittle wrote it: its checksum is wrong\. \w+"):
        write_report(run)


def test_a_file_may_be_written_in_another_form(run):
    said = json.loads((run / "summary.json").read_text())
    (run / "summary.json").write_text(json.dumps(said, indent=4, sort_keys=True))
    assert write_report(run).is_file()


@pytest.mark.parametrize(
    "change",
    [
        {"seed": "3"},
        {"classifiers": {"plain": 3}},
        {"classifiers": ["bundled:plain"]},
        {"images": {"sample": {"spec": 3}}},
        {"measures": {"robustness": {"kind": 3}}},
        {"nuisances": 3},
        {"seed": 1},
        {"nuisances": {"rotation": "rotation:sigma=3"}},
    ],
)
def test_a_kept_study_of_another_form_or_of_other_things_is_refused(run, change):
    kept = open_inputs(run / "study.toml").study.resolved()
    (run / "study.toml").write_text(tomli_w.dumps(kept | change))
    with pytest.raises(BrittleError, match=r"study.toml is (damaged: it is not the study|not the study)"):
        write_report(run)
    with pytest.raises(BrittleError, match=r"study.toml is damaged|the study has changed"):
        brittle.run(STUDY, out=run)


def test_a_title_may_be_changed_by_hand(run):
    kept = open_inputs(run / "study.toml").study.resolved()
    (run / "study.toml").write_text(tomli_w.dumps(kept | {"title": "Mine"}))
    assert "Mine" in write_report(run).read_text(encoding="utf-8")


def test_without_its_study_a_run_keeps_its_units(run):
    (run / "study.toml").write_bytes(b"\xff")
    with pytest.raises(BrittleError, match=r"Delete it and give the run command again"):
        brittle.run(STUDY, out=run)
    (run / "study.toml").unlink()
    stored = {path: path.stat().st_ino for path in (run / "units").rglob("*.parquet")}
    brittle.run(STUDY, out=run)
    assert {path: path.stat().st_ino for path in (run / "units").rglob("*.parquet")} == stored


@pytest.mark.parametrize("measure", ["robustness", "clean"])
def test_a_report_without_a_unit_says_which_and_keeps_the_numbers(run, cli, measure):
    for path in (run / "units" / measure).rglob("*.parquet"):
        path.unlink()
    assert cli("report", run).status == 0
    page = (run / "report.html").read_text(encoding="utf-8")
    assert f"units 0 to 0 of {measure} · plain · sample" in page
    assert "are missing. Give the run command again" in page
    summary = read_checked(run / "summary.json", "")
    assert f"{summary['measures']['robustness']['results'][0]['rho']:.3f}" in page


def test_other_commands_name_the_file_too(tmp_path, cli):
    sampled = ("sample", "bundled:plain", "sample", "--nuisance", "rotation", "--count", 2, "--budget", 50, "--out")
    assert cli(*sampled, tmp_path / "run").status == 0
    for name, garbage in (("begun.json", b"[]"), ("environment.json", b"null"), ("study.toml", b"classifiers = 3")):
        sound = (tmp_path / "run" / name).read_bytes()
        (tmp_path / "run" / name).write_bytes(garbage)
        assert f"{name} is damaged" in cli(*sampled, tmp_path / "run").complaint(2)
        (tmp_path / "run" / name).write_bytes(sound)
    assert cli(*sampled, tmp_path / "run").status == 0


def test_nan_of_a_measure_and_dates_of_a_study_are_json_that_anybody_reads(tmp_path, monkeypatch):
    said = {"results": [{"rho": float("nan"), "interval": [0.5, float("inf")]}], "warnings": []}
    monkeypatch.setattr(measures.get("robustness"), "summarise", lambda self, run: dict(said))
    about = {"spec": "bundled:plain", "trained": date(2026, 1, 2), "loss": float("inf")}
    summary = run_study(STUDY | {"classifiers": {"plain": about}}, tmp_path / "run").summary
    assert summary["measures"]["robustness"]["results"] == [{"rho": None, "interval": [0.5, None]}]
    kept = json.loads((tmp_path / "run" / "summary.json").read_text(), parse_constant=pytest.fail)
    assert kept["measures"] == summary["measures"]
    assert kept["classifiers"]["plain"]["attributes"] == {"trained": "2026-01-02", "loss": None}


def test_what_is_kept_is_json_that_anybody_reads(tmp_path):
    with pytest.raises(ValueError, match="JSON"):
        checked_text("a.json", {"rho": float("nan")})
    (tmp_path / "a.json").write_text(checked_text("a.json", {"ρ": [1.0, None]}))
    assert read_checked(tmp_path / "a.json", "") == {"ρ": [1.0, None]}


def test_a_file_is_not_taken_for_another(run):
    (run / "summary.json").write_bytes((run / "environment.json").read_bytes())
    with pytest.raises(BrittleError, match=r"summary.json is not as Brittle wrote it"):
        write_report(run)
