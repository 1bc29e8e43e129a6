"""ONNX files against the modules and numbers they were made from."""

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import nn

from brittle.classifiers import classifier
from brittle.classifiers.onnx_pieces import pieces
from brittle.errors import BrittleError


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """The same network with a free batch and with batches of 4."""
    torch.manual_seed(2)
    network = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 5)).eval()
    folder = tmp_path_factory.mktemp("onnx")
    example = torch.rand(4, 3, 8, 8)
    free = {"x": {0: torch.export.Dim("batch", min=1, max=4096)}}

    class Named(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = network

        def forward(self, x):
            return self.inner(x)

    for name, shapes in (("free", free), ("fixed", None)):
        torch.onnx.export(
            Named().eval(),
            (example,),
            folder / f"{name}.onnx",
            dynamic_shapes=shapes,
            dynamo=True,
            verbose=False,
            external_data=False,
        )
    return network, folder


@pytest.mark.parametrize("batch", ["free", "fixed"])
@pytest.mark.parametrize("count", [1, 4, 11])
def test_an_exported_module_agrees_with_the_module(exported, batch, count):
    network, folder = exported
    images = torch.rand(count, 3, 8, 8)
    found = classifier(folder / f"{batch}.onnx", mean=0.5, std=0.25).log_probs(images)
    assert torch.allclose(found, network((images - 0.5) / 0.25).log_softmax(1), atol=1e-5)


class Session:
    """As much of a session as `pieces` asks."""

    def __init__(self, provider="CPUExecutionProvider", threads=1):
        self.provider, self.intra_op_num_threads = provider, threads

    def get_providers(self):
        return [self.provider]

    def get_session_options(self):
        return self


@pytest.mark.parametrize(
    ("session", "shape", "sizes"),
    [
        (Session(), (150, 1, 28, 28), [64, 64, 22]),
        (Session(threads=2), (150, 1, 28, 28), [128, 22]),
        (Session(), (40, 3, 224, 224), [32, 8]),
        (Session(), (0, 1, 28, 28), [0]),
        (Session("CUDAExecutionProvider"), (150, 1, 28, 28), [150]),
    ],
)
def test_on_a_cpu_a_batch_is_given_in_pieces_that_caches_hold(session, shape, sizes):
    images = np.broadcast_to(np.float32(0), shape)
    assert [len(each) for each in pieces(session, images)] == sizes


def test_a_batch_in_pieces_is_answered_in_its_order(exported):
    network, folder = exported
    images = torch.rand(700, 3, 8, 8)  # 341 of them have 1 << 16 numbers
    found = classifier(folder / "free.onnx").log_probs(images)
    assert torch.allclose(found, network(images).log_softmax(1), atol=1e-5)


def test_a_bare_path_a_spec_and_a_spec_with_options_are_the_same(exported):
    _, folder = exported
    images = torch.rand(3, 3, 8, 8)
    expected = classifier(f"{folder}/free.onnx").log_probs(images)
    assert torch.equal(classifier(f"onnx:{folder}/free.onnx,output=logits").log_probs(images), expected)
    assert torch.equal(classifier(f"{folder}/free.onnx,output=logits").log_probs(images), expected)
    assert torch.equal(classifier(f"onnx:{folder}/free.onnx", output="logits").log_probs(images), expected)


@pytest.mark.parametrize(
    ("shape", "remedy"),
    [
        ((1, 8, 8), "channels=rgb"),
        ((3, 9, 12), "size=8x8"),
        ((1, 4, 8), "channels=rgb,size=8x8"),
    ],
)
def test_wrong_channels_or_size_are_answered_with_a_remedy_that_works(exported, shape, remedy):
    _, folder = exported
    images, spec = torch.rand(2, *shape), f"onnx:{folder}/free.onnx"
    with pytest.raises(BrittleError, match=f"takes 3×8×8 but gets images of .*Give {remedy}\\.") as caught:
        classifier(spec).check(images)
    assert caught.value.exit_status == 2
    classifier(f"{spec},{remedy}").check(images)


def save(path, nodes, inputs, outputs, initializers=()):
    graph = helper.make_graph(nodes, "g", inputs, outputs, list(initializers))
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    return path


def flat_linear(path, weight, shape, dtype=TensorProto.FLOAT, extra=(), outputs=None):
    """scores = flatten(x) @ weight, with an integer label beside them, as converters write it."""
    kind = helper.tensor_dtype_to_np_dtype(dtype)
    nodes = [
        helper.make_node("Flatten", ["x"], ["flat"]),
        helper.make_node("MatMul", ["flat", "w"], ["scores"]),
        helper.make_node("ArgMax", ["scores"], ["label"], axis=1, keepdims=0),
        *extra,
    ]
    label = helper.make_tensor_value_info("label", TensorProto.INT64, ["n"])
    scores = helper.make_tensor_value_info("scores", dtype, ["n", weight.shape[1]])
    x = helper.make_tensor_value_info("x", dtype, shape)
    return save(path, nodes, [x], outputs or [label, scores], [numpy_helper.from_array(weight.astype(kind), "w")])


WEIGHT = np.random.default_rng(0).normal(size=(12, 3))


def expected_log_probs(images, order=(0, 1, 2, 3)):
    flat = images.permute(*order).flatten(1).double()
    return (flat @ torch.from_numpy(WEIGHT)).log_softmax(1).float()


def test_the_layout_is_told_from_the_shape(tmp_path):
    path = flat_linear(tmp_path / "m.onnx", WEIGHT, ["n", 2, 2, 3])
    images = torch.rand(5, 3, 2, 2)
    assert torch.allclose(classifier(path).log_probs(images), expected_log_probs(images, (0, 2, 3, 1)), atol=1e-5)
    with pytest.raises(BrittleError, match=r"Give channels=rgb,size=2x2\."):
        classifier(path).check(torch.rand(5, 1, 4, 4))


def test_flat_inputs_get_flat_images_and_the_label_output_is_passed_over(tmp_path):
    path = flat_linear(tmp_path / "m.onnx", WEIGHT, ["n", 12])
    images = torch.rand(5, 3, 2, 2)
    assert torch.allclose(classifier(path).log_probs(images), expected_log_probs(images), atol=1e-5)
    with pytest.raises(BrittleError, match="takes 12 but gets images of 27"):
        classifier(path).check(torch.rand(5, 3, 3, 3))


@pytest.mark.parametrize(("dtype", "tolerance"), [(TensorProto.FLOAT16, 2e-2), (TensorProto.DOUBLE, 1e-5)])
def test_other_floats_are_cast(tmp_path, dtype, tolerance):
    path = flat_linear(tmp_path / "m.onnx", WEIGHT, ["n", 3, 2, 2], dtype)
    images = torch.rand(5, 3, 2, 2)
    found = classifier(path).log_probs(images)
    assert found.dtype == torch.float32
    assert torch.allclose(found, expected_log_probs(images), atol=tolerance)


def test_a_zipmap_of_probabilities_is_read(tmp_path):
    extra = [
        helper.make_node("Softmax", ["scores"], ["p"], axis=1),
        helper.make_node("ZipMap", ["p"], ["map"], domain="ai.onnx.ml", classlabels_int64s=[0, 1, 2]),
    ]
    value = helper.make_tensor_type_proto(TensorProto.FLOAT, [])
    kind = helper.make_sequence_type_proto(helper.make_map_type_proto(TensorProto.INT64, value))
    outputs = [
        helper.make_tensor_value_info("label", TensorProto.INT64, ["n"]),
        helper.make_value_info("map", kind),
    ]
    path = flat_linear(tmp_path / "m.onnx", WEIGHT, ["n", 12], extra=extra, outputs=outputs)
    images = torch.rand(5, 3, 2, 2)
    found = classifier(path)
    assert torch.allclose(found.log_probs(images), expected_log_probs(images), atol=1e-5)
    assert found.output == "probabilities"


def test_an_output_can_be_named_and_a_wrong_name_is_answered(tmp_path):
    extra = [helper.make_node("Mul", ["scores", "scores"], ["squared"])]
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 3]) for name in ("scores", "squared")]
    path = flat_linear(tmp_path / "m.onnx", WEIGHT, ["n", 12], extra=extra, outputs=outputs)
    images = torch.rand(5, 3, 2, 2)
    squared = (images.flatten(1) @ torch.from_numpy(WEIGHT).float()) ** 2
    found = classifier(f"onnx:{path},output-name=squared").log_probs(images)
    assert torch.allclose(found, squared.log_softmax(1), atol=1e-5)
    with pytest.raises(BrittleError, match=r"no output 'square'\. Did you mean 'squared'"):
        classifier(path, output_name="square")


def test_a_model_without_scores_says_what_it_has(tmp_path):
    outputs = [helper.make_tensor_value_info("label", TensorProto.INT64, ["n"])]
    path = flat_linear(tmp_path / "m.onnx", WEIGHT, ["n", 12], outputs=outputs)
    with pytest.raises(BrittleError, match=r"does not output scores, only label tensor\(int64\)"):
        classifier(path)


@pytest.mark.parametrize("content", [b"", b"\x00\x01not onnx", b"hello world"])
def test_a_file_that_is_no_onnx_is_one_line(tmp_path, content):
    path = tmp_path / "bad.onnx"
    path.write_bytes(content)
    with pytest.raises(BrittleError, match=r"bad\.onnx can't be read as an ONNX model") as caught:
        classifier(path)
    assert "\n" not in str(caught.value)
    assert caught.value.exit_status == 2


def test_a_torn_file_is_one_line(exported, tmp_path):
    _, folder = exported
    whole = (folder / "free.onnx").read_bytes()
    (tmp_path / "torn.onnx").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(BrittleError, match="can't be read as an ONNX model"):
        classifier(tmp_path / "torn.onnx")


def test_a_missing_file_is_answered_with_the_nearest(exported):
    _, folder = exported
    with pytest.raises(BrittleError, match=r"no file .*Did you mean '.*free\.onnx'"):
        classifier(folder / "fre.onnx")


def test_an_axis_whose_name_is_no_text_is_refused_in_one_line(tmp_path):
    shape = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 4]) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "graph", shape[:1], shape[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    data = model.SerializeToString().replace(b"\x12\x01n", b"\x12\x01\x80")
    (tmp_path / "odd.onnx").write_bytes(data)
    with pytest.raises(BrittleError, match="can't be read as an ONNX model") as refused:
        classifier(f"onnx:{tmp_path / 'odd.onnx'}")
    assert len(str(refused.value).splitlines()) == 1


def test_a_fixed_batch_that_no_memory_holds_is_refused_in_one_line(tmp_path):
    """A broken file may name any size: images are padded to it."""
    weights = numpy_helper.from_array(np.ones((16, 3), np.float32), "w")
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1 << 40, 16])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 3])],
        [weights],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "m.onnx")
    with pytest.raises(BrittleError, match="takes 1,099,511,627,776 images at once, more than memory holds"):
        classifier(tmp_path / "m.onnx").log_probs(torch.rand(2, 1, 4, 4))
