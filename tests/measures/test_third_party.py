"""Four measures as a third party would write them, each one file: carried out, shown, killed, resumed and extended."""

import math
import os
import signal
import time

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
import tomli_w
from engine_runs import run_study
from third_package import install

import brittle
from brittle.engine.store.run_folder import RunFolder
from brittle.errors import BrittleError
from brittle.measures import measures
from brittle.report.sections import sections

pytestmark = pytest.mark.warned("has a mean confidence of")

THRESHOLD = 0.5
SHARPNESS = {"blunt": 4.0, "even": 9.0, "keen": 20.0, "sharp": 40.0}  # p(bright | x) = σ(sharpness·(mean(x) − ½))
CLASSIFIERS = f"""
import functools
import pathlib
import time

import torch

HERE = pathlib.Path(__file__).parent


def scores(images, name, sharpness):
    with open(HERE / "calls", "a") as file:
        file.write(f"{{len(images)}}\\n")
    if (HERE / "delay").exists():
        time.sleep(float((HERE / "delay").read_text()))
    bright = sharpness * (images.mean((1, 2, 3)) - {THRESHOLD})
    return torch.stack((torch.zeros_like(bright), bright), 1)


for name, sharpness in {SHARPNESS}.items():
    globals()[name] = functools.partial(scores, name=name, sharpness=sharpness)
"""
CHECKED = 32  # images that a classifier sees of each set before work begins

SIZES = {"old": 60, "new": 40}


class Grey:
    """Image sets of one grey per image, so that everything about them has a closed form."""

    def __init__(self, folder):
        self.folder, self.out = folder, folder / "run"
        self.write(**SIZES)
        (folder / "classifiers.py").write_text(CLASSIFIERS)

    def write(self, **sizes):
        for seed, (name, count) in enumerate(sizes.items()):
            random = np.random.default_rng(seed)
            # Multiples of 51 would break exactly where the search probes.
            grey = random.choice([each for each in range(5, 250) if each % 51], count)
            labels = (grey > 127.5) ^ (random.random(count) < 0.1 + 0.3 * seed)
            images = np.broadcast_to(grey[:, None, None], (count, 4, 4)).astype(np.uint8)
            np.savez(self.folder / f"{name}.npz", images=images, labels=labels.astype(np.int64))

    def load(self, name):
        """Grey in [0, 1] and label of every image, in the file's order."""
        with np.load(self.folder / f"{name}.npz") as archive:
            return archive["images"][:, 0, 0] / 255, archive["labels"]

    def study(self, *, names=("keen",), sets=("old",), **tables):
        return {
            "classifiers": {name: {"spec": f"python:{self.folder}/classifiers.py:{name}"} for name in names},
            "images": {name: f"npz:{self.folder}/{name}.npz" for name in sets},
        } | tables

    def seen(self):
        """Images that classifiers were given since this was last asked."""
        log = self.folder / "calls"
        found = sum(map(int, log.read_text().split()))
        log.unlink()
        return found


def probability_bright(grey, name):
    return 1 / (1 + np.exp(-SHARPNESS[name] * (grey - THRESHOLD)))


def expected_entropy(grey, name):
    p = probability_bright(grey, name)
    return float(np.mean(-p * np.log(p) - (1 - p) * np.log1p(-p)))


def expected_rho(grey, labels, name, level):
    """ImageNet-C's brightness adds a tenth of the range per level, to all images alike."""
    p = probability_bright(np.minimum(grey + 0.1 * level, 1), name)
    return float(np.mean(np.where(labels == 1, p, 1 - p)))


def expected_search(grey, labels, furthest, precision):
    """For each image the severity that breaks it, None where none does, and the number of probes: the doubling steps
    ½, 1, 2, … up to the first beyond it, and the halvings of the last step."""
    found = []
    for value, label in zip(grey, labels, strict=True):
        breaks = (THRESHOLD - value) / 0.1 if value < THRESHOLD else math.inf
        doublings = max(0, math.ceil(math.log2(min(breaks, furthest) / 0.5)))
        step = 0.5 * 2 ** max(0, doublings - 1)
        if (value > THRESHOLD) != label:
            found.append((None, 0))
        elif breaks > furthest:
            found.append((None, 1 + doublings))
        else:
            found.append((breaks, 1 + doublings + math.ceil(math.log2(step / precision))))
    return found


BRIGHTER = {"level 1": "brightness:level=1", "level 3": "brightness:level=3"}
GROUPED = {"blunt": "soft", "even": "soft", "keen": "hard", "sharp": "hard"}


def search_study(grey):
    search = {"furthest": 4.0, "precision": 0.05, "per-unit": 1}
    return grey.study(nuisances={"level 1": "brightness:level=1"}, **{"breaking-severity": search})


def doubt_study(grey):
    return grey.study(names=("blunt", "keen"), doubt={"per-unit": 7})


def groups_study(grey):
    study = grey.study(names=SHARPNESS, nuisances=BRIGHTER)
    for name, group in GROUPED.items():
        study["classifiers"][name]["group"] = group
    return study | {"robustness": {"samples": 3}, "group-difference": {"more": "hard", "less": "soft"}}


def gap_study(grey):
    gap = {"first": "old", "second": "new"}
    return grey.study(names=("blunt", "keen"), sets=("old", "new"), **{"accuracy-gap": gap})


STUDIES = {
    "breaking-severity": search_study,
    "doubt": doubt_study,
    "group-difference": groups_study,
    "accuracy-gap": gap_study,
}


def check_search(grey, found):
    (result,) = found["results"]
    severities = expected_search(*grey.load("old"), 4.0, 0.05)
    broken = [severity for severity, _ in severities if severity is not None]
    assert result["searched"] == sum(probes > 0 for _, probes in severities)
    assert result["broken"] == len(broken)
    assert result["probes"] == sum(probes for _, probes in severities)
    assert 0 < result["median_severity"] - np.median(broken) < 0.05


def check_doubt(grey, found):
    assert {row["classifier"]: row["entropy"] for row in found["results"]} == pytest.approx(
        {name: expected_entropy(grey.load("old")[0], name) for name in ("blunt", "keen")}, abs=1e-6
    )


def check_groups(grey, found):
    for row, level in zip(found["differences"], (1, 3), strict=True):
        rho = {name: expected_rho(*grey.load("old"), name, level) for name in SHARPNESS}
        hard, soft = rho["keen"] + rho["sharp"], rho["blunt"] + rho["even"]
        assert row["nuisance"] == f"level {level}"
        assert row["rho"] == pytest.approx(rho, abs=1e-6)
        assert row["difference"] == pytest.approx((hard - soft) / 2, abs=1e-6)


def check_gap(grey, found):
    right = {}
    for name in ("old", "new"):
        values, labels = grey.load(name)
        right[name] = float(np.mean((values > THRESHOLD) == labels))
    assert right["old"] - right["new"] > 0.1
    for row, classifier in zip(found["gaps"], ("blunt", "keen"), strict=True):
        assert row == {"classifier": classifier, **right, "gap": pytest.approx(right["old"] - right["new"])}


CHECKS = {
    "breaking-severity": check_search,
    "doubt": check_doubt,
    "group-difference": check_groups,
    "accuracy-gap": check_gap,
}
SHOWN = {  # in the console and in the report
    "breaking-severity": ("Breaking severity", "median_severity"),
    "doubt": ("Doubt", "blunt"),
    "group-difference": ("Group difference", "difference"),
    "accuracy-gap": ("Accuracy gap", "gap"),
}


@pytest.fixture
def grey(tmp_path):
    return Grey(tmp_path)


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Their files as pip would leave them, with their entry points."""
    folder = tmp_path / "installed"
    install(folder)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("COLUMNS", "200")
    for registry in (measures, sections):
        monkeypatch.setattr(registry, "_kinds", dict(registry.loaded()))
    return folder


@pytest.fixture
def command(installed, start):
    """`brittle` in a process of its own, in which the third party's package is installed."""
    path = os.pathsep.join(filter(None, (str(installed), os.environ.get("PYTHONPATH", ""))))
    return lambda *arguments: start(*arguments, PYTHONPATH=path)


def stored(folder):
    """Every table of a run folder, cell by cell, in planned order."""
    found = {}
    for path in sorted((folder / "units").rglob("*.parquet")):
        place = (str(path.parent.relative_to(folder)), path.name.split(".")[1])
        found.setdefault(place, []).append(pq.read_table(path).replace_schema_metadata(None))
    return {place: pa.concat_tables(tables) for place, tables in found.items()}


def units_done(folder):
    spans = [path.name.split(".")[0].split("-") for path in (folder / "units").rglob("*.rows.parquet")]
    return sum(int(end) - int(first) for first, end in spans)


@pytest.mark.slow
@pytest.mark.parametrize("kind", STUDIES)
def test_it_is_killed_resumed_and_shown_without_editing_the_package(kind, grey, command, ended, cli):
    grey.write(old=300, new=300)  # several units of clean predictions
    study, file = STUDIES[kind](grey), grey.folder / "study.toml"
    file.write_text(tomli_w.dumps(study))
    undisturbed = brittle.run(study, out=grey.folder / "undisturbed", batch=16)
    CHECKS[kind](grey, undisturbed["measures"][kind])

    (grey.folder / "delay").write_text("0.03")
    process = command("run", file, "--out", grey.out, "--batch", 16)
    while units_done(grey.out) < 2:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert 0 < units_done(grey.out) < units_done(grey.folder / "undisturbed"), "the kill did not fall into the middle"
    assert not (grey.out / "summary.json").exists()

    (grey.folder / "delay").unlink()
    said = ended(command("run", file, "--out", grey.out, "--batch", 16, "--json"))
    assert said.status == 0, said
    assert said.json == dict(undisturbed) | {"report": str(grey.out / "report.html")}
    assert RunFolder(grey.out).read_summary() == dict(undisturbed)
    assert stored(grey.out) == stored(grey.folder / "undisturbed")
    printed, page = cli("run", file, "--out", grey.out, "--full"), (grey.out / "report.html").read_text()
    for words in SHOWN[kind]:
        assert words in printed.out
        assert words in page


def test_rows_of_a_search_are_its_probes_however_many_there_are(installed, grey):
    brittle.run(search_study(grey), out=grey.out)
    (place,) = (grey.out / "units" / "breaking-severity").glob("*/*/*")
    probes, images = (pq.read_table(next(place.glob(f"*.{table}.parquet"))) for table in ("rows", "images"))
    expected = expected_search(*grey.load("old"), 4.0, 0.05)
    assert images.num_rows == SIZES["old"]
    assert len(set(images["unit"].to_pylist()) - set(probes["unit"].to_pylist())) > 0, "no unit is without rows"
    for row in images.to_pylist():
        severity, (breaks, count) = row["severity"], expected[row["image"]]
        mine = probes.filter(pc.equal(probes["image"], row["image"]))
        assert mine.num_rows == count
        assert set(mine["unit"].to_pylist()) <= {row["unit"]}
        assert mine["left"].to_pylist() == [breaks is not None and at > breaks for at in mine["severity"].to_pylist()]
        assert (severity is None) == (breaks is None)
        assert 0 <= (severity or 0) - (breaks or 0) < 0.05


def extended(grey, tables, sets=("old", "new")):
    """A finished run of robustness, and the images that classifiers see as it is extended by a measure."""
    before = grey.study(names=("keen", "blunt"), sets=sets, nuisances=BRIGHTER, robustness={"samples": 3})
    before["classifiers"]["keen"]["group"], before["classifiers"]["blunt"]["group"] = "hard", "soft"
    first = run_study(before, grey.out).summary
    grey.seen()
    second = run_study(before | tables, grey.out).summary
    assert second["measures"]["robustness"] == first["measures"]["robustness"]
    assert second["measures"].keys() == {"robustness", *tables}
    return second, grey.seen() - 2 * CHECKED * len(sets)


def test_an_existing_run_extended_by_a_search_computes_its_probes_alone(installed, grey):
    found, seen = extended(grey, {"breaking-severity": {"furthest": 4.0, "precision": 0.05}})
    results = found["measures"]["breaking-severity"]["results"]
    probes = [row["probes"] for row in results if row["nuisance"] == "level 1"]
    expected = [sum(probes for _, probes in expected_search(*grey.load(name), 4.0, 0.05)) for name in SIZES]
    assert probes == [expected[0], expected[0], expected[1], expected[1]]
    assert seen == sum(row["probes"] for row in results)


def test_an_existing_run_extended_by_a_measure_without_a_nuisance_computes_its_cells_alone(installed, grey):
    _, seen = extended(grey, {"doubt": {}})
    assert seen == 2 * sum(SIZES.values())


@pytest.mark.parametrize(
    "tables",
    [{"group-difference": {"more": "hard", "less": "soft"}}, {"accuracy-gap": {"first": "old", "second": "new"}}],
    ids=["across groups", "across image sets"],
)
def test_an_existing_run_extended_by_a_derived_measure_computes_nothing(installed, grey, tables):
    assert extended(grey, tables)[1] == 0


@pytest.mark.parametrize("kind", ["group-difference", "accuracy-gap"])
def test_what_a_derived_measure_must_read_is_carried_out_in_full_though_nobody_asks_for_it(installed, grey, kind):
    study = STUDIES[kind](grey)
    study.pop("robustness", None)
    found = brittle.run(study, out=grey.out)
    CHECKS[kind](grey, found["measures"][kind])
    assert found["measures"].keys() == {kind}
    sets = len(study["images"])
    assert sum(found["calls"].values()) == grey.seen() - CHECKED * sets * len(study["classifiers"])


def test_a_derived_measure_reads_no_more_than_it_names(installed, grey):
    """Robustness with a tolerance reads clean predictions as far as it goes; the gap wants those of one classifier."""
    grey.write(old=3000, new=40)
    study = grey.study(names=("keen", "blunt"), sets=("old", "new"), nuisances={"level 1": "brightness:level=1"})
    study |= {"robustness": {"samples": 1, "tolerance": 0.1}}
    gap = {"kind": "accuracy-gap", "first": "old", "second": "new", "classifiers": ["keen"]}
    brittle.run(study | {"measures": {"gap": gap}}, out=grey.out)
    rows = {place[0]: table.num_rows for place, table in stored(grey.out).items() if "clean" in place[0]}
    assert rows["units/clean/keen/old"] == 3000
    assert rows["units/clean/blunt/old"] < 3000


def test_a_derived_measure_that_reads_a_nuisance_needs_one(installed, grey):
    study = grey.study(**{"group-difference": {}})
    with pytest.raises(BrittleError, match="'group-difference' needs a nuisance, and none is named"):
        brittle.run(study, out=grey.out)


@pytest.mark.parametrize("robustness", [{}, {"robustness": {"samples": 3}}], ids=["added", "asked for"])
def test_a_derived_measure_is_restricted_in_what_it_reads(installed, grey, robustness):
    """Its cells name no classifier, but what it reads does: it sees those it is restricted to, and needs no others."""
    study = groups_study(grey)
    study["group-difference"]["classifiers"] = ["keen", "blunt"]
    del study["robustness"]
    found = brittle.run(study | robustness, out=grey.out)["measures"]["group-difference"]["differences"]
    expected = {name: expected_rho(*grey.load("old"), name, 1) for name in ("keen", "blunt")}
    assert found[0]["rho"] == pytest.approx(expected, abs=1e-6)
    measured = {path.name for path in (grey.out / "units" / "robustness").iterdir()}
    assert measured == (set(SHARPNESS) if robustness else {"keen", "blunt"})


def test_a_restriction_that_would_change_nothing_is_refused(installed, grey):
    study = doubt_study(grey) | {"nuisances": BRIGHTER}
    study["doubt"]["nuisances"] = ["level 1"]
    with pytest.raises(BrittleError, match="'doubt' can't be restricted to some nuisances: it takes none"):
        brittle.run(study, out=None)


def test_a_section_comes_through_an_entry_point(installed, grey, cli):
    brittle.run(doubt_study(grey), out=grey.out)
    entropy = expected_entropy(grey.load("old")[0], "keen")
    assert cli("report", grey.out).status == 0
    page = (grey.out / "report.html").read_text()
    assert "Doubt" in page
    assert f"{entropy:.3f} nats" in page


def test_a_third_party_s_measures_are_listed(installed, cli):
    said = cli("list", "measures", "--json")
    assert STUDIES.keys() <= {row["name"] for row in said.json["measures"]}


def test_a_table_that_is_no_measure_is_refused_with_what_would_be_right(installed, grey):
    with pytest.raises(BrittleError, match="Did you mean 'breaking-severity'"):
        brittle.run(grey.study(**{"breaking-severty": {}}), out=None)
