"""KServe's v2 inference protocol, against a server that takes nothing but what its description says, and against
MLServer where that is installed."""

import json
import subprocess
import sys

import numpy as np
import pytest
import torch
import v2_service

from brittle.classifiers import classifier
from brittle.classifiers.service.client import Reply
from brittle.classifiers.service.protocol import ServiceFacts
from brittle.classifiers.service.tensors import NotScores
from brittle.classifiers.service.v2 import Declared, V2Protocol
from brittle.errors import BrittleError, Failure


@pytest.fixture
def server():
    """`server("binary")`: the base of a server's address."""
    begun = []

    def serve(*how):
        command = [sys.executable, v2_service.__file__, "0", *how]
        begun.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        return f"http://127.0.0.1:{int(begun[-1].stdout.readline())}/base"

    yield serve
    for process in begun:
        process.kill()
        process.communicate()


@pytest.mark.parametrize(
    "how",
    [(), ("binary",), ("fp64",), ("binary", "fp64"), ("last",), ("flat", "binary"), ("fixed",), ("fixed", "binary")],
)
def test_answers_are_those_of_the_model_in_this_process(server, images, expected, how):
    found = classifier(server(*how), protocol="v2", model="toy")
    assert torch.allclose(found.log_probs(images).double(), expected, rtol=0, atol=1e-6)
    assert found.output == "logits"


def test_versions_are_part_of_the_path(server, images, expected):
    url = server()
    found = classifier(url, protocol="v2", model="toy", version="3")
    assert torch.allclose(found.log_probs(images).double(), expected, rtol=0, atol=1e-6)
    with pytest.raises(BrittleError, match=r"answers 404 \(no /base/v2/models/toy/versions/4 here\)"):
        classifier(url, protocol="v2", model="toy", version="4")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"model": "tay"}, r"answers 404 \(no /base/v2/models/tay here\)"),
        ({"model": "../toy"}, r"answers 404 \(no /base/v2/models/..%2Ftoy here\)"),
        ({"model": "toy", "output_name": "score"}, "has no output 'score'. Did you mean 'scores'"),
    ],
)
def test_what_is_not_there_is_one_line(server, options, said):
    with pytest.raises(BrittleError, match=said):
        classifier(server(), protocol="v2", **options)


def test_classes_that_are_no_scores_are_refused(server, images):
    found = classifier(server(), protocol="v2", model="toy", output_name="classes")
    with pytest.raises(Failure, match="its answer is of type 'INT64', not FP16"):
        found.log_probs(images)


def answer(outputs, binary=None, length=None):
    head = json.dumps({"outputs": outputs}).encode()
    headers = {} if binary is None else {"inference-header-content-length": str(length or len(head))}
    return Reply(headers, head + (binary or b""))


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (answer("none"), "no list of outputs"),
        (answer([{"name": "other", "shape": [1, 2], "datatype": "FP32", "data": [1, 2]}]), "no output 'y'"),
        (answer([{"name": "y", "datatype": "FP32", "data": [1, 2]}]), "without a shape"),
        (answer([{"name": "y", "shape": [1, -2], "datatype": "FP32", "data": [1, 2]}]), "without a shape"),
        (answer([{"name": "y", "shape": [1, 10**12], "datatype": "FP32", "data": [1, 2]}]), "has 2 numbers, and says"),
        (answer([{"name": "y", "shape": [1, 2], "datatype": "FP32", "data": ["a", "b"]}]), "not lists of numbers"),
        (
            answer(
                [{"name": "y", "shape": [10**9, 10**9], "datatype": "FP64", "parameters": {"binary_data_size": 8}}],
                b"8" * 8,
            ),
            "has 8 bytes, which are not an array",
        ),
        (answer([], b"12", 9999), "not a number of bytes that are there"),
    ],
)
def test_what_a_server_says_of_its_answer_is_measured_before_it_is_believed(reply, said):
    spoken = V2Protocol(ServiceFacts(), "/infer", Declared("x", "FP32", ()), "y", binary=True)
    with pytest.raises(NotScores, match=said):
        spoken.scores(reply)


def test_outputs_before_the_one_that_is_read_keep_their_bytes():
    values = np.arange(6, dtype="<f4").reshape(2, 3)
    outputs = [
        {"name": "x", "shape": [1], "datatype": "INT64", "parameters": {"binary_data_size": 8}},
        {"name": "y", "shape": [2, 3], "datatype": "FP32", "parameters": {"binary_data_size": 24}},
    ]
    spoken = V2Protocol(ServiceFacts(), "/infer", Declared("x", "FP32", ()), "y", binary=True)
    assert np.array_equal(spoken.scores(answer(outputs, b"8" * 8 + values.tobytes())), values)
