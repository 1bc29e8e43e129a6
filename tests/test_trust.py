"""What lies in the current folder or in a file is not run unless it is named."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
import torch
from PIL import Image

from brittle.class_names import class_names
from brittle.classifiers import classifier
from brittle.classifiers.checkpoint import read_weights
from brittle.classifiers.class_mapping import class_mapping
from brittle.errors import BrittleError
from brittle.images import image_set
from brittle.images.columns import read_columns
from brittle.images.id_list import ids_of
from brittle.measures.decisions import read_decisions
from brittle.nuisances.suites import suite_of

SHADOW = "import pathlib\npathlib.Path(__file__).with_suffix('.ran').touch()\nraise SystemExit('shadowed')\n"


def test_a_module_beside_the_user_takes_no_other_one_s_place(tmp_path):
    for name in ("rich", "torch", "numpy"):
        (tmp_path / f"{name}.py").write_text(SHADOW)
    (tmp_path / "mine.py").write_text(
        "import torch\n\ndef scores(images):\n    return images.mean((2, 3)) * torch.ones(10)\n"
    )
    command = ["measure", "python:mine:scores", "sample", "--nuisance=affine", "--count=2", "--samples=2"]
    # -P leaves out the current folder, as a console script does.
    done = subprocess.run(
        [sys.executable, "-P", "-c", "from brittle.cli import main; main()", *command],
        cwd=tmp_path,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert not list(tmp_path.glob("*.ran"))


def test_a_matplotlibrc_of_the_current_folder_has_no_say(tmp_path):
    (tmp_path / "matplotlibrc").write_text("text.usetex: True\nlines.linewidth: 40\nfont.size: 70\n")
    latex = tmp_path / "latex"
    latex.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    latex.chmod(0o755)
    code = (
        "from brittle.report.renderers.canvas import drawn, svg\n"
        "def draw(figure):\n    figure.subplots().plot([0, 1])\n"
        "print(svg('a', drawn((3, 2), draw), 'a line'))\n"
    )
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    drawn = [
        subprocess.run(
            [sys.executable, "-P", "-c", code],
            cwd=folder,
            env=os.environ | {"PATH": path, "MPLCONFIGDIR": str(tmp_path / "cache")},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for folder in (tmp_path, tmp_path.parent)
    ]
    assert drawn[0] == drawn[1]
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("name", ["EPS", "GIF", "PDF", "ICO", "TGA"])
def test_only_the_image_formats_that_are_named_are_opened(tmp_path, name, monkeypatch):
    Image.new("RGB", (8, 8)).save(tmp_path / "a.png", format=name)
    with pytest.raises(BrittleError, match=r"a.png can't be read: not an image format that Brittle reads \(JPEG, PNG"):
        image_set(f"folder:{tmp_path}")


@pytest.mark.parametrize("name", ["JPEG", "PNG", "BMP", "WEBP", "TIFF", "PPM", "MPO"])
def test_a_file_s_extension_need_not_be_that_of_its_format(tmp_path, name):
    Image.new("RGB", (8, 8)).save(tmp_path / "a.png", format=name)
    assert image_set(f"folder:{tmp_path}").batch([0]).images.shape == (1, 3, 8, 8)


@pytest.mark.parametrize("where", ["../secret", "{0}/secret", "link"])
def test_an_onnx_file_reads_no_files_elsewhere(tmp_path, where):
    onnx = pytest.importorskip("onnx")
    (tmp_path / "secret").write_bytes(np.ones(12, dtype=np.float32).tobytes())
    (tmp_path / "model").mkdir()
    os.symlink(tmp_path / "secret", tmp_path / "model" / "link")
    weights = onnx.TensorProto(name="w", data_type=1, dims=[4, 3], data_location=onnx.TensorProto.EXTERNAL)
    weights.external_data.add(key="location", value=where.format(tmp_path))
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("MatMul", ["x", "w"], ["y"])],
        "graph",
        [onnx.helper.make_tensor_value_info("x", 1, ["n", 4])],
        [onnx.helper.make_tensor_value_info("y", 1, ["n", 3])],
        [weights],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    (tmp_path / "model" / "a.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(BrittleError, match=r"a.onnx can't be read as an ONNX model: .*[Ee]xternal data path"):
        classifier(f"onnx:{tmp_path / 'model' / 'a.onnx'}").check(torch.zeros(2, 1, 2, 2))


READERS = {
    "suite.toml": suite_of,
    "decisions.csv": read_decisions,
    "columns.csv": read_columns,
    "ids.txt": ids_of,
    "classes/names.txt": class_names,
    "mapping.json": class_mapping,
    "weights.safetensors": read_weights,
    "weights.pt": read_weights,
    "model.onnx": classifier,
    "images.idx": lambda file: image_set(f"idx:{file}"),
    "images.npz": lambda file: image_set(f"npz:{file}"),
    "images.tar": lambda file: image_set(f"shards:{file}"),
    "images.parquet": lambda file: image_set(f"scales:{file}"),
}


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_what_a_study_names_is_a_regular_file(tmp_path, name, kind):
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    {"pipe": os.mkfifo, "device": lambda path: path.symlink_to("/dev/zero"), "folder": os.mkdir}[kind](file)
    with pytest.raises(BrittleError, match=r"a pipe or a device|a folder|there is no|is no file|there are no \.tar"):
        READERS[name](str(file))


@pytest.mark.parametrize("name", ["../private.safetensors", "{0}/private.safetensors", "pipe.safetensors", "/dev/zero"])
def test_a_model_s_index_names_files_beside_it_alone(tmp_path, name):
    pytest.importorskip("transformers")
    (tmp_path / "private.safetensors").touch()
    folder = tmp_path / "model"
    folder.mkdir()
    os.mkfifo(folder / "pipe.safetensors")
    (folder / "config.json").write_text(json.dumps({"model_type": "vit"}))
    index = {"metadata": {}, "weight_map": {"a": name.format(tmp_path)}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(BrittleError, match="which is not a file beside it"):
        classifier(f"hf:{folder}")
