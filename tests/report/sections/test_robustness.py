"""The section on robustness says what the summary says, and its gallery shows what the classifiers saw and said."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch

from brittle.engine.store.checked_json import checked_text, read_checked
from brittle.measures.robustness.summary import disagreement
from brittle.nuisances import nuisances
from brittle.random import draw_keys
from brittle.report.blocks import Block, Group, Pictures
from brittle.report.blocks.pictures import Answer, Card, Drawn, Original, Strip
from brittle.report.blocks.wording import plain
from brittle.report.console import as_text
from brittle.report.html import write_report
from brittle.report.page.colours import looks
from brittle.report.page.section import MeasureRun
from brittle.report.renderers.figures import as_svg
from brittle.report.renderers.html import HtmlRenderer, groups_in
from brittle.report.renderers.resolve import ResolvedPictures, resolve
from brittle.report.sections.robustness.figures import class_figure, curve_figure, curves, shown_classes
from brittle.report.sections.robustness.results import RobustnessRows
from brittle.report.sections.robustness.section import RobustnessSection
from brittle.report.sections.robustness.sentences import STOPPED, cautions, findings, limits, ranks

PageOf = Callable[[Path], Any]
WriteRun = Callable[..., Path]


@pytest.fixture(scope="module")
def run(run_folder: Path, measure_run: Callable[[Path, str], MeasureRun]) -> MeasureRun:
    return measure_run(run_folder, "robustness")


@pytest.fixture(scope="module")
def shown(run: MeasureRun) -> list[Block]:
    return list(RobustnessSection().blocks(run))


@pytest.fixture(scope="module")
def resolved(run: MeasureRun, shown: list[Block]) -> ResolvedPictures:
    return resolve(run.whole, shown)


def _body(run: MeasureRun) -> str:
    renderer = HtmlRenderer(run.whole, looks(list(run.whole.study.classifiers)), "robustness")
    return str(renderer.render(RobustnessSection().blocks(run)))


def _galleries(shown: list[Block]) -> dict[str, list[Group]]:
    """The parts of the gallery of every nuisance: first draws, and mistakes of each classifier."""
    found = [group for group in groups_in(shown) if group.about is not None]
    return {plain(group.title): [each for each in group.blocks if isinstance(each, Group)] for group in found}


def _strips(group: Group) -> tuple[Strip, ...]:
    (pictures,) = (each for each in group.blocks if isinstance(each, Pictures))
    return pictures.strips


def _image(card: Card) -> int:
    assert isinstance(card.source, (Original, Drawn))
    return card.source.image


def _rows(run: MeasureRun, classifier: str, nuisance: str = "") -> list[dict[str, Any]]:
    """Stored rows; without a nuisance those of the untouched images."""
    view = run.whole.view("robustness" if nuisance else "clean")
    return pa.concat_tables(list(view.rows(view.cell(classifier, "shapes", nuisance)))).to_pylist()  # type: ignore[no-any-return]


def test_pictures_are_the_first_draws_of_the_prior(
    run: MeasureRun, shown: list[Block], resolved: ResolvedPictures
) -> None:
    images = run.whole.job.images["shapes"].images
    space = nuisances.build("affine:alpha=10")
    for strip in _strips(_galleries(shown)["affine:alpha=10"][0]):
        original, *draws = strip.cards
        batch = images.batch([images.ids.tolist().index(_image(original))])
        assert torch.equal(resolved.pixels[original.source], batch.images[0])  # type: ignore[index]
        theta = space.sample(batch, draw_keys(0, "affine", batch.ids, torch.arange(6)))[0]
        assert [card.caption for card in draws] == [f"draw {draw}" for draw in range(6)]
        for draw, card in enumerate(draws):
            expected = space.apply(batch, theta[draw : draw + 1])[0]
            assert torch.allclose(resolved.pixels[card.source], expected, atol=1e-5)  # type: ignore[index]


def test_answers_beneath_the_pictures_are_the_stored_ones(run: MeasureRun, shown: list[Block]) -> None:
    images = run.whole.job.images["shapes"].images
    for nuisance, (first, *_) in _galleries(shown).items():
        for strip in _strips(first):
            for card in strip.cards:
                draw = card.source.draw if isinstance(card.source, Drawn) else None
                assert len(card.answers) == 2
                for answer in card.answers:
                    rows = _rows(run, answer.classifier, "" if draw is None else nuisance)
                    row = next(each for each in rows if each["image"] == _image(card) and each.get("draw") == draw)
                    assert answer.label == images.classes[row["predicted"]]
                    assert answer.probability == pytest.approx(np.exp(row["log_p_predicted"]))
                    assert answer.right == (answer.label == strip.cards[0].caption)


def test_classifiers_asked_again_confirm_the_pictures(resolved: ResolvedPictures) -> None:
    check = resolved.confirmation
    assert check.pictures == 3 * 2 * 36
    assert check.differing == 0
    assert check.largest < 1e-5


def test_shown_images_are_of_different_classes_and_the_same_under_every_nuisance(shown: list[Block]) -> None:
    galleries = [_strips(first) for first, *_ in _galleries(shown).values()]
    assert len({tuple(_image(strip.cards[0]) for strip in strips) for strips in galleries}) == 1
    assert len({strip.cards[0].caption for strip in galleries[0][:3]}) == 3


def test_confident_mistakes_are_the_most_confident_ones(run: MeasureRun, shown: list[Block]) -> None:
    for nuisance, (_, *mistakes) in _galleries(shown).items():
        for group in mistakes:
            name = plain(group.title).removeprefix("Confident mistakes of ").removesuffix(", selected")
            clean = {row["image"]: row["rank"] == 0 for row in _rows(run, name)}
            wrong = [
                np.exp(row["log_p_predicted"])
                for row in _rows(run, name, nuisance)
                if row["rank"] > 0 and clean[row["image"]]
            ]
            strips = _strips(group)
            said: list[Answer] = [
                next(each for each in strip.cards[1].answers if each.classifier == name) for strip in strips
            ]
            assert said
            assert not any(each.right for each in said)
            assert said[0].probability == pytest.approx(max(wrong))
            assert [each.probability for each in said] == sorted((each.probability for each in said), reverse=True)
            assert len({_image(strip.cards[0]) for strip in strips}) == len(strips)


def test_report_says_which_pictures_are_selected(run_folder: Path) -> None:
    text = write_report(run_folder).read_text(encoding="utf-8")
    assert "First draws, not selected" in text
    assert "Confident mistakes of plain, selected" in text


def test_curves_need_two_values_of_one_numeric_option() -> None:
    def made(*specs: str) -> list[tuple[str, str, list[float]]]:
        found = curves({spec: nuisances.build(spec) for spec in specs})
        return [(curve.kind, curve.option, list(curve.points)) for curve in found]

    assert made("affine:alpha=50") == []
    assert made("affine:alpha=50", "rotation:sigma=50") == []
    assert made("affine:alpha=50", "affine:alpha=10,kappa=2") == []
    assert made("affine:alpha=50,fill=edge", "affine:alpha=10") == []
    assert made("affine:alpha=50", "rotation", "affine:alpha=10") == [("affine", "alpha", [10.0, 50.0])]
    grid = made(*(f"affine:alpha={a},kappa={k}" for a in (10, 50) for k in (1, 2)))
    assert sorted(option for _, option, _ in grid) == ["alpha", "alpha", "kappa", "kappa"]


def _at_level(level: int, accuracy: float) -> dict[str, Any]:
    row: dict[str, Any] = {
        "classifier": "c",
        "nuisance": f"fog:level={level}",
        "reference": "label",
        "confidence": 0.95,
    }
    row |= {"rho": accuracy, "accuracy_nuisance": accuracy, "accuracy_clean": 0.9, "drop": 0.9 - accuracy}
    return row | {
        f"{name}interval": None for name in ("", "accuracy_nuisance_", "accuracy_clean_", "drop_", "flip_rate_")
    }


def test_levels_of_one_nuisance_make_a_severity_curve_from_the_untouched_image_on() -> None:
    (curve,) = curves({f"fog:level={level}": nuisances.build(f"fog:level={level}") for level in (1, 2, 5)})
    assert curve.along_severity
    assert not curve.logarithmic
    rows = [_at_level(1, 0.8), _at_level(2, 0.6), _at_level(5, 0.3)]
    figure = as_svg("k", curve_figure(curve, rows, falling=False), looks(["c"]))
    assert "drop (clean accuracy − accuracy)" in figure
    ticks = re.findall(r">(\d)</text>", figure)
    assert ticks.count("0") == 3
    (alpha,) = curves({f"affine:alpha={a}": nuisances.build(f"affine:alpha={a}") for a in (10, 50)})
    assert not alpha.along_severity


def test_a_thousand_classes_show_their_two_ends() -> None:
    def each(label: int, rho: float) -> dict[str, object]:
        bounds = [rho, rho]
        return {"label": label, "class": "crane", "rho": rho, "interval": bounds, "interval_simultaneous": bounds}

    classes = [each(label, (label * 7 % 1000) / 1000) for label in range(1000)]
    rows = [{"classifier": "c", "confidence": 0.95, "classes": classes}]
    shown = [None if pair is None else pair[0] * 7 % 1000 for pair in shown_classes(rows)]
    assert shown == [*range(15), None, *range(985, 1000)]
    figure = as_svg("k", class_figure("affine", rows), looks(["c"]))
    assert figure.count("crane") >= 30


def test_every_rho_and_interval_of_the_summary_is_shown(run_folder: Path, page_of: PageOf) -> None:
    page, summary = page_of(run_folder), json.loads((run_folder / "summary.json").read_text())["measures"]["robustness"]
    assert len(summary["results"]) == 6
    for row in summary["results"]:
        low, high = row["interval"]
        assert f"{row['rho']:.3f} [{low:.3f}, {high:.3f}]" in page.text
        assert f"{row['nll']:.3f}" in page.text
        for each in row["classes"]:
            assert f"{each['rho']:.3f}" in page.text
    for pair in summary["comparisons"]:
        assert f"{pair['rho_difference']:.3f}".replace("-", "−") in page.text
    for words in ("population: ρ of the population", "24 images × 8 draws per image", "Hoeffding"):
        assert words in page.text


def test_prior_draws_stand_beside_the_numbers(run_folder: Path, page_of: PageOf) -> None:
    page = page_of(run_folder)
    assert {"robustness-results", "robustness-gallery"} <= page.ids
    assert sum(tag == "img" for tag, _ in page.tags) >= 3 * 6 * 7


def test_one_classifier_and_one_nuisance_have_neither_pairs_nor_curve(
    tmp_path: Path, write_run: WriteRun, page_of: PageOf
) -> None:
    folder = write_run(
        tmp_path, classifiers={"only": f"python:{tmp_path}/tiny.py:first"}, nuisances=["affine:alpha=50"]
    )
    page = page_of(folder)
    assert not {"robustness-paired", "robustness-options"} & page.ids
    assert "Paired differences" not in page.text
    assert "tie means" not in page.text


def test_images_without_labels_are_measured_against_the_clean_prediction(
    tmp_path: Path, write_run: WriteRun, page_of: PageOf
) -> None:
    folder = write_run(tmp_path, labelled=False)
    page = page_of(folder)
    assert "have no labels" in page.text
    assert "none has a label" in page.text
    assert "clean accuracy" not in page.text
    assert "draw 0" in page.text


def test_a_measure_restricted_to_some_things_shows_only_those(
    tmp_path: Path, write_run: WriteRun, page_of: PageOf
) -> None:
    asked = {"part": {"kind": "robustness", "samples": 3, "classifiers": ["plain"], "nuisances": ["affine:alpha=10"]}}
    folder = write_run(tmp_path, robustness=None, measures=asked)
    page = page_of(folder)
    assert "part-results" in page.ids
    text = (folder / "report.html").read_text()
    results = text[text.index('<section id="part-results">') : text.index('<section id="part-classes">')]
    assert "affine:alpha=50" not in results
    assert "alpha=10" in results
    assert "--&gt;" not in results


def test_image_sets_are_named_where_there_are_several(tmp_path: Path, write_run: WriteRun, page_of: PageOf) -> None:
    sets = {name: {"spec": f"npz:{tmp_path}/images.npz", "count": count} for name, count in (("some", 6), ("more", 9))}
    page = page_of(write_run(tmp_path, images=sets, nuisances=["affine:alpha=50"]))
    for words in ("On some: ", "On more: ", "6 images of some", "9 images of more", "6 of 24", "9 of 24"):
        assert words in page.text


def test_ties_and_winners_are_told_from_the_intervals(run_folder: Path, names: tuple[str, str]) -> None:
    summary = json.loads((run_folder / "summary.json").read_text())["measures"]["robustness"]
    first, second = names
    for pair, verdict in zip(summary["comparisons"], ("first", "tie", "second"), strict=True):
        pair |= {"rho_better": verdict, "rho_difference": {"first": 0.25, "tie": 0.0, "second": -0.125}[verdict]}
        pair["rho_interval"] = [pair["rho_difference"] - 0.1, pair["rho_difference"] + 0.1]
    results = RobustnessRows(summary)
    said = max(findings(results, False), key=lambda each: each.weight).block.text
    assert f"{first} is more robust than {second} under 1 of 3 nuisances" in said
    assert "difference 0.250 [0.150, 0.350], paired" in said
    assert "difference 0.125 [0.025, 0.225], paired" in said
    assert "they tie under affine:alpha=10" in said
    assert ranks(results.under("affine:alpha=50")) == {first: (1, 1), second: (2, 2)}
    assert ranks(results.under("affine:alpha=10")) == {first: (1, 2), second: (1, 2)}


def test_missed_tolerances_are_cautions(run: MeasureRun) -> None:
    rows = run.summary["results"]
    assert cautions(RobustnessRows(run.summary)) == []
    missed = {"tolerance": 0.01, "tolerance_reached": False, "half_width": 0.0321}
    (said,) = cautions(RobustnessRows(run.summary | {"results": [rows[0] | missed, *rows[1:]]}))
    assert "Tolerance not reached" in said
    assert "0.0321" in said


def test_the_curve_turns_so_that_larger_changes_lie_to_the_right(run: MeasureRun) -> None:
    assert "alpha, logarithmic   (larger changes of the image →)" in _body(run)


def test_results_that_stopped_at_different_places_say_where(run: MeasureRun) -> None:
    rows = run.summary["results"]
    assert "images × draws" not in _body(run)
    uneven = replace(run, summary=run.summary | {"results": [rows[0] | {"images": 17}, *rows[1:]]}, _made={})
    body = _body(uneven)
    assert "images × draws" in body
    assert "17 × 8" in body
    assert "17 to 24 images" in body


def test_the_paired_difference_of_accuracy_stands_beside_that_of_rho(run: MeasureRun) -> None:
    pair = run.summary["comparisons"][0] | {
        "rho_difference": 0.25, "rho_interval": [0.1, 0.4], "rho_better": "first",
        "accuracy_nuisance_difference": -0.05, "accuracy_nuisance_interval": [-0.2, 0.1],
        "accuracy_nuisance_better": "tie",
    }  # fmt: skip
    first, second = pair["first"], pair["second"]
    results = [row for row in run.summary["results"] if row["nuisance"] == pair["nuisance"]]
    summary = run.summary | {"results": results, "comparisons": [pair | {"family": 1}]}
    text = as_text({"measures": {"robustness": summary}})
    difference = "ρ 0.250 [0.100, 0.400]"
    assert (
        f"{first} − {second}, paired: {difference}, {first} is better; accuracy −0.050 [−0.200, 0.100], a tie" in text
    )
    said = max(findings(RobustnessRows(summary), False), key=lambda each: each.weight).block.text
    assert "difference 0.250 [0.100, 0.400], paired; in accuracy −0.050 [−0.200, 0.100])" in said
    body = _body(replace(run, summary=summary, _made={}))
    paired = body[body.index("Paired differences") : body.index("Per class")]
    assert "difference in accuracy" in paired
    assert '<span class="tie">tie</span></td></tr>' in paired  # of accuracy, which comes last


def test_where_a_classifier_is_most_brittle_ties_are_named(run: MeasureRun) -> None:
    name = run.summary["results"][0]["classifier"]
    rows = [row | {"classes": []} for row in run.summary["results"] if row["classifier"] == name]
    bounds = {"affine:alpha=50": [0.6, 0.8], "affine:alpha=10": [0.2, 0.4], "translation:sigma=0.1": [0.35, 0.5]}
    for row in rows:
        low, high = bounds[row["nuisance"]]
        row |= {"rho": (low + high) / 2, "interval_simultaneous": [low, high], "interval": [low + 0.04, high - 0.04]}
    said = findings(RobustnessRows({"results": rows, "comparisons": []}), False)
    (text,) = (each.block.text for each in said if "most brittle" in each.block.text)
    assert text.startswith(
        f"{name} is most brittle under affine:alpha=10: ρ 0.300 [0.240, 0.360] (simultaneous [0.200, 0.400]), a tie "
        "with translation:sigma=0.1; accuracy "
    )
    apart = [row | {"interval_simultaneous": [0.45, 0.5]} if "sigma" in row["nuisance"] else row for row in rows]
    (text,) = (
        each.block.text
        for each in findings(RobustnessRows({"results": apart, "comparisons": []}), False)
        if "most" in each.block.text
    )
    assert "a tie" not in text


def test_stopping_at_a_tolerance_is_said_to_bias_rho(run: MeasureRun) -> None:
    def told(summary: Any) -> list[bool]:
        return [STOPPED in as_text({"measures": {"robustness": summary}}), STOPPED in limits(RobustnessRows(summary))]

    stopped = {"tolerance": 0.05, "tolerance_reached": True}
    assert told(run.summary) == [False, False]
    assert told(run.summary | {"results": [row | stopped for row in run.summary["results"]]}) == [True, True]


def test_confidence_far_from_accuracy_is_said_on_the_console_and_at_the_head_of_the_report(
    tmp_path: Path, write_run: WriteRun, page_of: PageOf
) -> None:
    """Classifiers with random weights are right by chance alone, and as sure as their logits are large."""
    folder = write_run(tmp_path, nuisances=["affine:alpha=50"])
    summary = json.loads((folder / "summary.json").read_text())
    (warning,) = (text for text in summary["warnings"] if text.startswith("'plain' has a mean confidence of "))
    assert re.search(r"its logits are too large: dividing them by [\d.]+ or more would close the gap$", warning)
    assert f"warning: {warning}" in " ".join(as_text(summary).split())
    page = page_of(folder)
    head, section = page.text.index("Before you read on"), page.text.index("For an image x, µ(x)")
    assert head < page.text.index(warning[:90].replace("affine:alpha=50", "Affine map, α 50")) < section
    assert page.text.index(warning, head) < section  # in full at the head of the section


def test_rho_and_accuracy_that_disagree_are_said_at_the_head_of_the_report(
    run_folder: Path, tmp_path: Path, page_of: PageOf
) -> None:
    folder = tmp_path / "run"
    shutil.copytree(run_folder, folder)
    summary = read_checked(folder / "summary.json", "")
    pair = {"first": "modest", "second": "sure", "nuisance": "fog", "rho_difference": -0.3, "rho_better": "second"}
    pair |= {"accuracy_nuisance_difference": 0.02, "accuracy_nuisance_better": "tie"}
    warning = disagreement(pair)
    assert warning == (
        "under fog ρ is higher for 'sure' and accuracy for 'modest' (differences 0.300 and 0.020, one of them a tie): "
        "one is more confident, the other more often right"
    )
    assert disagreement(pair | {"accuracy_nuisance_difference": -0.02}) is None
    assert disagreement(pair | {"rho_better": "tie"}) is None
    (folder / "summary.json").write_text(checked_text("summary.json", summary | {"warnings": [warning]}))
    page = page_of(folder)
    said = f"U{warning[1:]}."
    assert page.text.index("Before you read on") < page.text.index(said[:80]) < page.text.rindex("All findings")
    assert said in page.text
