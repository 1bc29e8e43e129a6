"""The section of noise on layers: what is printed, the table, and the report of classifiers alike and unlike."""

import pytest
import torch
from torch import nn

import brittle
from brittle.report.console import as_text
from brittle.report.html import write_report

OPTIONS = {"step": 0.5, "limit": 2, "repeats": 2, "networks": 3}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two classifiers with the same layers and one with others."""
    here = tmp_path_factory.mktemp("layers")
    (here / "mine.py").write_text(
        "import torch\nfrom torch import nn\n\n\ndef small():\n    torch.manual_seed(0)\n"
        "    return nn.Sequential(nn.Flatten(), nn.Linear(784, 10))\n"
    )
    study = {
        "classifiers": {"plain": "bundled:plain", "other": "bundled:augmented", "small": f"torch:{here}/mine.py:small"},
        "images": {"sample": {"spec": "sample", "count": 12}},
        "layer-noise": {"layers": ["0-2"], **OPTIONS},
    }
    brittle.run(study, out=here / "run")
    return here / "run"


def test_the_report_shows_classifiers_alike_together_and_others_by_depth(folder):
    text = write_report(folder).read_text(encoding="utf-8")
    assert text.count('aria-label="noise on each layer at which predictions of') == 2
    assert "noise on each layer at which predictions of plain, other change" in text
    assert 'aria-label="mean σ* of plain, other, small against the place of the layer"' in text
    assert "plain: 3 of 11 layers, as asked" in text
    assert "small: all 3 layers" not in text
    assert "σ in steps of 0.5 up to 2; 2 fields per image and layer" in text
    assert "more resilient to targeted attacks" in text


def test_what_is_printed_names_every_layer_and_how_the_numbers_came_about(cli):
    said = cli(
        "layer-noise", "bundled:plain", "sample", "--count", 8, "--layers", "input,layers.9,weights", "--step", 0.5,
        "--limit", 2, "--repeats", 2, "--networks", 3,
    )  # fmt: skip
    assert said.status == 0
    for words in ("0 input", "9 layers.9", "10 weights", "3 of 11 layers, as asked"):
        assert words in said.out
    assert "path: one field of noise per path, scaled by σ; σ in steps of 0.5 up to 2" in said.out
    assert "2 fields per image and layer; 3 noisy networks" in said.out


def test_the_command_the_function_and_the_study_say_the_same(cli):
    found = brittle.layer_noise("bundled:plain", "sample", layers="8-9", count=8, **OPTIONS)
    said = cli(
        "layer-noise", "bundled:plain", "sample", "--count", 8, "--layers", "8-9", "--step", 0.5, "--limit", 2,
        "--repeats", 2, "--networks", 3, "--json",
    ).json  # fmt: skip
    study = brittle.run(
        {
            "classifiers": {"classifier": "bundled:plain"},
            "images": {"sample": {"spec": "sample", "count": 8}},
            "layer-noise": {"layers": ["8-9"], **OPTIONS},
        }
    )
    assert found["layers"] == said["layers"] == study["measures"]["layer-noise"]["results"][0]["layers"]
    table = found.table()
    assert (table.num_rows, table["layer"].to_pylist()) == (2, ["layers.8", "layers.9"])
    assert found.layer(9)["mean"] == found.layer("layers.9")["mean"] == table["mean"].to_pylist()[1]
    assert as_text(found.summary) == str(found)


@pytest.mark.warned("all are taken", "have no label")
def test_images_without_labels_count_against_their_clean_predictions():
    torch.manual_seed(0)
    module = nn.Sequential(nn.Flatten(), nn.Linear(64, 3))
    found = brittle.layer_noise(module, torch.rand(9, 1, 8, 8), layers="input", **OPTIONS)
    assert (found["reference"], found["correct"], found["images"]) == ("clean prediction", 9, 9)


def test_sets_of_layers_stand_after_the_layers_from_input_to_output(tmp_path):
    study = {
        "classifiers": {"plain": "bundled:plain"},
        "images": {"sample": {"spec": "sample", "count": 6}},
        "layer-noise": {"layers": ["0-3", "8+9", "9+weights"], **OPTIONS},
    }
    found = brittle.run(study, out=tmp_path / "run")
    (row,) = found["measures"]["layer-noise"]["results"]
    assert [each["layer"] for each in row["layers"]][-2:] == ["layers.8+layers.9", "layers.9+weights"]
    assert row["depth_correlation"] is not None
    text = write_report(tmp_path / "run").read_text(encoding="utf-8")
    assert "4 of 11 layers and 2 sets of several, as asked" in text
    assert "the layers layers.9 + weights at once" in text
    assert "8+9 at once" in text
    assert "2 fields per image and layer; 3 noisy networks" in text
