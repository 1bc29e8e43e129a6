"""The run folder: what is not ours is never touched, and a kill while a run begins leaves a folder that can be used."""

import os
from pathlib import Path

import pytest
from engine_runs import run

from brittle.engine.job import FORMAT
from brittle.engine.store import place
from brittle.errors import BrittleError

pytestmark = pytest.mark.warned("is near chance on the untouched images", "has a mean confidence of")

SOMEBODYS = {
    "a thesis": {"thesis.tex": "…"},
    "a lock of another program": {".lock": "pid 17", "data.bin": "…"},
    "nothing but another program's lock": {".lock": "pid 17"},
    "a study somebody wrote": {"study.toml": "seed = 3"},
    "temporary files": {"notes.tmp": "…", "study.toml.bak.tmp": "…", "x.parquet.12.tmp": "…"},
    "a summary": {"summary.json": "{}"},
    "a folder called units": {"units/clean/first/toy/000000000-000000001.rows.parquet": "…"},
}


def everything(folder: Path) -> dict[Path, tuple[int, int, bytes]]:
    """Every file below a folder: which one it is, when it was written, what it holds."""
    return {
        path: (path.stat().st_ino, path.stat().st_mtime_ns, path.read_bytes() if path.is_file() else b"")
        for path in [folder, *folder.rglob("*")]
    }


@pytest.mark.parametrize("files", SOMEBODYS.values(), ids=SOMEBODYS)
def test_a_folder_that_holds_other_things_is_left_as_it_is(things, files):
    for name, text in files.items():
        (things.out / name).parent.mkdir(parents=True, exist_ok=True)
        (things.out / name).write_text(text)
    before = everything(things.out)
    with pytest.raises(BrittleError, match="holds other things and is not a run folder") as refusal:
        run(things.study(), out=things.out)
    assert "\n" not in str(refusal.value)
    assert everything(things.out) == before


def test_a_run_folder_keeps_what_somebody_puts_beside_the_run(things):
    run(things.study(), out=things.out)
    notes = [things.out / "notes.tmp", things.out / "units" / "notes.parquet.tmp", things.out / "study.toml.bak"]
    for path in notes:
        path.write_text("mine")
    run(things.study(), out=things.out)
    assert [path.read_text() for path in notes] == ["mine"] * 3


def test_a_file_is_not_a_folder(things):
    things.out.write_text("mine")
    with pytest.raises(BrittleError, match="can't be used as a run folder"):
        run(things.study(), out=things.out)
    assert things.out.read_text() == "mine"


def test_a_lock_that_leads_elsewhere_is_not_followed(things):
    run(things.study(), out=things.out)
    elsewhere = things.folder / "precious"
    elsewhere.write_text("mine")
    (things.out / ".lock").unlink()
    (things.out / ".lock").symlink_to(elsewhere)
    with pytest.raises(BrittleError, match="can't be used as a run folder"):
        run(things.study(), out=things.out)
    assert elsewhere.read_text() == "mine"


def test_an_empty_folder_is_used(things):
    things.out.mkdir()
    assert run(things.study(), out=things.out)["measures"]


@pytest.mark.parametrize("written", range(3))
def test_a_run_killed_while_it_began_begins_again_with_any_study(things, monkeypatch, written):
    """Nothing was computed yet, so nothing binds the folder."""
    _killed_at(monkeypatch, written)
    with pytest.raises(KeyboardInterrupt):
        run(things.study(), out=things.out)
    monkeypatch.undo()
    things.write_images(seed=1)
    assert run(things.study(seed=5), out=things.out) == run(things.study(seed=5), out=None)


@pytest.mark.parametrize("written", range(3))
def test_an_extension_killed_while_it_began_binds_to_nothing_new(things, monkeypatch, written):
    run(things.study("first"), out=things.out)
    module, text = things.folder / "more.py", (things.folder / "things.py").read_text()
    module.write_text(text)
    extended = things.study("first")
    extended["classifiers"]["second"] = f"python:{module}:second"
    _killed_at(monkeypatch, written)
    with pytest.raises(KeyboardInterrupt):
        run(extended, out=things.out)
    monkeypatch.undo()
    module.write_text(text.replace('scores("second", images, 2)', 'scores("second", images, 3)'))
    assert run(extended, out=things.out) == run(extended, out=None)


def _killed_at(monkeypatch: pytest.MonkeyPatch, written: int) -> None:
    """A kill in the middle of the next durable write after so many."""
    write, count = place.write_durably, iter(range(100))

    def killed(path, content):
        if next(count) == written:
            path.with_name(f"{path.name}.{os.getpid()}.tmp").write_text("half")
            raise KeyboardInterrupt
        write(path, content)

    monkeypatch.setattr(place, "write_durably", killed)


def test_a_run_of_an_older_version_is_refused_in_one_line(things):
    run(things.study(), out=things.out)
    begun = things.out / "begun.json"
    begun.write_text(begun.read_text().replace(f'"format": {FORMAT},', ""))
    before = everything(things.out / "units")
    with pytest.raises(BrittleError, match=r"was made by another version .*into another folder") as refusal:
        run(things.study(), out=things.out)
    assert "\n" not in str(refusal.value)
    assert everything(things.out / "units") == before
