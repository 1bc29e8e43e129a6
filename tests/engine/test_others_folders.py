"""A run folder from somebody else: its links lead nowhere, and its code is run only by who was told."""

import shutil
from pathlib import Path

import pytest

from brittle.api import harden, run
from brittle.errors import BrittleError

pytestmark = pytest.mark.warned("is near chance on the untouched images", "has a mean confidence of")


@pytest.fixture
def there(things):
    """A finished run under one nuisance."""
    study = things.study(nuisances=["affine:alpha=20"])
    return study, run(study, out=things.out)


@pytest.mark.parametrize("part", ["units", "units/robustness", "units/robustness/first/toy"])
def test_a_linked_folder_of_units_is_refused_and_left_alone(things, there, part):
    study, _ = there
    inside, elsewhere = things.out / part, things.folder / "elsewhere"
    shutil.move(inside, elsewhere)
    inside.symlink_to(elsewhere)
    for path in elsewhere.rglob("*.parquet"):
        path.write_bytes(path.read_bytes()[:-10])
    before = {path: path.read_bytes() for path in elsewhere.rglob("*.parquet")}
    with pytest.raises(BrittleError, match=r"is a symbolic link, which is not followed"):
        run(study, out=things.out)
    assert before == {path: path.read_bytes() for path in elsewhere.rglob("*.parquet")}
    assert before


def test_a_linked_unit_file_is_no_unit_file(things, there):
    study, found = there
    (file,) = things.unit_files("affine")
    elsewhere = things.folder / "precious.parquet"
    shutil.move(file, elsewhere)
    file.symlink_to(elsewhere)
    kept = elsewhere.read_bytes()
    assert run(study, out=things.out) == found
    assert elsewhere.read_bytes() == kept
    assert not file.is_symlink()


def test_a_link_in_the_place_of_a_file_to_come_is_not_followed(things, monkeypatch):
    monkeypatch.setattr("brittle.files.os.getpid", lambda: 7)
    things.out.mkdir()
    precious = things.folder / "precious"
    precious.write_text("mine")
    (things.out / "summary.json.7.tmp").symlink_to(precious)
    run(things.study(nuisances=["affine:alpha=20"]), out=things.out)
    assert precious.read_text() == "mine"


def test_a_report_says_which_code_it_runs_and_can_do_without(things, there, cli):
    module, ran = things.folder / "things.py", things.folder / "ran"
    module.write_text(f"open({str(ran)!r}, 'w')\n" + module.read_text())
    said = cli("report", things.out)
    assert f"first (python:{module}:first)" in said.err
    assert ran.exists()
    ran.unlink()
    said = cli("report", things.out, "--no-load")
    assert (said.status, said.err) == (0, "")
    assert not ran.exists()
    page = (things.out / "report.html").read_text()
    assert "Nothing that the study names was loaded" in page
    rho = there[1]["measures"]["robustness"]["results"][0]["rho"]
    assert f"{rho:.3f}" in page


@pytest.mark.parametrize("out", ["", " "])
def test_an_empty_name_is_not_the_current_folder(things, out, monkeypatch):
    monkeypatch.chdir(things.folder)
    before = set(Path.cwd().iterdir())
    with pytest.raises(BrittleError, match="the name of the run folder is empty"):
        run(things.study(), out=out)
    with pytest.raises(BrittleError, match="the name of the run folder is empty"):
        harden("bundled:plain", "sample", "affine", out)
    assert set(Path.cwd().iterdir()) == before
