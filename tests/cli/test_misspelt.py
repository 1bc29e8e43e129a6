"""Misspelt specs are refused by every command before torch is imported: nobody waits for that."""

import os
import subprocess
import sys

import pytest

from brittle.cli.specs import ASKED, KEYS
from brittle.study import MeasureEntry, Study

WITHOUT_TORCH = """
import sys
class Refuse:
    def find_spec(name, *_):
        assert name != "torch", "torch is imported"
sys.meta_path.insert(0, Refuse)
sys.argv = ["brittle", *sys.argv[1:]]
from brittle.cli import main
main()
"""
STUDY = 'classifiers = ["bundled:plain"]\nimages = ["sample"]\nnuisances = {}\n'
MEASURE = ("measure", "bundled:plain", "sample", "--nuisance")


def said(*words, folder):
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH, *words], cwd=folder, env=os.environ, capture_output=True, text=True
    )
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    return done.stderr.removeprefix("brittle: ").rstrip()


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ((*MEASURE, "afine"), "unknown nuisance 'afine'. Did you mean 'affine'?"),
        ((*MEASURE, "mine=affine:alpa=50"), "affine has no option 'alpa'. Did you mean 'alpha'?"),
        ((*MEASURE, "affine,alpha=50"), "unknown nuisance 'affine,alpha=50'. Did you mean 'affine:alpha=50'?"),
        ((*MEASURE, "affine", "--against", "bundeld:plain"), "unknown classifier 'bundeld'. Did you mean 'bundled'?"),
        (("measure", "bundled:plain", "sampel", "--nuisance", "affine"), "unknown image set 'sampel'."),
        (("sample", *MEASURE[1:], "affine", "--sampler", "langevn"), "unknown sampler 'langevn'."),
        (("occlusion", "bundled:plain", "sample", "--train", "sampel"), "unknown image set 'sampel'."),
        (("harden", "bundled:plain", "sample", "--nuisance", "afine", "--out", "x"), "unknown nuisance 'afine'."),
        (("harden", "bundled:plain", "sample", "--nuisance", "fog", "--test", "sampel", "--out", "x"), "unknown image"),
        (("train", "cnn3", "sample", "--out", "x.safetensors"), "unknown network 'cnn3'."),
        (("train", "cnn-2", "sample", "--out", "x.safetensors", "--mix", "mixp"), "unknown mix 'mixp'."),
        (("run", "kind.toml", "--out", "run"), "unknown nuisance 'afine'."),
        (("run", "option.toml", "--out", "run"), "affine has no option 'alpa'."),
        (("run", "measure.toml", "--out", "run"), "measure.toml: unknown key 'robustnes'. Did you mean 'robustness'?"),
        (("run", "missing.toml", "--out", "run"), "there is no study file missing.toml. Check the path."),
        ((*MEASURE, "suite.toml"), "unknown nuisance 'afine'."),
        (
            ("run", "sort.toml", "--out", "run"),
            "sort.toml: measures.mine: unknown measure 'claen'. Did you mean 'clean'?",
        ),
        (("run", "sampels.toml", "--out", "run"), "sampels.toml: robustness has no option 'sampels'."),
        ((*MEASURE, "affine", "--sampels", "3"), "measure has no option --sampels. Did you mean '--samples'?"),
        (("measure", "bundled:plain"), "measure needs IMAGES. An image set's spec, such as folder:photos"),
        (("run", "kind.toml"), "run needs --out. The run folder; an existing one is resumed."),
    ],
)
def test_a_misspelt_spec_is_refused_without_torch(words, line, tmp_path):
    (tmp_path / "kind.toml").write_text(STUDY.format('["afine"]'))
    (tmp_path / "option.toml").write_text(STUDY.format('{ a = "affine:alpa=50" }'))
    (tmp_path / "measure.toml").write_text(STUDY.format('["affine"]') + "[robustnes]\nsamples = 3\n")
    (tmp_path / "sort.toml").write_text(STUDY.format('["affine"]') + '[measures.mine]\nkind = "claen"\n')
    (tmp_path / "sampels.toml").write_text(STUDY.format('["affine"]') + "[robustness]\nsampels = 3\n")
    (tmp_path / "suite.toml").write_text('nuisances = ["affine", "afine"]\n')
    assert said(*words, folder=tmp_path).startswith(line)
    assert not (tmp_path / "run").exists()


def test_every_key_of_a_study_is_known_without_the_schema():
    assert set(KEYS) == set(Study.model_fields)


def test_what_stands_beside_a_measures_options_is_known_without_the_schema():
    assert set(ASKED) == set(MeasureEntry.model_fields)
