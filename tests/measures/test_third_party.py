"""Four measures of other packages, each in one file: carried out, shown, killed and resumed like those built in."""

import importlib
import itertools
import json
import os
import shutil
import signal
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import tomli_w
import torch

import brittle
from brittle.engine.carry_out import run_study
from brittle.errors import BrittleError
from brittle.measures import measures
from brittle.nuisances import transformed
from brittle.random import fold, stream_root
from brittle.report.html import write_report
from brittle.study import Study

HERE = Path(__file__).parent / "third_party"
KINDS = {
    "turning-points": "turning_points:TurningPoints",
    "mirror": "mirror:Mirror",
    "groups-apart": "groups_apart:GroupsApart",
    "shift-gap": "shift_gap:ShiftGap",
}
MODULE = """
import pathlib
import time

import torch

HERE = pathlib.Path(__file__).parent


def linear(seed, sharpness=1.0):
    def scores(images):
        if (HERE / "delay").exists():
            time.sleep(float((HERE / "delay").read_text()))
        weights = torch.randn(64, 4, generator=torch.Generator().manual_seed(seed)).double()
        return sharpness * (images.flatten(1).double()[..., None] * weights).sum(1)
    return scores


wide1, wide2, narrow1, narrow2 = linear(1), linear(2), linear(3, 0.2), linear(4, 0.2)
"""
CLASSIFIERS = {"wide1": "wide", "wide2": "wide", "narrow1": "narrow", "narrow2": "narrow"}
COUNT = 24


@pytest.fixture
def site(tmp_path, monkeypatch):
    """The four files as an installed package, and a user's own classifiers and images; all is forgotten afterwards."""
    place = tmp_path / "site"
    info = place / "others-1.0.dist-info"
    info.mkdir(parents=True)
    for file in HERE.glob("*.py"):
        shutil.copy(file, place)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: others\nVersion: 1.0\n")
    points = "".join(f"{kind} = {where}\n" for kind, where in KINDS.items())
    (info / "entry_points.txt").write_text(f"[brittle.measures]\n{points}")
    measures.names()
    monkeypatch.setattr(measures, "_kinds", dict(measures._kinds))
    monkeypatch.syspath_prepend(place)
    (tmp_path / "things.py").write_text(MODULE)
    random = np.random.default_rng(0)
    images, labels = random.integers(0, 256, (COUNT, 8, 8), dtype=np.uint8), random.integers(0, 4, COUNT)
    np.savez(tmp_path / "original.npz", images=images, labels=labels)
    np.savez(tmp_path / "shifted.npz", images=np.roll(images, 1, axis=2), labels=labels)
    yield tmp_path
    for where in KINDS.values():
        sys.modules.pop(where.partition(":")[0], None)


def study(folder, kind, **options):
    """A study of one of the four measures, of nothing but what it wants."""
    made = {
        "classifiers": {
            name: {"spec": f"python:{folder}/things.py:{name}", "group": group} for name, group in CLASSIFIERS.items()
        },
        "images": {name: f"npz:{folder}/{name}.npz" for name in ("original", "shifted")},
        kind: options,
    }
    wants_nuisance = kind in ("turning-points", "groups-apart")
    return made | ({"nuisances": ["rotation:sigma=20", "translation:sigma=0.1"]} if wants_nuisance else {})


def said(found, kind):
    return {key: value for key, value in found["measures"][kind].items() if key != "kind"}


# What they say


def classifier(folder, name):
    return brittle.classifier(f"python:{folder}/things.py:{name}")


def images(folder, name):
    return brittle.image_set(f"npz:{folder}/{name}.npz")


def test_a_search_takes_as_many_steps_as_it_needs_and_finds_where_predictions_turn(site):
    done = run_study(Study.of(study(site, "turning-points", directions=2)), site / "run")
    view = done.view("turning-points")
    cell = view.cell("wide1", "original", "rotation:sigma=20")
    rows = [row for part in view.rows(cell) for row in part.to_pylist()]
    points = [row for part in view.rows(cell, "points") for row in part.to_pylist()]
    steps = [len(list(group)) for _, group in itertools.groupby(rows, lambda row: (row["image"], row["direction"]))]
    assert len(points) == len(steps) == 2 * COUNT
    assert len(set(steps)) > 3, "every search took as many steps: the test tests nothing"
    net, space, whole = classifier(site, "wide1"), brittle.nuisance("rotation:sigma=20"), images(site, "original")
    root = stream_root(0, "rotation turning points")
    for row in points[:10]:
        one = whole.batch([row["image"]])
        theta = space.sample(one, fold(fold(root, one.ids), torch.tensor([row["direction"]]))[:, None])[:, 0]
        at = {
            end: net.log_probs(transformed(space, one, theta, torch.tensor([row[end] or 0.0]))).argmax().item()
            for end in ("low", "high")
        }
        assert at["low"] == net.log_probs(one.images).argmax()
        assert (at["high"] == at["low"]) == (row["high"] is None)
        assert row["high"] is None or 0 < row["high"] - row["low"] <= 0.05
    told = next(row for row in done.summary["measures"]["turning-points"]["results"] if row["classifier"] == "wide1")
    turned = [row["high"] for row in points if row["high"] is not None]
    assert (told["turned"], told["of"], told["median"]) == (len(turned), 2 * COUNT, pytest.approx(np.median(turned)))
    other = brittle.run(study(site, "turning-points", directions=2), None, batch=3)
    assert other == done.summary


def test_a_measure_without_a_nuisance_says_what_the_mirror_says(site):
    found = said(brittle.run(study(site, "mirror"), None), "mirror")["results"]
    for row in found:
        whole = images(site, row["image_set"]).batch(range(COUNT)).images
        net = classifier(site, row["classifier"])
        same = net.log_probs(whole).argmax(1) == net.log_probs(whole.flip(-1)).argmax(1)
        assert (row["same"], row["of"]) == (pytest.approx(same.double().mean().item()), COUNT)
    assert len(found) == 8


def test_groups_are_compared_by_what_robustness_measured(site):
    """Robustness is not asked for: what is read is carried out all the same, and is not part of the summary."""
    found = brittle.run(study(site, "groups-apart"), site / "run")
    assert list(found["measures"]) == ["groups-apart"]
    pairs = said(found, "groups-apart")["pairs"]
    measured = study(site, "groups-apart") | {"robustness": {}}
    rows = brittle.run(measured, None)["measures"]["robustness"]["results"]
    for pair in pairs:
        rho = {group: [] for group in ("wide", "narrow")}
        for row in rows:
            if (row["image_set"], row["nuisance"]) == (pair["image_set"], pair["nuisance"]):
                rho[CLASSIFIERS[row["classifier"]]].append(row["rho"])
        assert (pair["first"], pair["second"]) == ("wide", "narrow")
        assert pair["difference"] == pytest.approx(np.mean(rho["wide"]) - np.mean(rho["narrow"]), abs=1e-6)
        assert pair["spread"] == pytest.approx(max(map(np.ptp, rho.values())), abs=1e-6)
    assert len(pairs) == 4
    assert len({pair["difference"] for pair in pairs}) == 4


def test_a_classifier_that_has_no_group_is_warned_about_and_one_that_gets_it_later_costs_nothing(site):
    ungrouped = study(site, "groups-apart")
    ungrouped["classifiers"] = {name: entry["spec"] for name, entry in ungrouped["classifiers"].items()}
    before = brittle.run(ungrouped, site / "run")
    assert said(before, "groups-apart")["pairs"] == []
    assert "'wide1' belongs to no group" in before["warnings"]
    files = {path: path.stat().st_mtime_ns for path in (site / "run" / "units").rglob("*.parquet")}
    after = brittle.run(study(site, "groups-apart"), site / "run")
    assert after == brittle.run(study(site, "groups-apart"), None)
    assert {path: path.stat().st_mtime_ns for path in (site / "run" / "units").rglob("*.parquet")} == files


def test_two_image_sets_are_compared_by_clean_predictions_of_both(site):
    found = brittle.run(study(site, "shift-gap"), site / "run")
    for row in said(found, "shift-gap")["results"]:
        net, right, predicted = classifier(site, row["classifier"]), [], []
        for name in ("original", "shifted"):
            batch = images(site, name).batch(range(COUNT))
            predicted.append(net.log_probs(batch.images).argmax(1))
            right.append((predicted[-1] == batch.labels).double().mean().item())
        assert row["lost"] == pytest.approx(right[0] - right[1])
        assert row["agreement"] == pytest.approx((predicted[0] == predicted[1]).double().mean().item())
        assert row["images"] == COUNT
    assert found["calls"] == dict.fromkeys(CLASSIFIERS, 2 * COUNT)
    with pytest.raises(BrittleError, match="the study has no image set 'other'"):
        brittle.run(study(site, "shift-gap", shifted="other"), None)


def test_all_four_stand_in_one_study_and_are_measured_as_alone(site):
    together = study(site, "turning-points", directions=1) | {"mirror": {}, "groups-apart": {}, "shift-gap": {}}
    found = brittle.run(together, site / "run")
    for kind, options in (
        ("turning-points", {"directions": 1}),
        ("mirror", {}),
        ("groups-apart", {}),
        ("shift-gap", {}),
    ):
        assert said(found, kind) == said(brittle.run(study(site, kind, **options), None), kind)


# How they are shown


SHOWN = {
    "turning-points": ("results", ("classifier", "turned", "median")),
    "mirror": ("results", ("classifier", "same", "of")),
    "groups-apart": ("pairs", ("first", "second", "difference", "spread")),
    "shift-gap": ("results", ("classifier", "lost", "agreement")),
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_is_shown_in_console_json_table_and_report(site, cli, kind):
    file, out = site / "study.toml", site / "run"
    name, columns = SHOWN[kind]
    file.write_text(tomli_w.dumps(study(site, kind)))
    printed = cli("run", file, "--out", out)
    assert printed.status == 0, printed
    asked = cli("run", file, "--out", out, "--json")
    rows = asked.json["measures"][kind][name]
    found = brittle.run(file, out)
    assert found == json.loads((out / "summary.json").read_text())
    assert asked.json == found | {"report": str(out / "report.html")}
    page = write_report(out).read_text()
    for shown in (printed.out, str(found), page, found._repr_html_()):
        assert kind.replace("-", " ").capitalize() in shown
        for column in columns:
            assert column in shown
    assert found.table(kind).select(columns).to_pylist() == [
        {column: row[column] for column in columns} for row in rows
    ]
    assert cli("report", out).status == 0


def test_each_is_listed_with_its_options_and_a_wrong_one_is_answered_with_what_is_right(site, cli):
    kinds = {kind["name"]: kind for kind in cli("list", "measures", "--json").json["measures"]}
    assert set(KINDS) <= set(kinds)
    assert kinds["turning-points"]["options"]["precision"]["help"] == "how closely a turning point is found"
    with pytest.raises(BrittleError, match="turning-points: directions is 0, but must be at least 1"):
        brittle.run(study(site, "turning-points", directions=0), None)
    with pytest.raises(BrittleError, match="Did you mean 'mirror'"):
        brittle.run(study(site, "miror"), None)


# How they are killed


@pytest.mark.parametrize("kind", KINDS)
def test_each_is_killed_and_resumed_to_the_same_result(site, start, kind):
    file, out = site / "study.toml", site / "run"
    wanted = study(site, kind)
    file.write_text(tomli_w.dumps(wanted))
    undisturbed = brittle.run(wanted, None, batch=16)
    (site / "delay").write_text("0.02")
    path = os.pathsep.join((str(site / "site"), os.environ.get("PYTHONPATH", "")))
    process = start("run", file, "--out", out, "--batch", 16, PYTHONPATH=path)
    while not (files := list((out / "units").rglob("*.rows.parquet"))):
        assert process.poll() is None, process.communicate()
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert files
    assert not (out / "summary.json").exists(), "the kill came too late"
    (site / "delay").unlink()
    assert brittle.run(wanted, out, batch=16) == undisturbed


def test_a_module_that_registers_its_measure_needs_no_entry_point(site, monkeypatch):
    shutil.rmtree(site / "site" / "others-1.0.dist-info")
    importlib.invalidate_caches()
    with pytest.raises(BrittleError, match="unknown key 'mirror'"):
        brittle.run(study(site, "mirror"), None)
    importlib.import_module("mirror")
    assert said(brittle.run(study(site, "mirror"), None), "mirror")["results"]
