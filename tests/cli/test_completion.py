"""Shell completion: what a shell is offered, without waiting for torch."""

import os
import subprocess
import sys

import pytest

from brittle.classifiers import classifiers
from brittle.cli.completion import SORTS, completion_of
from brittle.images import image_sets
from brittle.mixing import mixes
from brittle.nuisances import nuisances
from brittle.report.listing import listing
from brittle.samplers import samplers
from brittle.training import trainable

ASKED = "import sys; sys.argv = ['brittle']; from brittle.cli import main; main()"


def completed(words: str) -> subprocess.CompletedProcess[str]:
    """What bash is told when a user presses TAB behind these words."""
    asked = os.environ | {
        "_BRITTLE_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
    }
    return subprocess.run([sys.executable, "-c", ASKED], env=asked, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("brittle mea", ["measure"]),
        ("brittle measure bundled:plain sample --nuisance rot", ["rotation"]),
        ("brittle measure bund", ["bundled"]),
        ("brittle sample bundled:plain sample --sampler crank", ["crank-nicolson"]),
    ],
)
def test_a_shell_is_offered_what_may_follow(words, offered):
    said = completed(words)
    assert said.stdout.split() == offered
    assert said.returncode == 0
    assert said.stderr == ""


def test_completion_imports_no_torch():
    code = f"import sys; sys.meta_path.insert(0, type('No', (), {{'find_spec': staticmethod(refuse)}})); {ASKED}"
    refuse = "def refuse(name, *_):\n    assert name != 'torch'\n"
    asked = os.environ | {
        "_BRITTLE_COMPLETE": "complete_bash",
        "COMP_WORDS": "brittle measure bundled:plain sample --nuisance rot",
        "COMP_CWORD": "5",
    }
    said = subprocess.run([sys.executable, "-c", refuse + code], env=asked, capture_output=True, text=True, check=False)
    assert said.stdout.split() == ["rotation"]


@pytest.mark.parametrize(
    ("option", "registry"),
    [
        ("classifier", classifiers),
        ("images", image_sets),
        ("nuisances", nuisances),
        ("sampler", samplers),
        ("network", trainable),
        ("mix", mixes),
    ],
)
def test_every_kind_is_offered(option, registry):
    complete = completion_of(option)
    assert complete is not None
    assert set(registry.loaded()) <= set(complete(""))


def test_lists_are_completed_by_sort_and_kind():
    assert set(SORTS) == set(listing())
    complete = completion_of("what")
    assert complete is not None
    assert complete("aff") == ["affine"]
    assert complete("nui") == ["nuisances"]


def test_the_script_for_a_shell_is_printed():
    said = subprocess.run(
        [sys.executable, "-c", ASKED.replace("['brittle']", "['brittle', '--show-completion', 'zsh']")],
        env=os.environ | {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert said.returncode == 0
    assert "#compdef brittle" in said.stdout
