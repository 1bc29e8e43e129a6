"""Classifiers are known by the contents of every file that they are made from."""

import numpy as np
import pytest

from brittle.classifiers import classifier
from brittle.engine.hashes.file_hash import files_hash
from brittle.engine.hashes.object_hash import object_hash

onnx = pytest.importorskip("onnx")


def write(folder, location, weights, *, inside=False):
    """A model of 4 numbers → 3 classes whose weights lie in a file of their own; `inside`, they are a node's."""
    folder.mkdir(exist_ok=True)
    (folder / location).parent.mkdir(exist_ok=True)
    (folder / location).write_bytes(np.asarray(weights, np.float32).tobytes())
    tensor = onnx.TensorProto(name="w", data_type=1, dims=[4, 3], data_location=onnx.TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value=location)
    tensor.external_data.add(key="length", value="48")
    nodes = [onnx.helper.make_node("MatMul", ["x", "w"], ["y"])]
    if inside:
        nodes.insert(0, onnx.helper.make_node("Constant", [], ["w"], value=tensor))
    graph = onnx.helper.make_graph(
        nodes,
        "graph",
        [onnx.helper.make_tensor_value_info("x", 1, ["n", 4])],
        [onnx.helper.make_tensor_value_info("y", 1, ["n", 3])],
        [] if inside else [tensor],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    (folder / "a.onnx").write_bytes(model.SerializeToString())
    return f"onnx:{folder / 'a.onnx'}"


@pytest.mark.parametrize("inside", [False, True], ids=["of the graph", "of a node"])
@pytest.mark.parametrize("location", ["a.onnx.data", "weights.bin", "below/w", "ü" + 199 * "n"])
def test_external_data_of_an_onnx_file_counts_under_any_name(tmp_path, location, inside):
    spec = write(tmp_path / "m", location, np.arange(12), inside=inside)
    before = files_hash(spec)
    assert files_hash(write(tmp_path / "n", location, np.arange(12), inside=inside)) == before, "a folder may move"
    write(tmp_path / "m", location, np.arange(12) + 1, inside=inside)
    assert files_hash(spec) != before


def test_an_onnx_classifier_that_is_given_live_is_known_by_its_files(tmp_path):
    spec = write(tmp_path / "m", "weights.bin", np.arange(12))
    before = object_hash(classifier(spec))
    assert before.unknown == ""
    assert object_hash(classifier(spec)) == before
    assert object_hash(classifier(write(tmp_path / "m", "weights.bin", np.arange(12) + 1))) != before
