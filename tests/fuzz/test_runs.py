"""Whatever becomes of a run's files: what is read is what was written, or it is refused in one line."""

import json
import shutil

import numpy as np
import pyarrow.parquet as pq
import pytest
import tomli_w
from hypothesis import given
from hypothesis import strategies as some
from made_up import PLAIN, altered, costly, mutated, taken_or_refused
from torch import nn

import brittle
from brittle.engine.store.run_folder import RunFolder
from brittle.engine.store.unit_store import FolderStore
from brittle.hardening.rounds_folder import RoundsFolder
from brittle.measures.base import Cell
from brittle.report.html import write_report

STUDY = {
    "classifiers": {"one": "python:mine.py:one", "two": "python:mine.py:two"},
    "images": {"toy": "npz:toy.npz"},
    "nuisances": ["rotation:sigma=9"],
    "robustness": {"samples": 3},
    "weak-points": {"count": 2, "budget": 60, "keep": 5},
}
METADATA = ("begun.json", "environment.json", "study.toml", "summary.json")
JUNK = some.one_of(
    mutated([b"{}", b"[]", b'{"format": 4}', b"classifiers = 3", b"[" * 3000, b"null", b'{"a": NaN}']),
    PLAIN.map(lambda value: json.dumps(value).encode()),
)


class Finished:
    """A run as it was written, and a copy that is damaged and made good again."""

    def __init__(self, folder):
        self.path, self.whole = folder / "run", folder / "whole"
        pixels = np.random.default_rng(0).integers(0, 256, (6, 4, 4), dtype=np.uint8)
        np.savez(folder / "toy.npz", images=pixels, labels=[0, 1, 2] * 2)
        (folder / "mine.py").write_text(
            "def one(images):\n    return images.flatten(1)[:, :3] * 5\n"
            "def two(images):\n    return images.flatten(1)[:, 5:8] * 5\n"
        )
        text = json.dumps(STUDY).replace("mine.py", f"{folder}/mine.py").replace("toy.npz", f"{folder}/toy.npz")
        self.study, self.depends, self.extent = json.loads(text), {}, {}
        self.summary = brittle.run(self.study, out=self.whole).summary
        self.files = {
            path.relative_to(self.whole): path.read_bytes() for path in sorted(self.whole.rglob("*")) if path.is_file()
        }
        self.units = sorted(path for path in self.files if path.suffix == ".parquet")
        for path in self.units:
            about = json.loads(pq.read_metadata(self.whole / path).metadata[b"brittle"])
            self.depends[Cell(*about["cell"])] = about["depends"]
            self.extent[Cell(*about["cell"])] = about["extent"]
        self.rows = self.stored(self.whole)
        self.read = self.told(self.whole)
        shutil.copytree(self.whole, self.path)

    def again(self):
        """The copy as it was."""
        for path in self.path.rglob("*"):
            if path.is_file() and path.relative_to(self.path) not in self.files:
                path.unlink()
        for path, data in self.files.items():
            if not (self.path / path).is_file() or (self.path / path).read_bytes() != data:
                (self.path / path).parent.mkdir(parents=True, exist_ok=True)
                (self.path / path).write_bytes(data)

    def stored(self, folder, verified=False):
        """Every row of every table, by cell and table."""
        store, found = FolderStore(folder / "units", self.depends.__getitem__, self.extent.__getitem__), {}
        for cell in self.depends:
            if verified:
                store.verify(cell)
            for table in sorted(store.tables(cell)):
                found[cell, table] = [row for _, part in store.read(cell, None, table) for row in part.to_pylist()]
        return found

    @staticmethod
    def told(folder):
        run = RunFolder(folder)
        return [run.read_begun(), run.read_study(), run.read_environment(), run.read_summary()]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return Finished(tmp_path_factory.mktemp("finished"))


@some.composite
def damage(draw):
    """What becomes of one of several files: how, which, and the bytes that it takes."""
    how = draw(some.sampled_from(["flip", "flip", "cut", "swap", "copy", "replace", "append", "remove", "zero"]))
    return how, draw(some.integers(0, 10**6)), draw(some.integers(0, 10**6)), draw(some.integers(0, 10**9)), draw(JUNK)


def damaged(run, case, names):
    how, first, second, place, junk = case
    name, other = names[first % len(names)], names[second % len(names)]
    path, data = run.path / name, bytearray(run.files[name])
    if how == "flip":
        data[place // 8 % len(data)] ^= 1 << place % 8
    elif how == "cut":
        data = data[: place % len(data)]
    elif how == "zero":
        data[place % len(data) :] = bytes(len(data) - place % len(data))
    elif how == "append":
        data += junk
    elif how == "replace":
        data = junk
    elif how in ("swap", "copy"):
        data = run.files[other]
    if how == "swap":
        (run.path / other).write_bytes(run.files[name])
    path.unlink() if how == "remove" else path.write_bytes(data)


@costly(0.5)
@given(damage())
def test_unit_files_hold_the_rows_that_were_written_or_are_refused(run, case):
    run.again()
    damaged(run, case, run.units)
    with taken_or_refused():
        found = run.stored(run.path)
        assert all(found[key] in (run.rows[key], []) for key in found)
    run.again()
    damaged(run, case, run.units)
    with taken_or_refused():
        found = run.stored(run.path, verified=True)
        assert all(found[key] in (run.rows[key], []) for key in found)


@some.composite
def trees(draw, run):
    """One of the files with something in it replaced, written as it should be but for the checksum."""
    name = draw(some.sampled_from(METADATA))
    sound = run.read[METADATA.index(name)] if name == "study.toml" else json.loads((run.whole / name).read_text())
    return name, draw(altered(sound))


def written(name, tree):
    try:
        return (tomli_w.dumps if name == "study.toml" else json.dumps)(tree)
    except (TypeError, ValueError, AttributeError):
        return ""


def names_of(run):
    return [path for path in run.files if path.name in METADATA]


@given(some.data())
def test_a_run_s_own_files_say_what_was_written_or_are_refused(run, data):
    run.again()
    if data.draw(some.booleans()):
        damaged(run, data.draw(damage()), names_of(run))
    else:
        name, tree = data.draw(trees(run))
        (run.path / name).write_text(written(name, tree), encoding="utf-8", errors="surrogatepass")
    with taken_or_refused():
        begun, study, environment, summary = run.told(run.path)
        assert (begun, summary) == (run.read[0], run.read[3])
        assert environment in (run.read[2], {})
        assert study["classifiers"].keys() == run.read[1]["classifiers"].keys()


@costly(0.04)
@given(damage(), some.booleans())
def test_a_damaged_run_is_resumed_to_the_same_rows_or_refused(run, case, units):
    run.again()
    damaged(run, case, run.units if units else names_of(run))
    with taken_or_refused():
        assert brittle.run(run.study, out=run.path).summary == run.summary
        assert run.stored(run.path) == run.rows


@costly(0.04)
@given(damage(), some.booleans(), some.booleans())
def test_a_damaged_run_is_reported_with_the_same_numbers_or_refused(run, case, units, nothing):
    run.again()
    damaged(run, case, run.units if units else names_of(run))
    with taken_or_refused():
        page = write_report(run.path, nothing_loaded=nothing).read_text(encoding="utf-8")
        results = run.summary["measures"]["robustness"]["results"]
        assert all(f"{row['rho']:.3f}" in page for row in results)


@pytest.fixture(scope="module")
def rounds(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hardening")
    kept, module = RoundsFolder(folder, {"seed": 0, "nuisance": "rotation"}), nn.Linear(3, 2)
    kept.write(1, module, [{"round": 1, "rho": 0.5}])
    return kept, module.state_dict(), (folder / "rounds" / "1.safetensors").read_bytes()


@given(some.data())
def test_a_round_of_a_hardening_is_what_was_written_or_refused(rounds, data):
    kept, weights, sound = rounds
    (kept.folder / "rounds" / "1.safetensors").write_bytes(data.draw(mutated([sound])))
    module = nn.Linear(3, 2)
    with taken_or_refused():
        assert kept.read(1, module) == [{"round": 1, "rho": 0.5}]
        assert all(bool((value == weights[key]).all()) for key, value in module.state_dict().items())
