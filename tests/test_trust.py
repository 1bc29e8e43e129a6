"""What lies in the current folder or in a file is not run unless it is named."""

import os
import subprocess
import sys

import numpy as np
import pytest
import torch
from PIL import Image

from brittle.classifiers import classifier
from brittle.engine.runs import environment
from brittle.errors import BrittleError
from brittle.images import image_set

SHADOW = "import pathlib\npathlib.Path(__file__).with_name('ran').touch()\nraise SystemExit('shadowed')\n"


def git(folder, *arguments):
    identity = ("-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path, monkeypatch):
    git(tmp_path, "init", "-q")
    (tmp_path / "file.txt").write_text("a")
    (tmp_path / ".gitattributes").write_text("*.txt filter=theirs\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "first")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("setting", ["core.fsmonitor", "filter.theirs.clean", "filter.theirs.process"])
def test_what_a_repository_configures_is_not_run(repository, setting):
    before = environment()["git"]
    assert len(before["commit"]) == 40
    assert before["changed"] is False
    hook = repository.parent / "hook"
    hook.write_text(f"#!/bin/sh\ntouch {repository.parent}/ran\ncat\n")
    hook.chmod(0o755)
    git(repository, "config", setting, str(hook))
    (repository / "file.txt").write_text("b")  # of the same length, so that git must look inside
    assert environment()["git"] == before | {"changed": True}
    assert not (repository.parent / "ran").exists()


@pytest.mark.parametrize("name", ["rich", "torch", "numpy"])
def test_a_module_beside_the_user_takes_no_other_one_s_place(tmp_path, name):
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
