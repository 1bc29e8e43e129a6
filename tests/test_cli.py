"""The command line: what it prints where, its exit statuses, and one line for everything that goes wrong."""

import errno
import json
import os
import pickle
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import tomli_w
import torch
from PIL import Image
from rich.cells import cell_len

from brittle.api import measure, run
from brittle.errors import install_command

MEASURE = ("measure", "bundled:plain", "sample", "--nuisance", "affine:alpha=50", "--count", 20, "--samples", 3)
REQUIRED = {
    *("rho", "interval", "confidence", "interval_method", "estimand", "accuracy_clean", "accuracy_nuisance"),
    *("images", "samples", "calls", "seed"),
}


def study_file(folder: Path, **changed: object) -> Path:
    study = {
        "classifiers": ["bundled:plain"],
        "images": {"sample": {"spec": "sample", "count": 20}},
        "nuisances": ["affine"],
        "robustness": {"samples": 3},
    }
    path = folder / "study.toml"
    path.write_text(tomli_w.dumps(study | changed))
    return path


@pytest.fixture
def photos(tmp_path):
    """A folder of two classes of three 28×28 grey images."""
    random = np.random.default_rng(0)
    for name in ("Bag", "Coat"):
        (tmp_path / "photos" / name).mkdir(parents=True)
        for number in range(3):
            pixels = random.integers(0, 256, (28, 28), dtype=np.uint8)
            Image.fromarray(pixels).save(tmp_path / "photos" / name / f"{number}.png")
    return tmp_path / "photos"


def test_no_arguments_are_a_call_for_help(cli):
    assert cli().out.startswith("Usage: brittle")
    assert cli() == cli("--help")


def test_json_is_one_object_on_standard_output_and_nothing_else(start, ended):
    said = ended(start(*MEASURE, "--json"))
    assert (said.status, said.err) == (0, "")
    assert said.out.count("\n") == 1
    found = json.loads(said.out)
    assert set(found) >= REQUIRED
    assert (found["images"], found["samples"], found["calls"], found["seed"]) == (20, 3, 80, 0)
    assert found["interval"][0] <= found["rho"] <= found["interval"][1]


def test_json_is_what_python_returns(cli):
    found = measure({"bundled:plain": "bundled:plain"}, "sample", "affine:alpha=50", count=20, samples=3)
    assert cli(*MEASURE, "--json").json == found


def test_accuracies_of_unlabelled_images_are_null(cli, photos):
    said = cli(
        "measure", "bundled:plain", f"folder:{photos},labels=none", "--nuisance", "affine", "--samples", 2, "--json"
    )
    assert said.status == 0, said
    assert set(said.json) >= REQUIRED
    assert said.json["accuracy_clean"] is None
    assert said.json["accuracy_nuisance"] is None
    assert said.json["reference"] == "clean prediction"
    assert (
        cli("measure", "bundled:plain", f"folder:{photos},labels=none", "--nuisance", "affine", "--samples", 2).status
        == 0
    )


def test_without_a_terminal_there_is_no_progress_bar(cli):
    said = cli(*MEASURE)
    assert said.status == 0
    assert said.err == ""
    assert "ρ" in said.out


def test_on_a_terminal_the_progress_bar_goes_to_standard_error():
    parent, child = os.openpty()
    command = [sys.executable, "-c", "from brittle.cli import main; main()", *map(str, MEASURE), "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=child, text=True)
    os.close(child)
    out, _ = process.communicate(timeout=120)
    shown = b""
    while select.select([parent], [], [], 0)[0]:  # a terminal gives a few kilobytes at a time
        try:
            shown += os.read(parent, 1 << 16)
        except OSError:  # the other end is closed, and all is read
            break
    os.close(parent)
    assert json.loads(out)["images"] == 20
    assert "sample · affine:alpha=50" in shown.decode(errors="replace")


def test_notes_reach_standard_error_beside_json(cli, tmp_path):
    (tmp_path / "hungry.py").write_text(
        "import torch\n"
        "def scores(images):\n"
        "    if len(images) > 20: raise torch.OutOfMemoryError('CUDA out of memory')\n"
        "    return images.flatten(1)[:, :10]\n"
    )
    said = cli("measure", f"python:{tmp_path}/hungry.py:scores", *MEASURE[2:], "--batch", 32, "--json")
    assert said.json["images"] == 20
    assert said.err.splitlines()[0] == "out of memory: the batch is halved to 16"


def test_interruption_is_neither_success_nor_a_traceback(start, ended, tmp_path):
    (tmp_path / "slow.py").write_text(
        "import pathlib, time\n"
        "def scores(images):\n"
        "    pathlib.Path('called').touch(); time.sleep(0.3)\n"
        "    return images.flatten(1)[:, :10]\n"
    )
    process = start("measure", "python:slow:scores", *MEASURE[2:-2], "--samples", 200, cwd=tmp_path)
    while not (tmp_path / "called").exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    assert "interrupted" in ended(process).complaint(130)


def test_a_pipe_that_closes_early_is_no_traceback():
    command = f"{sys.executable} -c 'from brittle.cli import main; main()' list | head -n 1"
    said = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (said.stdout, said.stderr) == ("classifiers\n", "")


def test_a_study_runs_into_a_folder_with_summary_and_report(cli, tmp_path):
    out = tmp_path / "run"
    said = cli("run", study_file(tmp_path), "--out", out, "--json")
    assert (said.status, said.err) == (0, "")
    assert json.loads((out / "summary.json").read_text())["measures"] == said.json["measures"]
    assert Path(said.json["report"]).is_file()
    assert {path.name for path in out.iterdir()} >= {
        "study.toml",
        "environment.json",
        "units",
        "summary.json",
        "report.html",
    }
    assert set(json.loads((out / "environment.json").read_text())["packages"]) >= {"brittle", "torch"}
    (out / "report.html").unlink()
    assert cli("report", out).out.strip() == f"report: {out / 'report.html'}"
    assert (out / "report.html").is_file()


def test_measure_keeps_its_run_and_report_where_it_is_told(cli, tmp_path):
    said = cli(*MEASURE, "--out", tmp_path / "kept", "--json")
    again = cli(*MEASURE, "--out", tmp_path / "kept", "--json")
    assert said.json == again.json
    assert (tmp_path / "kept" / "report.html").is_file()


def test_several_classifiers_are_compared_in_pairs(cli):
    said = cli(*MEASURE, "--against", "bundled:augmented", "--json").json
    assert [row["classifier"] for row in said["results"]] == ["bundled:plain", "bundled:augmented"]
    assert [(pair["first"], pair["second"]) for pair in said["comparisons"]] == [("bundled:plain", "bundled:augmented")]


def test_subsets_are_chosen_by_column_and_by_id(cli):
    bags = cli(*MEASURE[:5], "--where", "class=Bag", "--samples", 2, "--json").json
    assert [row["class"] for row in bags["classes"]] == ["Bag"]
    assert bags["images"] == 100
    ids = cli(*MEASURE[:5], "--ids", "0/1/2", "--samples", 2, "--json").json
    assert ids["images"] == 3
    cli(*MEASURE, "--ids", "0/one").complaint(2)
    assert "Did you mean 'class'" in cli(*MEASURE, "--where", "clas=Bag").complaint(2)
    cli(*MEASURE, "--ids", "123456789").complaint(2)


MISTAKES = {
    "unknown command": (("mesure",), "mesure"),
    "no nuisance": (MEASURE[:3], "--nuisance"),
    "unknown nuisance": ((*MEASURE[:4], "afine"), "Did you mean 'affine'?"),
    "unknown classifier": (("measure", "bundeld:plain", *MEASURE[2:]), "Did you mean 'bundled'?"),
    "unknown image set": (("measure", "bundled:plain", "smaple", *MEASURE[3:]), "Did you mean 'sample'?"),
    "unknown bundled": (("measure", "bundled:plian", *MEASURE[2:]), "Did you mean 'plain'?"),
    "unknown option": ((*MEASURE[:4], "affine:alhpa=3"), "Did you mean 'alpha'?"),
    "no number": ((*MEASURE[:4], "affine:alpha=much"), "alpha is 'much', but must be a number above 0"),
    "unknown choice": ((*MEASURE[:4], "affine:interpolation=bilinaer"), "Did you mean 'bilinear'?"),
    "samples": ((*MEASURE, "--samples", 0), "samples is 0, but must lie between 1 and 10000000"),
    "tolerance": ((*MEASURE, "--tolerance", 2), "tolerance is 2"),
    "confidence": ((*MEASURE, "--confidence", 1), "confidence is 1"),
    "estimand": ((*MEASURE, "--estimand", "populace"), "must be population, set or drawn"),
    "extra": ((*MEASURE, "--extra", "nil"), "must be nll, ece or top5"),
    "part of a set": ((*MEASURE, "--estimand", "set"), "estimand 'set' uses every image"),
    "device": ((*MEASURE, "--device", "warp"), "unknown device 'warp'"),
    "list": (("list", "nuisanses"), "Did you mean 'nuisances'?"),
    "no run": (("report", "/nowhere"), "/nowhere is not a run folder"),
    "no study": (("run", "/nowhere.toml", "--out", "/tmp/x"), "there is no study file /nowhere.toml"),
    "a folder as study": (("run", "/", "--out", "/tmp/x"), "the study file / can't be read"),
    "no module": (("measure", "python:nowhere:scores", *MEASURE[2:]), "there is no module 'nowhere'"),
    "no file": (("measure", "onnx:nowhere.onnx", *MEASURE[2:]), "there is no file nowhere.onnx"),
    "two lines": (("measure", "bundled:plain", "folder:no\nwhere", *MEASURE[3:]), "there is no folder no where"),
    "no folder": (("measure", "bundled:plain", "folder:nowhere", *MEASURE[3:]), "there is no folder nowhere"),
}


@pytest.mark.parametrize(("arguments", "words"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_answered_in_one_line_with_status_2(cli, arguments, words):
    assert words in cli(*arguments).complaint(2)


def test_a_mistake_is_one_line_in_a_process_of_its_own_too(start, ended):
    assert "Did you mean 'affine'?" in ended(start(*MEASURE[:4], "afine")).complaint(2)


def test_a_truncated_image_is_named_and_skipped_only_if_asked(cli, photos, tmp_path):
    broken = photos / "Coat" / "1.png"
    broken.write_bytes(broken.read_bytes()[:200])
    arguments = ("--nuisance", "affine", "--samples", 2)
    line = cli("measure", "bundled:plain", f"folder:{photos}", *arguments).complaint(2)
    assert str(broken) in line
    assert "unreadable=skip" in line
    file = study_file(tmp_path, images={"photos": f"folder:{photos},unreadable=skip"})
    said = cli("run", file, "--out", tmp_path / "run", "--json").json
    assert said["skipped"] == {"photos": ["Coat/1.png"]}
    assert said["measures"]["robustness"]["results"][0]["images"] == 5


def test_an_empty_folder_is_no_image_set(cli, tmp_path):
    assert "no images in" in cli("measure", "bundled:plain", f"folder:{tmp_path}", "--nuisance", "affine").complaint(2)


def test_a_label_outside_the_classes_is_told_with_the_image(cli, tmp_path):
    np.savez(tmp_path / "a.npz", images=np.zeros((3, 28, 28), np.uint8), labels=np.array([0, 10, 1]))
    line = cli("measure", "bundled:plain", f"npz:{tmp_path}/a.npz", "--nuisance", "affine").complaint(2)
    assert "index 1 " in line
    assert "label 10" in line
    assert "10 classes (0 to 9)" in line


@pytest.mark.parametrize("shape", [(28, 28, 3), (32, 32)], ids=["channels", "size"])
def test_images_that_a_classifier_cannot_take_are_told_with_their_shape(cli, tmp_path, shape):
    np.savez(tmp_path / "a.npz", images=np.zeros((3, *shape), np.uint8), labels=np.zeros(3, int))
    line = cli("measure", "bundled:plain", f"npz:{tmp_path}/a.npz", "--nuisance", "affine").complaint(2)
    assert "bundled:plain can't take images of" in line


def test_outputs_that_turn_to_nan_are_a_failure_with_status_1(cli, tmp_path):
    (tmp_path / "nan.py").write_text(
        "import torch\n"
        "def scores(images):\n"
        "    return images.flatten(1)[:, :10] * (torch.nan if len(images) > 40 else 1)\n"  # 20 images, 60 draws
    )
    line = cli("measure", f"python:{tmp_path}/nan.py:scores", *MEASURE[2:]).complaint(1)
    assert "NaN or infinite outputs for the image index" in line
    assert "θ = (" in line


def test_an_error_in_a_users_own_function_is_one_line_with_status_1(cli, tmp_path):
    (tmp_path / "own.py").write_text(
        "calls = []\n"
        "def scores(images):\n"
        "    calls.append(0)\n"
        "    if len(calls) > 3: raise KeyError('two\\nlines')\n"
        "    return images.flatten(1)[:, :10]\n"
    )
    assert "KeyError" in cli("measure", f"python:{tmp_path}/own.py:scores", *MEASURE[2:]).complaint(1)


def test_no_memory_for_one_image_is_a_failure_with_status_1(cli, tmp_path):
    (tmp_path / "own.py").write_text("def scores(images): raise MemoryError\n")
    line = cli("measure", f"python:{tmp_path}/own.py:scores", *MEASURE[2:]).complaint(1)
    assert "out of memory even with one image at a time" in line


def test_a_full_disk_is_a_failure_with_status_1(cli, tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_bytes", full)
    assert "the disk is full" in cli("run", study_file(tmp_path), "--out", tmp_path / "run").complaint(1)


def test_a_changed_study_is_refused_with_the_difference(cli, tmp_path):
    run(study_file(tmp_path), out=tmp_path / "run")
    line = cli("run", study_file(tmp_path, seed=5), "--out", tmp_path / "run").complaint(2)
    assert "seed: 0 → 5" in line


def test_a_missing_package_is_told_with_what_installs_it(cli, monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    line = cli("measure", "sklearn:own:model", *MEASURE[2:]).complaint(2)
    assert line.endswith(f"Install it with: {install_command('sklearn')}")


class Bomb:
    def __reduce__(self):
        return os.system, ("touch exploded",)


@pytest.mark.parametrize("wrapped", [True, False])
def test_a_checkpoint_that_would_run_code_is_refused_and_runs_none(cli, tmp_path, monkeypatch, wrapped):
    monkeypatch.chdir(tmp_path)
    if wrapped:
        torch.save({"state_dict": Bomb()}, "w.pt")
    else:
        Path("w.pt").write_bytes(pickle.dumps(Bomb()))
    line = cli("measure", "torch:brittle.classifiers.bundled:SmallNet,weights=w.pt", *MEASURE[2:]).complaint(2)
    assert "would run code" in line
    assert "safetensors" in line
    assert not Path("exploded").exists()


def test_list_shows_every_kind_with_its_options(cli):
    found = cli("list", "--json").json
    assert set(found) == {
        *("classifiers", "images", "nuisances", "measures", "samplers", "networks", "mixes", "suites")
    }
    affine = next(kind for kind in found["nuisances"] if kind["name"] == "affine")
    assert "alpha" in affine["options"]
    assert affine["about"]


@pytest.mark.parametrize(
    "command",
    [
        ("measure", "--nuisance", "affine", "--samples", 1),
        ("fail", "--nuisance", "affine", "--repeats", 1),
        ("sample", "--nuisance", "affine", "--budget", 50),
    ],
    ids=lambda command: command[0],
)
def test_a_count_beyond_the_images_is_said(command, cli, photos):
    name, *options = command
    said = cli(name, "bundled:plain", photos, *options, "--count", 5000)
    assert said.status == 0, said
    assert "has 6 images, fewer than 5000: all are taken" in said.err


def test_list_is_a_screenful_of_names_and_says_where_the_rest_is(cli):
    said = cli("list").out
    assert len(said.splitlines()) <= 50
    found = cli("list", "--json").json
    for sort, kinds in found.items():
        assert sort in said.splitlines()
        assert all(re.search(rf"(^|[ ]){re.escape(kind['name'])}(,|$)", said, re.MULTILINE) for kind in kinds)
    assert "brittle list nuisances: a line about each; brittle list affine: its options" in said
    for sort in found:
        lines = cli("list", sort).out.splitlines()
        assert [line.split()[0] for line in lines[1:-2]] == [kind["name"] for kind in found[sort]]
        assert max(map(cell_len, lines)) <= 80


def test_a_run_ends_in_a_screenful_and_all_of_it_where_asked(cli, tmp_path):
    nuisances = [f"affine:alpha={alpha}" for alpha in range(10, 30)]
    file = study_file(
        tmp_path,
        classifiers=dict.fromkeys(("a", "b", "c"), "bundled:plain"),
        nuisances=nuisances,
        robustness={"samples": 1},
        images={"s": {"spec": "sample", "count": 4}},
    )
    short = cli("run", file, "--out", tmp_path / "run").out.splitlines()
    assert len(short) <= 50
    assert short[-2] == f"report: {tmp_path}/run/report.html"
    assert re.fullmatch(r"tables: the same command with --full prints all \d+ lines", short[-1])
    whole = cli("run", file, "--out", tmp_path / "run", "--full").out
    assert len(whole.splitlines()) > 60
    assert all(f" {nuisance} " in whole for nuisance in nuisances)
    against = [f"--against={name}=bundled:plain" for name in "bc"]
    under = [f"--nuisance={nuisance}" for nuisance in nuisances]
    kept_nowhere = cli("measure", "a=bundled:plain", "sample", *against, *under, "--count", 4, "--samples", 1).out
    assert len(kept_nowhere.splitlines()) > 60


def test_list_shows_one_kind_wherever_there_is_one_of_that_name(cli):
    found = cli("list", "occlusion", "--json").json
    assert {sort: [kind["name"] for kind in kinds] for sort, kinds in found.items()} == {
        "nuisances": ["occlusion"],
        "measures": ["occlusion"],
    }
    said = cli("list", "affine").out
    assert "alpha=100.0" in said
    assert "brightness" not in said
    assert "Did you mean 'affine'?" in cli("list", "affin").complaint(2)


def test_list_says_what_type_an_option_is(cli):
    options = cli("list", "affine", "--json").json["nuisances"][0]["options"]
    assert options["alpha"]["type"] == "number"
    assert options["metric"]["type"] == "string"
    assert options["fill"]["type"] == "number or string"
    assert not options["alpha"]["required"]
    found = cli("list", "onnx", "--json").json["classifiers"][0]["options"]
    assert found["path"]["required"]
    assert found["crop"]["type"] == "integer or null"


def test_every_nuisance_that_is_given_is_measured(cli):
    several = ("measure", "bundled:plain", "sample", "--nuisance", "affine:alpha=50", "--nuisance", "mild=affine")
    found = cli(*several, "--count", 10, "--samples", 2, "--json").json
    assert [row["nuisance"] for row in found["results"]] == ["affine:alpha=50", "mild"]
    weak = cli("sample", *several[1:], "--count", 2, "--budget", 50, "--json").json
    assert [row["nuisance"] for row in weak["results"]] == ["affine:alpha=50", "mild"]
    line = cli(*several, "--nuisance", "mild=rotation", "--count", 10).complaint(2)
    assert line.endswith("'mild': affine and rotation. Give one of them another name: other=rotation.")


def test_of_two_specs_where_one_is_taken_none_is_dropped_silently(cli):
    line = cli("harden", "bundled:plain", "sample", "--nuisance", "affine", "--nuisance", "rotation", "--out", "x")
    assert line.complaint(2) == "brittle: harden: --nuisance is given 2 times. Give it once."
