"""The section of perturbations: what the page shows, and what the command line says."""

import json
import re

import numpy as np
import pytest

import brittle
from brittle.report.html import write_report
from brittle.report.page.colours import looks
from brittle.report.sections.perturbation.figures import FAILED, Bubble, bubble_figure, matrix_figure

pytestmark = pytest.mark.warned("did not reach p")

NETWORK = """
import torch
from torch import nn

def _made(seed):
    torch.manual_seed(seed)
    made = nn.Sequential(nn.Flatten(), nn.Linear(80, 12), nn.ReLU(), nn.Linear(12, 3))
    with torch.no_grad():
        made[1].weight.mul_(4)
        made[3].weight.mul_(6)
    return made

def first():
    return _made(1)

def second():
    made = _made(1)
    with torch.no_grad():
        made[3].weight.add_(torch.randn(3, 12))
    return made
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("perturbation")
    (made / "net.py").write_text(NETWORK)
    pixels = np.random.default_rng(0).integers(0, 256, (20, 8, 10), dtype=np.uint8)
    np.savez(made / "images.npz", images=pixels, labels=np.arange(20) % 3, classes=np.array(["x <i>", "y", "z"]))
    return made


@pytest.fixture(scope="module")
def run(folder):
    study = {
        "classifiers": {"one": f"torch:{folder}/net.py:first", "two": f"torch:{folder}/net.py:second"},
        "images": {"set": f"npz:{folder}/images.npz"},
        "perturbation": {"rate": 0.02, "steps": 200},
    }
    brittle.run(study, out=folder / "run", device="cpu")
    return folder / "run"


def test_the_report_shows_matrices_bubbles_pictures_and_bounds(run):
    page = write_report(run).read_text(encoding="utf-8")
    for heading in ("Perturbation matrix", "What changes look like", "Accuracy against ε", "Do they transfer?"):
        assert f"<h4>{heading}</h4>" in page
    assert "upper bound on robust accuracy" in page
    assert page.count('alt="difference in channel 1"') >= 4
    assert "x &lt;i&gt;" in page
    assert "x <i>" not in page


def test_the_report_tells_the_summary_where_images_are_gone(run, folder):
    kept = (folder / "images.npz").read_bytes()
    (folder / "images.npz").unlink()
    try:
        page = write_report(run).read_text(encoding="utf-8")
    finally:
        (folder / "images.npz").write_bytes(kept)
    assert "can't be loaded any more" in page or "can&#39;t be loaded any more" in page
    assert "Targeted perturbations" in page
    assert "Perturbation matrix" not in page


def test_failures_are_yellow_in_a_matrix_and_at_the_rim_of_a_bubble():
    values = np.array([[np.nan, 0.1, np.inf], [0.2, np.nan, 0.05], [0.3, 0.1, np.nan]])
    drawn = matrix_figure("m", {"net": values}, {"net": ["a", "b", "c"]})
    assert FAILED.lower() in drawn.lower()
    assert "1 failures" in drawn
    without = matrix_figure("m", {"net": np.where(np.isinf(values), 0.1, values)}, {"net": ["a", "b", "c"]})
    assert drawn.lower().count(FAILED.lower()) > without.lower().count(FAILED.lower())
    assert "<svg" in bubble_figure("b", [Bubble("image", {"net": values[0]})], ["a", "b", "c"], looks(["net"]))


def test_the_command_the_function_and_the_study_say_the_same(folder, run, cli):
    said = cli(
        "perturb", f"one=torch:{folder}/net.py:first", f"npz:{folder}/images.npz", "--against",
        f"two=torch:{folder}/net.py:second", "--rate", "0.02", "--steps", "200", "--json", "--device", "cpu",
    )  # fmt: skip
    typed = said.json["results"][0]
    found = brittle.perturb(
        {"one": f"torch:{folder}/net.py:first", "two": f"torch:{folder}/net.py:second"},
        f"npz:{folder}/images.npz",
        rate=0.02,
        steps=200,
        count=None,
        device="cpu",
    ).of("one")
    kept = json.loads((run / "summary.json").read_text())["measures"]["perturbation"]["results"][0]
    assert typed["classifier"] == found["classifier"] == "one"
    # Drawn images come in another order, which moves the betting interval and not the mean.
    assert typed["mean"] == pytest.approx(found["mean"]) == pytest.approx(kept["mean"])
    assert typed["failures"] == found["failures"] == kept["failures"]
    assert {row["to"] for row in said.json["transfers"]} == {"one", "two"}


def test_a_result_prints_itself_and_has_rows_and_a_matrix(folder):
    found = brittle.perturb(
        f"torch:{folder}/net.py:first", f"npz:{folder}/images.npz", rate=0.02, steps=200, count=None, device="cpu"
    )
    text = str(found)
    assert "mean L∞" in text
    assert re.search(r"at most 0\.\d+ \[.*\] at ε = 4/255", text)
    assert found.rows.num_rows == 40
    made = found.matrix()
    assert made.shape == (3, 3)
    rows = found.rows.to_pandas()
    for label, target in zip(*np.nonzero(np.isfinite(made)), strict=True):
        sizes = rows[(rows["origin"] == label) & (rows["target"] == target)]["linf"]
        assert made[label, target] in sizes.to_numpy().astype(np.float64)
    assert np.isnan(np.diag(made)).all()
    assert found.pictures.num_rows > 0
    assert "accuracy_at_8" in found.table().column_names
    with pytest.raises(brittle.BrittleError, match="no classifier 'other'"):
        found.of("other").matrix()


def test_a_classifier_without_gradients_is_refused_in_one_line(folder, cli):
    (folder / "plain.py").write_text("import torch\n\ndef said(images):\n    return images.flatten(1)[:, :3] * 9\n")
    said = cli("perturb", f"python:{folder}/plain.py:said", f"npz:{folder}/images.npz").complaint(2)
    assert "needs a differentiable classifier" in said
    assert "can be measured by" in said
    assert "robustness" in said
    assert "perturbation," not in said.split("can be measured by")[1]


def test_onnx_and_scikit_learn_classifiers_are_refused_in_one_line(tmp_path, folder, cli):
    import onnx
    from onnx import TensorProto, helper

    nodes = [helper.make_node("Flatten", ["images"], ["flat"]), helper.make_node("MatMul", ["flat", "w"], ["z"])]
    weights = helper.make_tensor("w", TensorProto.FLOAT, (80, 3), np.linspace(-1, 1, 240).tolist())
    graph = helper.make_graph(
        nodes, "g",
        [helper.make_tensor_value_info("images", TensorProto.FLOAT, ("n", 1, 8, 10))],
        [helper.make_tensor_value_info("z", TensorProto.FLOAT, ("n", 3))], [weights],
    )  # fmt: skip
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "n.onnx")
    (tmp_path / "estimator.py").write_text(
        "import numpy as np\nfrom sklearn.linear_model import LogisticRegression\n\n"
        "def made():\n    draws = np.random.default_rng(0)\n"
        "    return LogisticRegression().fit(draws.random((30, 80)), np.arange(30) % 3)\n"
    )
    for spec in (f"onnx:{tmp_path}/n.onnx", f"sklearn:{tmp_path}/estimator.py:made"):
        said = cli("perturb", spec, f"npz:{folder}/images.npz").complaint(2)
        assert "it has no logits" in said
        assert "can be measured by" in said


def test_many_classifiers_are_told_shortly(folder):
    study = {
        "classifiers": {f"net {place}": f"torch:{folder}/net.py:first" for place in range(8)},
        "images": {"set": {"spec": f"npz:{folder}/images.npz", "count": 6}},
        "perturbation": {"rate": 0.05, "steps": 30, "draw": 1},
    }
    found = brittle.run(study, out=folder / "many", device="cpu")
    text = str(found)
    assert "and as much of 2 more classifiers" in text
    assert "more comparisons" in text
    assert "more transfers" in text
    page = write_report(folder / "many").read_text(encoding="utf-8")
    assert "of the first 6 of 8 classifiers" in page
