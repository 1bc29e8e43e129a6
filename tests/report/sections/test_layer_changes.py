"""The section of targeted changes of layers."""

import brittle
from brittle.report.html import write_report


def test_a_report_of_targeted_changes_shows_sizes_and_failures(tmp_path):
    study = {
        "classifiers": {"plain": "bundled:plain", "other": "bundled:augmented"},
        "images": {"sample": {"spec": "sample", "count": 6}},
        "layer-changes": {"layers": ["8", "9"], "rate": 0.3, "steps": 20},
    }
    found = brittle.run(study, out=tmp_path / "run")
    text = write_report(tmp_path / "run").read_text(encoding="utf-8")
    assert 'aria-label="size of targeted changes of each layer of plain, other, relative to what it gives"' in text
    assert "Adam until p(target) ≥ 0.9; 1 target per image, drawn by the seed" in text
    assert "2 of 10 layers, as asked; the weights are left out" in text
    assert "failures count as larger than anything found" in str(found)
    assert {row["layer"] for row in found.table().to_pylist()} == {"layers.8", "layers.9"}


def test_sets_and_weights_are_named_in_the_report_and_the_console(tmp_path):
    study = {
        "classifiers": {"plain": "bundled:plain", "other": "bundled:augmented"},
        "images": {"sample": {"spec": "sample", "count": 4}},
        "layer-changes": {"layers": ["9", "8+9", "weights"], "rate": 0.1, "steps": 40},
    }
    found = brittle.run(study, out=tmp_path / "run")
    text = write_report(tmp_path / "run").read_text(encoding="utf-8")
    assert "2 of 11 layers and 1 set of several, as asked" in text
    assert "the weights are left out" not in text
    assert "The smallest targeted changes of plain are those of the weights" in text
    for words in ("9 layers.9", "8+9 at once", "10 weights"):
        assert words in str(found)
        assert words in text
