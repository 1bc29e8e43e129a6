"""Whatever is in a file of weights or an ONNX file: it is loaded as it is, or refused in one line; no code is run."""

import io
import itertools
import json
import pickle
import zipfile

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as some
from made_up import costly, mutated, taken_or_refused
from safetensors.torch import save
from torch import nn

from brittle.classifiers.checkpoint import load_weights
from brittle.classifiers.onnx_file import OnnxClassifier

WEIGHTS = {"weight": torch.arange(6.0).view(2, 3), "bias": torch.tensor([0.5, -0.5])}
RAN = []


def payload(*_):
    """What a hostile file asks for: importable by name, so that only refusing it keeps it from running."""
    RAN.append(1)
    return {}


class Bomb:
    def __reduce__(self):
        return RAN.append, (1,)


class Command:
    def __reduce__(self):
        return exec, ("import test_classifier_files",)


def saved(what, **options):
    to = io.BytesIO()
    torch.save(what, to, **options)
    return to.getvalue()


def loaded(path):
    module = nn.Linear(3, 2)
    load_weights(module, path)
    return module.state_dict()


CHECKPOINTS = [
    saved(WEIGHTS),
    saved({"state_dict": WEIGHTS, "epoch": 3}),
    saved(WEIGHTS, _use_new_zipfile_serialization=False),
    saved({"model": {f"module.{key}": value for key, value in WEIGHTS.items()}}),
    saved({"weight": Bomb(), "bias": Command()}),
    pickle.dumps({"weight": Bomb()}),
    pickle.dumps(WEIGHTS),
]


@given(mutated(CHECKPOINTS))
def test_a_torch_checkpoint_is_loaded_or_refused(file, data):
    with taken_or_refused():
        found = loaded(file("a.pt", data))
        assert {key: value.shape for key, value in found.items()} == {"weight": (2, 3), "bias": (2,)}
    assert not RAN


@given(mutated([save(WEIGHTS), save(WEIGHTS, {"format": "pt"}), save({}), save({"weight": torch.zeros(0)})]))
def test_a_safetensors_file_is_loaded_or_refused(file, data):
    with taken_or_refused():
        found = loaded(file("a.safetensors", data))
        assert {key: value.shape for key, value in found.items()} == {"weight": (2, 3), "bias": (2,)}


HEADERS = some.dictionaries(
    some.sampled_from(["weight", "bias", "__metadata__", "x"]),
    some.fixed_dictionaries(
        {},
        optional={
            "dtype": some.sampled_from(["F32", "F64", "BF16", "I64", "BOOL", "F8_E4M3", "Q4", 3]),
            "shape": some.lists(some.sampled_from([0, 1, 2, 3, -1, 2**32, 2**63]), max_size=3),
            "data_offsets": some.lists(some.sampled_from([0, 8, 24, 32, -1, 2**63]), max_size=3),
        },
    ),
    max_size=3,
)


@given(HEADERS, some.binary(max_size=40), some.sampled_from([0, 0, 0, 1, 2**40]))
@example({"weight": {"dtype": "F32", "shape": [0, 1 << 63], "data_offsets": [0, 0]}}, b"", 0)
def test_a_safetensors_header_is_loaded_or_refused(file, header, body, longer):
    text = json.dumps(header).encode()
    with taken_or_refused():
        loaded(file("b.safetensors", (len(text) + longer).to_bytes(8, "little") + text + body))


def tensors():
    plain = torch.arange(6.0).view(2, 3)
    return {
        "plain": plain,
        "half": plain.half(),
        "double": plain.double(),
        "whole": plain.long(),
        "bool": plain > 2,
        "complex": plain.to(torch.complex64),
        "sparse": plain.to_sparse(),
        "csr": plain.to_sparse_csr(),
        "quantised": torch.quantize_per_tensor(plain, 0.1, 0, torch.quint8),
        "meta": plain.to("meta"),
        "parameter": nn.Parameter(plain),
        "strided": torch.arange(12.0).view(3, 4).T[:2],
        "shared": torch.zeros(1).expand(2, 3),
        "nan": plain * float("nan"),
        "bias": torch.tensor([1.0, 2.0]),
        "scalar": torch.tensor(1.0),
        "empty": torch.zeros(0),
    }


KEYS = some.sampled_from(
    ["weight", "bias", "module.weight", "_orig_mod.bias", "state_dict", "model", "x", 0, 1, None, b"b"]
)
VALUES = some.sampled_from(sorted(tensors())).map(lambda kind: tensors()[kind])
HELD = some.recursive(
    VALUES | some.none() | some.integers() | some.text(max_size=3),
    lambda inner: some.lists(inner, max_size=2) | some.dictionaries(KEYS, inner, max_size=3),
    max_leaves=4,
)
STATES = some.fixed_dictionaries({"weight": VALUES, "bias": some.just(tensors()["bias"]) | VALUES})


@given(STATES | HELD | some.fixed_dictionaries({"state_dict": STATES | HELD}), some.booleans())
@example({"weight": tensors()["plain"], "bias": tensors()["bias"]}, True)
def test_a_checkpoint_of_anything_is_loaded_or_refused(file, what, zipped):
    try:
        data = saved(what, _use_new_zipfile_serialization=zipped)
    except Exception:
        return  # torch itself can't save that
    with taken_or_refused():
        found = loaded(file("b.pt", data))
        state = what
        for key in ("state_dict", "model_state_dict", "model", "net"):  # under which training scripts keep weights
            state = state[key] if isinstance(state.get(key), dict) else state
        for key, value in found.items():
            torch.testing.assert_close(value, state[key].detach().to(value.dtype), equal_nan=True)


ENTRIES = some.sampled_from(["data.pkl", "version", "byteorder", "data/0", "../x", "x"])


@given(some.dictionaries(ENTRIES, some.binary(max_size=60), max_size=4))
def test_an_archive_named_as_a_checkpoint_is_loaded_or_refused(file, entries):
    to = io.BytesIO()
    with zipfile.ZipFile(to, "w") as archive:
        for name, body in entries.items():
            archive.writestr(f"archive/{name}", body)
    with taken_or_refused():
        loaded(file("c.pt", to.getvalue()))
    assert not RAN


onnx = pytest.importorskip("onnx")
helper = onnx.helper


def model(nodes, inputs, outputs, initializers=(), opset=17):
    graph = helper.make_graph(nodes, "graph", inputs, outputs, initializers)
    versions = [helper.make_opsetid("", opset), helper.make_opsetid("ai.onnx.ml", 3)]
    return helper.make_model(graph, opset_imports=versions, ir_version=8).SerializeToString()


def tensor(name, *shape):
    values = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    return onnx.numpy_helper.from_array(values, name)


def value(name, shape, kind=1):
    return helper.make_tensor_value_info(name, kind, shape)


FLAT = [helper.make_node("Flatten", ["x"], ["f"]), helper.make_node("MatMul", ["f", "w"], ["y"])]
MODELS = [
    model(FLAT, [value("x", ["n", 1, 4, 4])], [value("y", ["n", 3])], [tensor("w", 16, 3)]),
    model(
        [*FLAT, helper.make_node("Softmax", ["y"], ["p"], axis=1)],
        [value("x", [2, 1, 4, 4])],
        [value("p", [2, 3])],
        [tensor("w", 16, 3)],
    ),
    model(
        [
            helper.make_node("Conv", ["x", "k"], ["c"], kernel_shape=[3, 3]),
            helper.make_node("GlobalAveragePool", ["c"], ["g"]),
            helper.make_node("Flatten", ["g"], ["y"]),
        ],
        [value("x", ["n", 1, "h", "w"])],
        [value("y", ["n", 3])],
        [tensor("k", 3, 1, 3, 3)],
    ),
    model(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        [value("x", ["n", 16])],
        [value("y", ["n", 3])],
        [tensor("w", 16, 3)],
    ),
]
IMAGES = torch.rand(3, 1, 4, 4, generator=torch.Generator().manual_seed(0))


def asked(path):
    """Log-probabilities that are ones."""
    found = OnnxClassifier(path)
    found.check(IMAGES)
    answers = found.log_probs(IMAGES)
    assert answers.shape == (3, len(found.labels))
    torch.testing.assert_close(answers.exp().sum(1), torch.ones(3), atol=2e-3, rtol=0)


@costly(0.5)
@given(mutated(MODELS))
def test_an_onnx_file_is_opened_or_refused(file, data):
    with taken_or_refused():
        asked(file("a.onnx", data))


SHAPES = (
    some.sampled_from([["n", 1, 4, 4], ["n", 16], ["n", 3]])
    | some.lists(some.sampled_from([0, 1, 2, 3, 4, 16, "n", "m", None, -1, 2**40]), max_size=5)
    | some.none()
)
TYPES = some.sampled_from([1, 1, 1, 1, 10, 11, 7, 9, 8, 16, 2, 14])
PAIRED = ("MatMul", "Add", "Div", "Reshape")
ALONE = (
    "Flatten", "Relu", "Softmax", "Identity", "Cast", "ReduceMean", "Transpose", "Sqrt", "Log", "ArgMax", "Shape",
    "NoSuchThing", "If", "TopK",
)  # fmt: skip


@some.composite
def models(draw):
    """A chain of operators that may fit together, behind a network that does or alone."""
    behind = draw(some.booleans())
    nodes = [helper.make_node("Flatten", ["x"], ["f"]), helper.make_node("MatMul", ["f", "w"], ["s"])] if behind else []
    names = [
        "s" if behind else "x",
        *draw(some.lists(some.sampled_from(["a", "b", "c"]), max_size=2, unique=True)),
        "y",
    ]
    for source, to in itertools.pairwise(names):
        kind = draw(some.sampled_from([*PAIRED, *ALONE]))
        sources = [source, draw(some.sampled_from(["w", "x", ""]))] if kind in PAIRED else [source]
        options = {"to": draw(some.integers(0, 12))} if kind == "Cast" else {}
        nodes.append(helper.make_node(kind, sources, [to], **options))
    named = draw(some.sampled_from(["x", "x", "x", "", "xz"])), draw(some.sampled_from(["y", "y", "y", "", "ya", "q"]))
    inputs, outputs = ([value(name, draw(SHAPES), draw(TYPES)) for name in each] for each in named)
    shape = [16, 3] if behind else draw(some.lists(some.sampled_from([1, 3, 4, 16]), min_size=1, max_size=2))
    return model(nodes, inputs, outputs, [tensor("w", *shape)], draw(some.sampled_from([17, 17, 17, 13, 1, 99])))


@costly(0.5)
@given(models())
def test_an_onnx_model_of_any_structure_is_opened_or_refused(file, data):
    with taken_or_refused():
        asked(file("b.onnx", data))
