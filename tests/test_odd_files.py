"""Files and names that are not what they seem: one line that says what is wrong and what to do, or they just work."""

import io
import json
import os
import struct
import zipfile

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

import brittle
from brittle.class_names import class_names
from brittle.classifiers import classifier
from brittle.classifiers.checkpoint import load_weights
from brittle.errors import BrittleError
from brittle.images import image_set

PIXELS = np.zeros((2, 4, 4), dtype=np.uint8)


def test_an_npy_named_npz_is_said_to_be_one(tmp_path):
    with open(tmp_path / "a.npz", "wb") as file:
        np.save(file, PIXELS)
    with pytest.raises(BrittleError, match=r"a.npz holds a single array, not an npz archive. Save it with numpy.savez"):
        image_set(f"npz:{tmp_path / 'a.npz'}")


@pytest.mark.parametrize(
    ("method", "flags", "message"),
    [
        (zipfile.ZIP_DEFLATED, 1, "'images.npy' is encrypted"),
        (99, 0, "'images.npy' is compressed in a way that numpy does not write"),
        (zipfile.ZIP_BZIP2, 0, "'images.npy' is compressed in a way that numpy does not write"),
    ],
)
def test_an_npz_that_is_packed_in_another_way_is_refused(tmp_path, method, flags, message):
    np.savez_compressed(tmp_path / "a.npz", images=PIXELS)
    data = bytearray((tmp_path / "a.npz").read_bytes())
    for signature, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        struct.pack_into("<HH", data, data.index(signature) + place, flags, method)
    (tmp_path / "a.npz").write_bytes(data)
    with pytest.raises(BrittleError, match=message):
        image_set(f"npz:{tmp_path / 'a.npz'}")


def test_an_onnx_file_without_inputs_is_refused(tmp_path):
    onnx = pytest.importorskip("onnx")
    value = onnx.helper.make_tensor("v", 1, [1, 2], [0.0, 1.0])
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Constant", [], ["y"], value=value)],
        "graph",
        [],
        [onnx.helper.make_tensor_value_info("y", 1, [1, 2])],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    (tmp_path / "a.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(BrittleError, match=r"a.onnx takes no input. Export a model with one input"):
        classifier(f"onnx:{tmp_path / 'a.onnx'}")


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({0: torch.zeros(2, 3), 1: torch.zeros(2)}, "holds no state dict"),
        ({"weight": torch.zeros(2, 3).to_sparse(), "bias": torch.zeros(2)}, "weight is sparse or quantised there"),
        ({"weight": torch.zeros(2, 3, dtype=torch.complex64), "bias": torch.zeros(2)}, "weight is complex there"),
        ([torch.zeros(2)], "holds no state dict"),
        ({}, "holds no state dict"),
    ],
)
def test_a_checkpoint_of_other_things_than_weights_is_refused(tmp_path, weights, message):
    torch.save(weights, tmp_path / "a.pt")
    with pytest.raises(BrittleError, match=message):
        load_weights(nn.Linear(3, 2), tmp_path / "a.pt")


def test_a_compressed_checkpoint_is_refused(tmp_path):
    torch.save({"weight": torch.zeros(1000, 1000)}, tmp_path / "a.pt")
    with zipfile.ZipFile(tmp_path / "a.pt") as plain, zipfile.ZipFile(tmp_path / "b.pt", "w", 8) as packed:
        for entry in plain.infolist():
            packed.writestr(entry.filename, plain.read(entry))
    with pytest.raises(BrittleError, match=r"b.pt is compressed and unpacks to 4\d+ bytes, which torch never writes"):
        load_weights(nn.Linear(1000, 1000, bias=False), tmp_path / "b.pt")


def test_names_of_classes_are_a_file_or_written_out(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "names.txt").write_text("\ufeffcafé\r\n\r\nSt. Bernard\n", encoding="utf-8")
    assert class_names("names.txt") == ("café", "St. Bernard")
    assert class_names("Poodle/St. Bernard") == ("Poodle", "St. Bernard")
    assert class_names("v1.0/v2.0") == ("v1.0", "v2.0")
    many = tuple(f"class number {place}" for place in range(1000))
    assert class_names("/".join(many)) == many


@pytest.mark.parametrize(
    "text",
    ["data/names.txt", "/data/names", "./names", "../names", "~/names", "there/nmaes", "nmaes", "a//b", "a/b.csv"],
)
def test_a_mistyped_path_does_not_become_names(tmp_path, monkeypatch, text):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").mkdir()
    with pytest.raises(BrittleError, match=r"labels=.*: there is no such file, and these are not names.*labels=a/b/c"):
        class_names(text, "labels")


def test_a_file_of_names_that_is_no_utf8_text_is_named_with_the_line(tmp_path):
    (tmp_path / "names.txt").write_bytes("dog\ncafé\n".encode("latin-1"))
    with pytest.raises(BrittleError, match=r"names.txt is not UTF-8 text: see line 2. Save it as UTF-8"):
        classifier(nn.Linear(3, 2), labels=str(tmp_path / "names.txt"))
    np.savez(tmp_path / "a.npz", images=PIXELS)
    with pytest.raises(BrittleError, match=r"names.txt is not UTF-8 text"):
        image_set(f"npz:{tmp_path / 'a.npz'},classes={tmp_path / 'names.txt'}")
    (tmp_path / "names.txt").write_bytes(b"")
    with pytest.raises(BrittleError, match=r"names.txt is not a list of names"):
        class_names(str(tmp_path / "names.txt"))


def test_names_of_files_that_are_not_text_are_measured_and_reported(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for folder in (b"caf\xe9", b"dog"):
        os.makedirs(b"ph\xe9/" + folder)
        for place in range(2):
            Image.new("L", (28, 28), 99 * place).save(os.fsdecode(b"ph\xe9/" + folder + b"/\xff%d.png" % place))
    spec = os.fsdecode(b"folder:ph\xe9")
    assert image_set(spec).classes == ("caf\\xe9", "dog")
    assert image_set(spec).names[0] == "caf\\xe9/\\xff0.png"
    said = cli("measure", "bundled:plain", spec, "--nuisance", "affine", "--samples", 2, "--out", "run")
    assert said.status == 0, said.err
    assert "caf\\xe9" in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    (tmp_path / "run" / "report.html").unlink()
    assert cli("report", "run").status == 0
    assert "ph\\\\xe9" in (tmp_path / "run" / "study.toml").read_text(encoding="utf-8")
    assert json.loads((tmp_path / "run" / "summary.json").read_text())["warnings"] is not None


def test_a_device_that_holds_no_numbers_is_refused(cli):
    complaint = cli("measure", "bundled:plain", "sample", "--nuisance", "affine", "--device", "meta").complaint(2)
    assert "nothing can be computed on device 'meta' here. Use cpu, cuda or cuda:1." in complaint


def test_a_run_folder_whose_name_is_not_text_is_refused(cli, tmp_path):
    name = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9")
    measured = ("measure", "bundled:plain", "sample", "--nuisance", "affine", "--out", name)
    assert "caf\\xe9 is not a name that a run folder can have" in cli(*measured).complaint(2)
    assert "caf\\xe9 is not a name that a run folder can have" in cli("report", name).complaint(2)
    assert list(tmp_path.iterdir()) == []


def onnx_model(onnx):
    """(n, 4) → (n, 2)."""
    weights = onnx.numpy_helper.from_array(np.eye(4, 2, dtype=np.float32), "w")
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("MatMul", ["x", "w"], ["y"])],
        "graph",
        [onnx.helper.make_tensor_value_info("x", 1, ["n", 4])],
        [onnx.helper.make_tensor_value_info("y", 1, ["n", 2])],
        [weights],
    )
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)


def test_an_onnx_file_whose_name_is_not_text_is_measured(cli, tmp_path, monkeypatch):
    onnx = pytest.importorskip("onnx")
    monkeypatch.chdir(tmp_path)
    model, path = onnx_model(onnx), os.fsdecode(b"caf\xe9.onnx")
    with open(path, "wb") as file:
        file.write(model.SerializeToString())
    np.savez("a.npz", images=np.zeros((8, 2, 2), np.uint8), labels=[0, 1] * 4)
    measured = ("measure", f"onnx:{path}", "npz:a.npz", "--nuisance", "rotation", "--samples", 2, "--out", "run")
    assert cli(*measured).status == 0
    assert cli(*measured).status == 0
    model.graph.initializer[0].raw_data = np.full((4, 2), 0.01, np.float32).tobytes()
    with open(path, "wb") as file:
        file.write(model.SerializeToString())
    assert "is made from have changed" in cli(*measured).complaint(2)


@pytest.mark.parametrize("option", ["size=100000", "size=8x99999", "size=5000/5000", "crop=999999999999"])
def test_a_classifier_s_images_have_a_largest_size(option):
    with pytest.raises(BrittleError, match=r"(size|crop).*(at most|between 1 and|too large).*4096"):
        classifier(f"onnx:a.onnx,{option}")


def test_a_long_image_is_not_blown_up():
    found = classifier(nn.Flatten(), size=4000)
    with pytest.raises(BrittleError, match=r"size=4000 makes 4000×1200000 of images of 1×300, too large"):
        found.check(torch.zeros(2, 1, 1, 300))


@pytest.mark.parametrize("out", ["", " "])
def test_weights_need_a_name(cli, out):
    assert "the name of the file of weights is empty" in cli("train", "cnn-2", "sample", "--out", out).complaint(2)


@pytest.mark.parametrize(
    ("spec", "blamed"),
    [
        ("gamma:sigma=1000", "'gamma' can't be computed with sigma=1000: "),
        ("rotation:sigma=1e300", "'rotation' can't be computed with sigma=1e+300: θ is infinite"),
        ("affine+pixelate:level=3,spread=1e6", "'pixelate' can't be computed with spread=1000000: "),
        ("shadow:softness=1e-300", "'shadow' can't be computed with softness=1e-300: pixels are NaN"),
    ],
)
def test_an_extreme_option_is_blamed_before_work_begins(cli, tmp_path, spec, blamed):
    measured = ("measure", "bundled:plain", "sample", "--count", 10, "--samples", 2, "--nuisance", spec)
    complaint = cli(*measured, "--out", tmp_path / "run").complaint(2)
    assert f"the nuisance {blamed}" in complaint
    assert complaint.endswith("Use a less extreme value.")
    hardened = ("harden", "bundled:plain", "sample", "--nuisance", spec, "--out", tmp_path / "hard")
    assert f"the nuisance {blamed}" in cli(*hardened, "--json").complaint(2)


@pytest.mark.parametrize("sort", ["classifiers", "images", "nuisances"])
@pytest.mark.parametrize("name", ["", "\ud800"])
def test_a_thing_has_a_name_that_is_text(sort, name):
    things = {"classifiers": "bundled:plain", "images": "sample", "nuisances": "affine"}
    study = {each: {name if each == sort else "it": spec} for each, spec in things.items()}
    with pytest.raises(BrittleError, match=r"can't be a name among the .*Name it by some text"):
        brittle.run(study)


def test_an_npz_with_a_damaged_name_or_flags_is_refused(tmp_path):
    np.savez(tmp_path / "a.npz", images=np.zeros((90, 90), np.uint8))
    sound = (tmp_path / "a.npz").read_bytes()
    for signature, place, value in ((b"PK\x01\x02", 8, 0x20), (b"PK\x03\x04", 27, 0x1F)):
        data = bytearray(sound)
        data[data.index(signature) + place] = value
        (tmp_path / "a.npz").write_bytes(data)
        with pytest.raises(BrittleError, match=r"a.npz can't be read") as error:
            image_set(f"npz:{tmp_path / 'a.npz'}")
        assert len(str(error.value)) < 600


def named(path, header):
    """An npz file of two images whose class names have this header and no bytes."""
    with zipfile.ZipFile(path, "w") as archive:
        array = io.BytesIO()
        np.save(array, np.zeros((2, 4, 4), np.float32))
        archive.writestr("images.npy", array.getvalue())
        text = (header + "\n").encode()
        archive.writestr("classes.npy", b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text)
    return path


def test_an_array_of_more_entries_than_numpy_can_count_is_left_out_as_others_that_are_none(tmp_path):
    """An axis of 2⁷⁰ beside one of none: no bytes at all, and an OverflowError inside numpy."""
    header = "{'descr': '<U3', 'fortran_order': False, 'shape': (0, 1180591620717411303424)}"
    found = image_set(f"npz:{named(tmp_path / 'large.npz', header)}")
    assert len(found) == 2
    assert not found.classes


@pytest.mark.parametrize(("kind", "shape"), [("<U3", (2**30, 0)), ("<U0", (2**30,)), ("<U3", (0, 5))])
def test_names_without_bytes_are_refused_and_not_gone_through_one_by_one(tmp_path, kind, shape):
    """A thousand million names of no letters take no bytes, and hours."""
    header = str({"descr": kind, "fortran_order": False, "shape": shape})
    with pytest.raises(BrittleError, match="'classes' has no values"):
        image_set(f"npz:{named(tmp_path / 'many.npz', header)}")
