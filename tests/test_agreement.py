"""How many classifiers of a run get each image right, and choosing images by it."""

import json

import numpy as np
import pytest

import brittle
from brittle.engine.store.run_folder import RunFolder
from brittle.errors import BrittleError

pytestmark = pytest.mark.warned("has a mean confidence of")

# Says class 1 of what is brighter than its own threshold.
THRESHOLDS = """
import torch

def _says(threshold):
    return lambda images: 9.0 * torch.stack((0 * images.mean((1, 2, 3)), images.mean((1, 2, 3)) - threshold), 1)

low, middle, high = map(_says, (0.2, 0.5, 0.8))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("agreement")
    (folder / "mine.py").write_text(THRESHOLDS)
    levels = np.array([0.1, 0.3, 0.6, 0.9], np.float32)
    np.savez(
        folder / "levels.npz",
        images=np.broadcast_to(levels[:, None, None, None], (4, 1, 4, 4)),
        labels=[0, 0, 1, 1],
        ids=[40, 10, 30, 20],
    )
    brittle.run(study(folder), out=folder / "run")
    return folder


def study(folder, **images):
    names = ("low", "middle", "high")
    return {
        "classifiers": {name: {"spec": f"python:{folder}/mine.py:{name}", "group": "seeds"} for name in names},
        "images": {"levels": {"spec": f"npz:{folder}/levels.npz"} | images},
        "nuisances": ["noise:sigma=0.01"],
        "robustness": {"samples": 1},
    }


def test_shares_are_those_counted_by_hand(folder):
    """0.1 is class 0 for all three; 0.3 is wrong for the low threshold, 0.6 for the high one; 0.9 is right for all."""
    found = brittle.agreement(folder / "run", folder / "scores.csv", group="seeds").to_pydict()
    assert found["id"] == [10, 20, 30, 40]
    assert found["right"] == pytest.approx([2 / 3, 1, 2 / 3, 1])
    assert found["agree"] == pytest.approx([2 / 3, 1, 2 / 3, 1])
    assert found["classifiers"] == [3] * 4


def test_any_measure_takes_the_column_and_the_run_keeps_what_it_chose(folder, tmp_path):
    brittle.agreement(folder / "run", folder / "scores.csv")
    hard = study(folder, columns=str(folder / "scores.csv"), where=["right<1"])
    found = brittle.run(hard, out=tmp_path / "hard")
    assert found["image_sets"]["levels"]["images"] == 2
    assert all(row["accuracy_clean"] == 0.5 for row in found["measures"]["robustness"]["results"][::2])
    kept = RunFolder(tmp_path / "hard").read_study()["images"]["levels"]
    assert kept["columns"] == str(folder / "scores.csv")
    assert "columns" not in RunFolder(folder / "run").read_study()["images"]["levels"]


def test_another_file_under_the_same_name_is_noticed(folder, tmp_path):
    scores = tmp_path / "scores.csv"
    scores.write_text("id,score\n10,1\n20,1\n30,0\n40,0\n")
    chosen = study(folder, columns=str(scores), where=["score=1"])
    brittle.run(chosen, out=tmp_path / "run")
    scores.write_text("id,score\n10,1\n20,0\n30,1\n40,0\n")
    with pytest.raises(BrittleError, match="levels"):
        brittle.run(chosen, out=tmp_path / "run")


def test_ids_of_a_file_stand_in_the_run_s_study(folder, tmp_path):
    (tmp_path / "tail.txt").write_text("30\n10\n")
    brittle.run(study(folder, ids=str(tmp_path / "tail.txt")), out=tmp_path / "run")
    assert RunFolder(tmp_path / "run").read_study()["images"]["levels"]["ids"] == [30, 10]


def test_what_is_not_there_is_refused(folder, tmp_path):
    with pytest.raises(BrittleError, match="no group 'others'"):
        brittle.agreement(folder / "run", group="others")
    with pytest.raises(BrittleError, match="no image set 'other'"):
        brittle.agreement(folder / "run", images="other")
    with pytest.raises(BrittleError, match=r"neither in \.csv"):
        brittle.agreement(folder / "run", tmp_path / "scores.txt")
    with pytest.raises(BrittleError, match="is not a run folder"):
        brittle.agreement(tmp_path)


def test_the_command_writes_it_and_others_take_it(folder, tmp_path, monkeypatch, capsys):
    from brittle.cli import main

    def called(*words):
        monkeypatch.setattr("sys.argv", ["brittle", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 0
        return capsys.readouterr().out

    out = tmp_path / "scores.parquet"
    assert "4 images, 3 classifiers: 2 right by all, 0 by none" in called("agreement", folder / "run", "--out", out)
    spec = f"npz:{folder}/levels.npz"
    classifier = f"python:{folder}/mine.py:low"
    options = ("--nuisance", "noise:sigma=0.01", "--columns", out, "--where", "right<1", "--samples", 2, "--json")
    assert json.loads(called("measure", classifier, spec, *options))["images"] == 2
