"""Before and after: what the summary and a hardening's record say, whatever has become of that file."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from brittle.engine.store.checked_json import checked_text, read_checked
from brittle.report.console import as_text, one_table
from brittle.report.harden_console import print_hardened

PageOf = Callable[[Path], Any]
Write = Callable[..., Path]
QUANTITIES = ("rho", "accuracy_nuisance", "accuracy_clean")


@pytest.fixture(scope="module")
def before_after(tmp_path_factory: pytest.TempPathFactory, write_run: Callable[..., Path]) -> Path:
    """The run folder of two classifiers and their differences, with no record of a hardening."""
    folder = tmp_path_factory.mktemp("two")
    specs = {name: f"python:{folder}/tiny.py:{what}" for name, what in (("before", "first"), ("after", "second"))}
    return write_run(folder, classifiers=specs, nuisances=["affine:alpha=50"], **{"before-after": {}})


def _changes(*values: float, width: float = 0.1) -> dict[str, Any]:
    return {
        key: value
        for name, mid in zip(QUANTITIES, values, strict=True)
        for key, value in ((name, mid), (f"{name}_interval", [mid - width, mid + width]))
    }


def _classes(count: int) -> list[dict[str, Any]]:
    """The greatest gain first; the last lose ρ, one of them clean accuracy too."""
    return [
        {"label": place, "class": f"kind {place} <i>", "images": 3 + place}
        | _changes(0.23 - 0.4 * place / count, 0.05, -0.01)
        for place in range(count - 1)
    ] + [{"label": count, "class": "the worst", "images": 2} | _changes(-0.3141, 0.02, -0.25)]


@pytest.fixture
def harden(before_after: Path, tmp_path: Path) -> Write:
    """`harden(chosen=0, …)`: a copy of the run folder with differences and a harden.json, some keys of which are
    replaced; with `record` False it is left out."""

    def write(difference: dict[str, Any] | None = None, record: bool = True, **changes: Any) -> Path:
        folder = tmp_path / "run"
        shutil.copytree(before_after, folder, dirs_exist_ok=True)
        summary = read_checked(folder / "summary.json", "")
        measured = {row["classifier"]: row for row in summary["measures"]["robustness"]["results"]}
        gained = measured["after"]["rho"] - measured["before"]["rho"]
        moved = difference or _changes(gained, 0.0832, -0.0052, width=0.0123) | {"classes": _classes(5)}
        cell = {"before": "before", "after": "after", "image_set": "shapes", "nuisance": "affine:alpha=50"}
        moved = cell | {"confidence": 0.9} | moved | {"rho": gained}
        summary["measures"]["before-after"] = {"kind": "before-after", "differences": [moved]}
        (folder / "summary.json").write_text(checked_text("summary.json", summary), encoding="utf-8")
        kept = {
            "about": {
                "classifier": "torch:my:net", "nuisance": "affine:alpha=50", "seed": 0, "on": "weak-points",
                "loss": "corrected", "rounds": 2, "steps": 60, "batch_size": 128, "share": 0.5, "cost": 0.01,
            },
            "criterion": "the greatest ρ̂ whose clean accuracy is at most 1 percentage point below",
            "parts": {"training": 6001, "held_out": 203, "test": 24},
            "rounds": [
                _candidate(0, 1.0, 0.7134, 0.935),
                _candidate(1, 0.5, 0.7381, 0.931),
                _candidate(1, 1.0, 0.7419, 0.928, loss=0.3752, failing=0.2926, wrong=0.4807),
                _candidate(2, 1.0, 0.7592, 0.911, loss=0.3321, failing=0.2464, wrong=0.3773),
            ],
            "chosen": 2,
            **measured,
            "calls": {"sampling": 79211, "training": 46081},
            "device": "cpu",
            "seconds": 13.8,
        } | changes  # fmt: skip
        if record:
            (folder / "harden.json").write_text(json.dumps(kept), encoding="utf-8")
        return folder

    return write


def _candidate(round: int, way: float, rho: float, clean: float, **trained: float) -> dict[str, Any]:
    said = {"round": round, "way": way, "rho": rho, "interval": [rho - 0.04, rho + 0.03]}
    return said | {"accuracy_nuisance": rho + 0.0707, "accuracy_clean": clean} | trained


def _section(folder: Path) -> str:
    """The section of a report already written, without its tags."""
    text = (folder / "report.html").read_text(encoding="utf-8")
    (found,) = re.findall(r'<section id="before-after">.*?(?=<section id="limits">)', text, re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", found))


def _difference(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "summary.json").read_text())["measures"]["before-after"]
    (difference,) = found["differences"]
    return dict(difference)


def _plain(value: float) -> str:
    return f"{value:.3f}".replace("-", "−")


def _signed(value: float, bounds: list[float]) -> str:
    low, high = bounds
    return f"{value:+.3f} [{low:+.3f}, {high:+.3f}]".replace("-", "−")


def test_every_number_of_summary_and_record_is_shown(harden: Write, page_of: PageOf) -> None:
    folder = harden()
    page, shown = page_of(folder), _section(folder)
    record, difference = json.loads((folder / "harden.json").read_text()), _difference(folder)
    for part in (difference, *difference["classes"]):
        for name in QUANTITIES:
            assert _signed(part[name], part[f"{name}_interval"]) in shown
    for row in record["rounds"]:
        low, high = row["interval"]
        assert f"{_plain(row['rho'])} [{_plain(low)}, {_plain(high)}]" in shown
        for name in ("accuracy_nuisance", "accuracy_clean", "loss", "failing", "wrong"):
            assert name not in row or _plain(row[name]) in shown
    for name in ("before", "after"):
        assert all(_plain(record[name][quantity]) in shown for quantity in QUANTITIES)
    for words in (
        record["criterion"],
        "6,001",
        "203",
        "2 rounds × 60 steps × 128",
        "79,211",
        "46,081",
        "90 % intervals",
    ):
        assert words in shown
    assert "#before-after" in {attributes.get("href") for tag, attributes in page.tags if tag == "a"}
    assert not any(tag == "i" for tag, _ in page.tags)


def test_a_hardening_comes_first_among_the_findings_and_is_not_said_twice(harden: Write, page_of: PageOf) -> None:
    folder = harden()
    page_of(folder)
    text = (folder / "report.html").read_text(encoding="utf-8")
    verdict = re.search(r'<p class="verdict">(.*?)</p>', text)[1]
    said = text[text.index('<section id="findings">') : text.index('<section id="measured">')]
    findings = [verdict, *re.findall(r"<li>(.*?)</li>", said)]
    difference = _difference(folder)
    assert findings[0].startswith("torch:my:net was fine-tuned on its weak points")
    assert "ρ rose from" in findings[0]
    assert _signed(difference["rho"], difference["rho_interval"]) in findings[0]
    assert re.search(r"Accuracy under the nuisance rose .* Clean accuracy went .* can&#39;t tell", findings[1])
    assert not any("is more robust than" in each or " tie under" in each for each in findings)


def test_the_chosen_candidate_is_marked_and_what_lost_too_much_is_named(harden: Write, page_of: PageOf) -> None:
    folder = harden()
    page_of(folder)
    text = (folder / "report.html").read_text(encoding="utf-8")
    ((chosen),) = re.findall(r'<tr class="[^"]*chosen">(.*?)</tr>', text)
    assert ">chosen<" in chosen
    assert "0.742" in chosen
    shown = _section(folder)
    assert (
        "Chosen: the weights at the end of round 1. The least clean accuracy allowed was 0.925; 1 candidate of" in shown
    )
    assert re.search(r"2 1 lost too much 0\.759", shown)


def test_classes_that_lost_are_named_and_many_are_cut_to_the_least_gains(harden: Write, page_of: PageOf) -> None:
    folder = harden(_changes(0.05, 0.08, 0.0) | {"classes": _classes(1000)})
    page_of(folder)
    shown = _section(folder)
    assert "the 20 least gains of 1000 classes; all are in summary.json" in shown
    lost = [each for each in _classes(1000) if each["rho_interval"][1] < 0]
    assert f"lying below 0, in ρ: the worst, kind 998 &lt;i&gt;, kind 997 &lt;i&gt; and {len(lost) - 3} more;" in shown
    assert "in clean accuracy: the worst." in shown
    assert "kind 980" in shown
    assert "kind 979" not in shown
    assert len((folder / "report.html").read_text()) < 1_500_000


def test_that_no_class_is_shown_to_have_lost_is_said_too(harden: Write, page_of: PageOf) -> None:
    classes = [{"label": 0, "class": "only", "images": 24} | _changes(0.2, 0.0, 0.0)]
    folder = harden(_changes(0.05, 0.08, 0.0) | {"classes": classes})
    page_of(folder)
    assert "lies above 0 for 1 of 1 class. No interval" in _section(folder)
    folder = harden(_changes(0.05, 0.08, 0.0) | {"classes": []})
    page_of(folder)
    assert "What each class gained" not in _section(folder)


def test_nothing_chosen_is_said_and_nothing_compared(harden: Write, page_of: PageOf) -> None:
    rounds = [_candidate(0, 1.0, 0.7, 0.9), _candidate(1, 1.0, 0.69, 0.9), _candidate(2, 1.0, 0.65, 0.9)]
    folder = harden(chosen=0, rounds=rounds)
    page = page_of(folder)
    shown = _section(folder)
    assert "changed nothing: no candidate met the criterion" in page.text
    assert "Chosen: the untouched classifier." in shown
    assert "untouched, chosen" in shown
    assert "What each class gained" not in shown
    assert "after − before" not in shown


@pytest.mark.parametrize("cost", [0.0, 1.0])
def test_figures_stand_with_any_cost(harden: Write, page_of: PageOf, cost: float) -> None:
    folder = harden()
    record = json.loads((folder / "harden.json").read_text())
    record["about"] |= {"cost": cost, "on": "prior"}
    rounds = [_candidate(0, 1.0, 0.7, 0.9), _candidate(1, 1.0, 0.7, 0.9)]
    folder = harden(about=record["about"], rounds=rounds, chosen=1)
    page_of(folder)
    shown = _section(folder)
    assert ("far to the left of the figure" in shown) == (cost == 1.0)
    assert ("least clean accuracy allowed" in shown.replace("The least clean accuracy allowed", "")) == (cost == 0.0)
    assert "draws of the nuisance’s prior" in shown
    assert "1 − µ" not in shown


def test_without_a_record_the_differences_speak(harden: Write, page_of: PageOf) -> None:
    folder = harden(record=False)
    page = page_of(folder)
    shown, difference = _section(folder), _difference(folder)
    assert "From before to after under Affine map, α 50 ρ rose from" in page.text
    assert _signed(difference["rho"], difference["rho_interval"]) in shown
    assert "What each class gained" in shown
    assert "ardened" not in shown
    assert not {"before-after-training", "before-after-chosen"} & page.ids


def test_what_the_measure_says_is_shown(before_after: Path, page_of: PageOf) -> None:
    page, difference = page_of(before_after), _difference(before_after)
    assert difference["classes"]
    for part in (difference, *difference["classes"]):
        for name in QUANTITIES:
            assert _signed(part[name], part[f"{name}_interval"]) in page.text
    assert "ardened" not in page.text


def test_a_run_without_differences_has_no_such_section(both_folder: Path, page_of: PageOf) -> None:
    page = page_of(both_folder)
    assert "before-after" not in page.ids
    assert "ardening" not in page.text


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda text: text[: len(text) // 2], "Invalid JSON"),
        (lambda text: "[]", "object"),
        (lambda text: text.replace('"way"', '"weg"'), "rounds.0.way: Field required"),
        (lambda text: text.replace('"chosen": 2', '"chosen": 4'), "candidate 4 is chosen of 4"),
        (
            lambda text: re.sub(r'("classifier": "before".*?"rho": )[\d.]+', r"\g<1>0.123", text),
            "not those of this run",
        ),
    ],
)
def test_a_torn_or_foreign_record_is_left_out_and_that_is_said(
    harden: Write, page_of: PageOf, spoil: Callable[[str], str], why: str
) -> None:
    folder = harden()
    path = folder / "harden.json"
    path.write_text(spoil(path.read_text()))
    page = page_of(folder)
    assert "before-after-training" not in page.ids
    assert re.search(rf"harden\.json can't be shown.*{why}.*Delete that file", page.text)
    assert {"robustness-results", "robustness-paired", "before-after"} <= page.ids


def test_the_table_has_a_row_per_class_and_one_over_all(harden: Write) -> None:
    folder = harden()
    summary, difference = json.loads((folder / "summary.json").read_text()), _difference(folder)
    rows = one_table(summary, "before-after").to_pylist()
    assert [row["class"] for row in rows] == [None, *(each["class"] for each in difference["classes"])]
    assert [rows[0]["rho_low"], rows[0]["rho_high"]] == difference["rho_interval"]
    assert rows[0]["images"] == sum(each["images"] for each in difference["classes"])
    assert [rows[-1]["accuracy_clean_low"], rows[-1]["accuracy_clean_high"]] == difference["classes"][-1][
        "accuracy_clean_interval"
    ]


def test_the_console_tells_the_change_and_the_class_that_gained_least(harden: Write) -> None:
    folder = harden()
    difference = _difference(folder)
    text = as_text(json.loads((folder / "summary.json").read_text()))
    assert f"after − before on 20 images, paired: ρ {_signed(difference['rho'], difference['rho_interval'])}" in text
    assert "least gain of a class, the worst: ρ −0.314" in text


def test_a_hardening_is_printed_with_its_rounds(harden: Write, capsys: pytest.CaptureFixture[str]) -> None:
    class Done(NamedTuple):
        summary: dict[str, Any]
        found: dict[str, Any]

    folder = harden(weights="weights.safetensors", classifier=None)
    record, summary = (json.loads((folder / name).read_text()) for name in ("harden.json", "summary.json"))
    print_hardened(Done(record, summary))
    out = capsys.readouterr().out
    assert re.search(r"1 +1 +0\.742 .* 0\.375 +0\.293 +0\.481 +chosen", out)
    for words in ("after − before", "79,211 classifier calls in sampling", "weights: weights.safetensors"):
        assert words in out
    assert "classifier: " not in out
