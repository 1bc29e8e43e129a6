"""What is printed: no name commands the terminal or is taken for markup, and a terminal without the signs has words."""

import io
import os
import re
import subprocess
import sys

import numpy as np
import pytest
import torch
from rich.console import Console

import brittle
from brittle.progress import ProgressBar, ProgressLines
from brittle.terminal import in_ascii, use_substitutes, visible

HOSTILE = "[/x]:smile:\x1b[31m\x1b]0;owned\x07\u202e"
SHOWN = r"[/x]:smile:\x1b[31m\x1b]0;owned\x07\u202e"


def constant(images: torch.Tensor) -> torch.Tensor:
    return torch.zeros(len(images), 2)


def test_what_a_terminal_would_obey_is_written_out():
    assert visible("a\x1b[2Jb\r\n\tc\x9b\u202e") == r"a\x1b[2Jb\r\n\tc\x9b\u202e"
    assert visible("ρ = 0.5, [bold], café 猫") == "ρ = 0.5, [bold], café 猫"


@pytest.mark.warned("is near chance on the untouched images", "no draw has another label")
def test_names_are_shown_and_not_obeyed(cli, tmp_path):
    classes = [f"cat{HOSTILE}", "dog"]
    np.savez(tmp_path / "a.npz", images=np.zeros((6, 4, 4), np.uint8), labels=[0, 1] * 3, classes=classes)
    (tmp_path / "mine.py").write_text("import torch\ndef f(images):\n    return torch.zeros(len(images), 2)\n")
    study = {
        "title": HOSTILE,
        "classifiers": {f"one{HOSTILE}": f"python:{tmp_path}/mine.py:f", "two": f"python:{tmp_path}/mine.py:f"},
        "images": {f"set{HOSTILE}": f"npz:{tmp_path}/a.npz"},
        "nuisances": {f"turn{HOSTILE}": "rotation"},
        "robustness": {"samples": 2},
        "weak-points": {"count": 2, "budget": 50},
    }
    text = str(brittle.run(study, out=tmp_path / "run"))
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", text)
    assert {f"one{SHOWN}", f"set{SHOWN}", f"turn{SHOWN}"} <= set(re.findall(r"\w+\[/x\]:smile:\S+u202e", text))
    printed = cli("report", tmp_path / "run")
    assert printed.status == 0
    assert "\x1b" not in printed.out + printed.err
    assert not re.search("[\x00-\x09\x0b-\x1f]", cli("measure", HOSTILE, "sample", "--nuisance", "affine").complaint(2))


def test_a_bar_on_a_terminal_takes_no_name_for_markup():
    stream = io.StringIO()
    bar = ProgressBar()
    bar.console = Console(file=stream, force_terminal=True, width=200)
    bar._bar.live.console, bar._bar.disable = bar.console, False
    with bar:
        bar.at(HOSTILE)
        bar.note(HOSTILE)
        bar._bar.refresh()
    assert stream.getvalue().count(SHOWN) >= 2
    assert "\x1b]0" not in stream.getvalue()


def test_without_a_terminal_a_line_is_said_now_and_then():
    said, now = [], [0.0]
    lines = ProgressLines(said.append, clock=lambda: now[0])
    lines.what, lines.total = "plain · affine", 10_000
    for second, rows in ((1, 4_000), (29, 1_000), (30, 1_000), (31, 500), (60, 300), (61, 1)):
        now[0] = float(second)
        lines.advance(rows)
    assert said == [
        "plain · affine: 6,000 of 10,000 images (60%), 200 images/s, about 20 s left",
        "plain · affine: 6,800 of 10,000 images (68%), 27 images/s, about 2 min left",
    ]


def test_signs_have_words():
    assert in_ascii("ρ̂ ± 2 × σ² ≤ −1 · 15° → (αG)⁻¹…") == "rho-hat +/- 2 x sigma^2 <= -1 | 15 deg -> (alphaG)^-1..."
    assert in_ascii("café 猫") == r"caf\xe9 \u732b"


@pytest.mark.parametrize(("encoding", "kept"), [("ascii", ""), ("latin-1", "×°"), ("utf-8", "×°ρ")])
def test_a_stream_keeps_what_it_can_show(encoding, kept):
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    use_substitutes(stream)
    print("×°ρ", file=stream, flush=True)
    shown = stream.buffer.getvalue().decode(encoding).strip()
    assert [sign for sign in "×°ρ" if sign in shown] == list(kept)
    assert len(shown) >= 3


@pytest.mark.parametrize(
    "variables", [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}]
)
def test_commands_speak_ascii(start, ended, variables):
    options = ("--nuisance", "rotation", "--count", 12, "--samples", 2)
    said = ended(start("measure", "bundled:plain", "sample", *options, **variables))
    assert said.status == 0, said.err
    assert said.out.isascii()
    assert "12 images x 2 draws" in said.out
    assert " rho " in said.out
    wrong = ended(start("measure", "bundled:plain", "sample", "--nuisance", "rotation:ρ=1", **variables))
    assert wrong.err.isascii()
    assert wrong.complaint(2)


def test_help_is_in_ascii_where_nothing_else_can_be_shown():
    said = subprocess.run(
        [sys.executable, "-m", "brittle", "measure", "--help"],
        capture_output=True,
        check=True,
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
    )
    assert "Measure rho of classifiers" in said.stdout.decode("ascii")
