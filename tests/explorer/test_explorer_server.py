"""The explorer's server as a page uses it: a run is described, and classifiers answer as they do in Python."""

import base64
import io
import json
import os
import shlex
import subprocess
import sys
import zlib

import numpy as np
import pytest
import torch
from PIL import Image

import brittle
from brittle.cases import read_cases
from brittle.explorer.opened import OpenedRun


@pytest.fixture(scope="module")
def image(ask):
    """An image of the run, by its id, and its label."""
    _, run = ask("/api/run")
    found, _, label = run["sets"][0]["images"][0]
    return found, label


def turned(image, **more):
    return {"set": "sample", "image": image, "nuisance": "turned", "classifiers": ["plain"]} | more


def test_a_run_is_described_with_all_that_sliders_need(ask):
    status, run = ask("/api/run")
    assert status == 200
    assert [each["name"] for each in run["classifiers"]] == ["plain", "augmented"]
    assert [len(each["images"]) for each in run["sets"]] == [30]
    spaces = {each["nuisance"]: each for each in run["spaces"]}
    (angle,) = spaces["turned"]["parameters"]
    assert angle["low"] < -60 < 0 == angle["identity"] < 60 < angle["high"]
    assert len(spaces["affine"]["parameters"]) == 6
    assert spaces["affine"]["title"] == "affine"  # as the study calls it; a bare spec has a title of its own
    assert spaces["noisy"]["parameters"] == []


def test_an_answer_is_what_the_classifier_says_of_the_same_picture_in_python(ask, image):
    status, found = ask("/api/evaluate", turned(image[0], theta=[25.0]))
    assert status == 200
    batch = brittle.image_set("sample").only([image[0]]).batch([0])
    picture = brittle.nuisance("rotation:sigma=30").apply(batch, torch.tensor([[25.0]]))
    expected = brittle.classifier("bundled:plain").log_probs(picture)[0].exp().detach()
    answer = found["answers"]["plain"]
    assert answer["label"] == image[1]
    assert sorted(place for place, _ in answer["top"]) == list(range(10))
    assert all(abs(float(expected[place]) - said) < 1e-6 for place, said in answer["top"])


def test_severity_0_is_the_untouched_picture_and_half_is_half_the_angle(ask, image):
    def at(**more):
        return ask("/api/evaluate", turned(image[0], **more))[1]["answers"]["plain"]["top"]

    assert at(theta=[40.0], severity=0.5) == at(theta=[20.0])
    assert at(theta=[40.0], severity=0) == at(theta=[0.0])
    assert at(theta=[40.0]) != at(theta=[20.0])


def test_draws_of_the_prior_are_those_of_the_run(ask, folder):
    rows = brittle.rows(folder, "robustness").to_pylist()
    row = next(each for each in rows if each["nuisance"] == "turned" and each["classifier"] == "plain")
    _, found = ask("/api/evaluate", turned(row["image"], draw=row["draw"]))
    assert found["theta"] == [pytest.approx(row["theta_angle"], abs=1e-5)]
    probabilities = dict(map(tuple, found["answers"]["plain"]["top"]))
    assert probabilities[row["predicted"]] == pytest.approx(np.exp(row["log_p_predicted"]), abs=1e-4)


def test_weak_points_are_those_that_the_run_has_kept(ask, folder):
    rows = brittle.rows(folder, "weak-points").to_pylist()
    wanted = [each for each in rows if (each["nuisance"], each["classifier"]) == ("affine", "plain") and each["found"]]
    image = wanted[0]["image"]
    query = {"set": "sample", "nuisance": "affine", "classifier": "plain", "image": image}
    _, found = ask("/api/points", query)
    here = [each for each in wanted if each["image"] == image]
    assert len(found["points"]) == len(here) > 10
    assert [each["predicted"] for each in found["points"]] == [each["predicted"] for each in here]
    assert found["points"][0]["theta"][0] == pytest.approx(here[0]["theta_a11"])
    point = found["points"][0]
    evaluated = ask("/api/evaluate", query | {"theta": point["theta"], "classifiers": ["plain"]} | {"classifier": ""})
    assert evaluated[0] == 422  # a key that this question does not have
    del query["classifier"]
    _, evaluated = ask("/api/evaluate", query | {"theta": point["theta"], "classifiers": ["plain"]})
    said = dict(map(tuple, evaluated["answers"]["plain"]["top"]))
    assert said[point["predicted"]] == pytest.approx(point["p_predicted"], abs=1e-4)


def test_the_gallery_filters_and_sorts(ask):
    query = {"set": "sample", "nuisance": "affine", "classifier": "plain", "limit": 60}
    _, every = ask("/api/gallery", query)
    assert every["total"] == sum(count for _, count in every["labels"]) == sum(count for *_, count in every["flows"])
    label, predicted, count = next(each for each in every["flows"] if each[0] != each[1])
    _, flow = ask("/api/gallery", query | {"label": label, "predicted": predicted})
    assert flow["total"] == count
    assert {(each["label"], each["predicted"]) for each in flow["items"]} == {(label, predicted)}
    _, wrong = ask("/api/gallery", query | {"wrong": True, "sort": "log_prior", "descending": True})
    assert wrong["total"] == sum(each[2] for each in every["flows"] if each[0] != each[1])
    densities = [each["log_prior"] for each in wrong["items"]]
    assert densities == sorted(densities, reverse=True)
    _, later = ask("/api/gallery", query | {"limit": 5, "offset": 5})
    assert [each["theta"] for each in later["items"]] == [each["theta"] for each in every["items"][5:10]]


def test_draws_that_fail_are_a_gallery_too(ask, folder):
    query = {"set": "sample", "nuisance": "noisy", "classifier": "plain", "measure": "robustness", "limit": 3}
    _, found = ask("/api/gallery", query)
    rows = brittle.rows(folder, "robustness").to_pylist()
    here = [each for each in rows if (each["nuisance"], each["classifier"]) == ("noisy", "plain")]
    assert found["total"] == sum(not each["right"] for each in here)
    assert all(each["theta"] is None and each["draw"] is not None for each in found["items"])


def test_a_map_has_the_probabilities_that_single_questions_give(ask, image):
    theta = [1.0, 0.1, -0.1, 1.0, 0.05, 0.0]
    query = {"set": "sample", "image": image[0], "nuisance": "affine", "theta": theta}
    status, found = ask("/api/map", query | {"x": 4, "y": 0, "classifier": "plain"})
    assert status == 200
    j, i = len(found["y"]) - 1, 2
    there = [found["y"][j], *theta[1:4], found["x"][i], theta[5]]
    _, one = ask("/api/evaluate", query | {"theta": there, "classifiers": ["plain"]})
    label = one["answers"]["plain"]["label"]
    right = dict(map(tuple, one["answers"]["plain"]["top"]))[label]
    assert found["wrong"][j][i] == pytest.approx(1 - right, abs=2e-4)
    assert found["log_prior"][j][i] == pytest.approx(one["log_prior"], abs=1e-3)


def own_picture(size=(60, 40), mode="RGB"):
    made = io.BytesIO()
    Image.effect_noise(size, 80).convert(mode).save(made, "PNG")
    return made.getvalue()


def test_a_picture_of_ones_own_is_shown_to_classifiers(raw, ask):
    status, _, text = raw("POST", "/api/own?set=sample", own_picture())
    kept = json.loads(text)
    assert status == 200
    query = {"set": "sample", "own": kept["own"], "nuisance": "turned", "theta": [10.0], "classifiers": ["plain"]}
    status, found = ask("/api/evaluate", query)
    assert status == 200
    assert found["answers"]["plain"]["label"] == -1
    assert ask("/api/case", query | {"name": "mine", "classifier": "plain"})[0] == 422


@pytest.mark.parametrize("content", [b"", b"not a picture", b"\x89PNG\r\n\x1a\n" + b"\0" * 50, own_picture()[:200]])
def test_what_is_no_picture_is_refused(raw, content):
    status, _, text = raw("POST", "/api/own?set=sample", content)
    assert status == 422
    assert "picture" in json.loads(text)["error"]


def test_a_picture_that_declares_more_pixels_than_allowed_is_not_decoded(raw):
    header = b"\x89PNG\r\n\x1a\n" + b"\0\0\0\rIHDR" + (50_000).to_bytes(4, "big") * 2 + b"\x08\0\0\0\0"
    checksum = zlib.crc32(header[12:]).to_bytes(4, "big")
    status, _, text = raw("POST", "/api/own?set=sample", header + checksum + b"\0\0\0\0IDAT\x35\xaf\x06\x1e")
    assert status == 422
    assert "million pixels" in json.loads(text)["error"]


@pytest.mark.parametrize(
    "more",
    [
        {"nuisance": "affine", "theta": [0.9, 0.13, -0.07, 1.21, 0.031, -0.2]},
        {"theta": [33.3], "severity": 0.7},
        {"theta": [33.3], "severity": 0},
        {"nuisance": "noisy", "draw": 5},
        {"nuisance": "noisy", "draw": 3, "severity": 1.5},
    ],
)
def test_copied_python_prints_the_probabilities_that_were_shown(ask, image, more, tmp_path):
    query = turned(image[0], **more) | {"classifiers": ["plain", "augmented"]}
    _, shown = ask("/api/evaluate", query)
    status, found = ask("/api/reproduce", query)
    assert status == 200, found
    ran = subprocess.run([sys.executable, "-c", found["python"]], capture_output=True, text=True, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    said = [line.split("\t") for line in ran.stdout.splitlines()]
    assert {name for name, *_ in said} == {"plain", "augmented"}
    labels = brittle.classifier("bundled:plain").labels
    for name, label, probability in said:
        expected = dict(map(tuple, shown["answers"][name]["top"]))[labels.index(label)]
        assert abs(float(probability) - expected) < 1e-4


def test_the_copied_command_prints_the_probabilities_that_were_shown(ask, image, cli):
    query = turned(image[0], draw=4, severity=1.2)
    _, shown = ask("/api/evaluate", query)
    words = ask("/api/reproduce", query)[1]["command"]
    said = cli(*shlex.split(words)[1:], "--json")
    assert said.status == 0, said
    assert said.json["answers"]["plain"]["top"] == shown["answers"]["plain"]["top"]


def test_python_of_ones_own_picture_reads_the_saved_file(raw, ask, tmp_path):
    kept = json.loads(raw("POST", "/api/own?set=sample", own_picture())[2])
    query = {"set": "sample", "own": kept["own"], "nuisance": "turned", "theta": [10.0], "classifiers": ["plain"]}
    _, shown = ask("/api/evaluate", query)
    (tmp_path / "own.png").write_bytes(base64.b64decode(kept["uri"].partition(",")[2]))
    python = ask("/api/reproduce", query)[1]["python"]
    ran = subprocess.run([sys.executable, "-c", python], capture_output=True, text=True, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    first = ran.stdout.splitlines()[0].split("\t")
    assert abs(float(first[2]) - shown["answers"]["plain"]["top"][0][1]) < 1e-4


def test_a_case_is_saved_as_the_gate_reads_it(ask, folder, image):
    query = turned(image[0], theta=[33.0], severity=0.5)
    status, found = ask("/api/case", query | {"name": "turned a little", "classifier": "plain"})
    assert status == 200, found
    (case,) = read_cases(folder.parent / "cases.toml")
    assert (case.name, case.images, case.image, case.nuisance) == ("turned a little", "sample", image[0], "turned")
    assert (case.theta, case.severity, case.spec) == ((33.0,), 0.5, "rotation:sigma=30")
    assert case.expected == brittle.classifier("bundled:plain").labels[image[1]] == found["expected"]
    assert ask("/api/case", query | {"name": "turned a little", "classifier": "plain"})[0] == 422


def test_a_run_that_goes_on_is_read_anew(folder, tmp_path):
    copy = tmp_path / "run"
    subprocess.run(["cp", "-r", folder, copy], check=True)
    summary = (copy / "summary.json").read_bytes()
    (copy / "summary.json").unlink()
    units = sorted((copy / "units").rglob("*.parquet"))
    later = units[len(units) // 2 :]
    kept = {each: each.read_bytes() for each in later}
    for each in later:
        each.unlink()
    run = OpenedRun(copy)
    before = run.described()
    assert "still being computed" in before["going"]
    assert before["classifiers"][0]["live"]
    for each, content in kept.items():
        each.write_bytes(content)
    assert run.look_again()["version"] != before["version"]
    during = run.described()
    assert len(during["points"]) > len(before["points"])
    (copy / "summary.json").write_bytes(summary)
    os.utime(copy / "summary.json")
    run.look_again()
    assert run.described()["going"] == ""


@pytest.mark.parametrize(
    "wrong",
    [
        {"image": 10**9},
        {"image": "17"},
        {"nuisance": "fog"},
        {"set": "other"},
        {"theta": [1, 2, 3]},
        {"theta": [float("nan")]},
        {"theta": ["1"]},
        {"theta": []},
        {"theta": [1e300]},
        {"severity": -1},
        {"classifiers": ["nobody"]},
        {"classifiers": ["plain"] * 3},
        {"own": "never sent"},
        {"draw": -1, "theta": None},
        {"path": "/etc/passwd"},
    ],
)
def test_a_question_that_makes_no_sense_is_refused_in_a_sentence(ask, image, wrong):
    status, said = ask("/api/evaluate", turned(image[0], theta=[5.0]) | wrong)
    assert status == 422
    assert said["error"].count("\n") == 0
    assert "Error" not in said["error"]
