"""The explorer's server as a page uses it: a run is described, and classifiers answer as they do in Python."""

import http.client
import json
import threading
import warnings

import pytest
import torch

import brittle
from brittle.explorer.opened import OpenedRun
from brittle.explorer.serve import explorer_server


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("explorer") / "run"
    study = {
        "classifiers": {"plain": "bundled:plain", "augmented": "bundled:augmented"},
        "images": {"sample": {"spec": "sample", "count": 30}},
        "nuisances": {"turned": "rotation:sigma=30", "affine": "affine:alpha=50", "noisy": "noise:sigma=0.2"},
        "robustness": {"samples": 10},
        "weak-points": {"count": 3, "budget": 200, "keep": 40},
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", brittle.BrittleWarning)
        brittle.run(study, out=out)
    return out


@pytest.fixture(scope="module")
def server(folder):
    found = explorer_server(OpenedRun(folder), folder.parent / "cases.toml")
    thread = threading.Thread(target=found.run, daemon=True)
    thread.start()
    yield found
    found.stop()
    thread.join(10)


@pytest.fixture(scope="module")
def ask(server):
    """`ask("/api/run")` or, with a body, a question: the status and what is said."""

    def call(path, body=None, **headers):
        connection = http.client.HTTPConnection(server.origin.removeprefix("http://"), timeout=60)
        sent = {"X-Brittle-Token": server.token} | {name.replace("_", "-"): value for name, value in headers.items()}
        content = None if body is None else json.dumps(body)
        connection.request("GET" if body is None else "POST", path, content, sent)
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        return answer.status, json.loads(text)

    return call


def test_a_run_is_described_with_all_that_sliders_need(ask):
    status, run = ask("/api/run")
    assert status == 200
    assert [each["name"] for each in run["classifiers"]] == ["plain", "augmented"]
    assert [len(each["images"]) for each in run["sets"]] == [30]
    spaces = {each["nuisance"]: each for each in run["spaces"]}
    (angle,) = spaces["turned"]["parameters"]
    assert angle["low"] < -60 < 0 == angle["identity"] < 60 < angle["high"]
    assert len(spaces["affine"]["parameters"]) == 6
    assert spaces["noisy"]["parameters"] == []


def test_an_answer_is_what_the_classifier_says_of_the_same_picture_in_python(ask):
    _, run = ask("/api/run")
    image, _, label = run["sets"][0]["images"][0]
    query = {"set": "sample", "image": image, "nuisance": "turned", "theta": [25.0], "classifiers": ["plain"]}
    status, found = ask("/api/evaluate", query)
    assert status == 200
    batch = brittle.image_set("sample").only([image]).batch([0])
    turned = brittle.nuisance("rotation:sigma=30").apply(batch, torch.tensor([[25.0]]))
    expected = brittle.classifier("bundled:plain").log_probs(turned)[0].exp().detach()
    answer = found["answers"]["plain"]
    assert answer["label"] == label
    assert sorted(place for place, _ in answer["top"]) == list(range(10))
    assert all(abs(float(expected[place]) - said) < 1e-6 for place, said in answer["top"])


def test_nothing_of_the_run_is_told_without_the_token(ask):
    assert ask("/api/run", X_Brittle_Token="wrong")[0] == 401
