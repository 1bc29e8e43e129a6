"""The section on weak points shows what was stored, and never as trusted what can't be."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest
import torch
from PIL import Image

import brittle
from brittle.engine.replay import Replay
from brittle.errors import BrittleError
from brittle.measures.weak_points.summary import entry_warnings, missed_regions
from brittle.nuisances import nuisances
from brittle.report.blocks import Pictures, Table
from brittle.report.blocks.figure import Cells, Figure
from brittle.report.blocks.pictures import Original, Strip
from brittle.report.blocks.wording import number_of, plain
from brittle.report.console import as_text
from brittle.report.page.section import MeasureRun
from brittle.report.renderers.html import groups_in
from brittle.report.renderers.resolve import pixels_of, resolve
from brittle.report.sections import section_of
from brittle.report.sections.weak_points import evidence as evidence_module
from brittle.report.sections.weak_points import strips as strips_of
from brittle.report.sections.weak_points.draws import shown_images
from brittle.report.sections.weak_points.evidence import EntryPictures, evidence
from brittle.report.sections.weak_points.figures import flow_figure, flow_matrix
from brittle.report.sections.weak_points.maps import grid_around, hidden_share, posterior_on_grid
from brittle.report.sections.weak_points.sentences import findings, headline

PageOf = Callable[[Path], Any]
WriteRun = Callable[..., Path]
MeasureRunOf = Callable[[Path, str], MeasureRun]
TRANSLATION, OCCLUSION = "translation:sigma=0.2", "occlusion:rectangles=1,scale=0.2"


@pytest.fixture(scope="module")
def run(weak_folder: Path, measure_run: MeasureRunOf) -> MeasureRun:
    return measure_run(weak_folder, "weak-points")


class Part(NamedTuple):
    """An entry of the summary, and what is shown of it beyond that."""

    entry: Mapping[str, Any]
    evidence: EntryPictures


def _parts(run: MeasureRun) -> list[Part]:
    entries = run.summary["entries"]
    return [Part(entry, evidence(run, entry, len(entries))) for entry in entries]


@pytest.fixture(scope="module")
def parts(run: MeasureRun) -> list[Part]:
    return _parts(run)


@pytest.fixture(scope="module")
def untrusted_folder(tmp_path_factory: pytest.TempPathFactory, write_run: WriteRun) -> Path:
    chains = {"sampler": "metropolis", "steps": 12, "burn-in": 4, "chains": 3, "tries": 4}
    return write_run(
        tmp_path_factory.mktemp("untrusted"),
        robustness=None,
        nuisances=[TRANSLATION],
        **{"weak-points": chains},
    )


def _rows(run: MeasureRun, entry: Mapping[str, Any], id: int) -> list[dict[str, Any]]:
    assert run.view is not None
    cell = run.view.cell(entry["classifier"], entry["image_set"], entry["nuisance"])
    table = pa.concat_tables(list(run.view.rows(cell)))
    return [row for row in table.to_pylist() if row["image"] == id]


def _id(run: MeasureRun, name: str) -> int:
    images = run.whole.job.images["shapes"].images
    return int(images.ids[list(images.names).index(name)])


def test_every_picture_is_the_nuisance_at_a_stored_theta_of_another_label(run: MeasureRun, parts: list[Part]) -> None:
    images = run.whole.job.images["shapes"].images
    seen = 0
    for part in parts:
        space = nuisances.build(part.entry["nuisance"])
        pixels = pixels_of(run.whole, [Pictures(tuple(part.evidence.strips))])
        for original, *taken in (strip.cards for strip in part.evidence.strips):
            assert isinstance(original.source, Original)
            stored = _rows(run, part.entry, original.source.image)
            batch = images.batch([images.ids.tolist().index(original.source.image)])
            assert torch.equal(pixels[original.source], batch.images[0])
            for card in taken:
                (answer,) = card.answers
                same = [
                    row
                    for row in stored
                    if torch.equal(space.apply(batch, torch.tensor([row["theta"]]))[0], pixels[card.source])
                    and row["predicted"] == answer.predicted
                    and math.isclose(math.exp(row["log_p_predicted"]), answer.probability, rel_tol=1e-6)
                ]
                assert same
                assert all(row["rank"] > 0 for row in same)
                assert answer.label == card.caption != original.caption
                seen += 1
    assert seen > 50


def test_least_transformations_are_those_of_the_diagnosis(run: MeasureRun, parts: list[Part]) -> None:
    images = run.whole.job.images["shapes"].images
    for part in parts:
        space = nuisances.build(part.entry["nuisance"])
        rows = [row for row in part.entry["per_image"] if row["smallest"] is not None and not row["already_wrong"]]
        rows.sort(key=lambda row: -row["smallest_log_prior"])
        shown = part.evidence.least
        assert [plain(strip.text).split(":")[0] for strip in shown] == [row["name"] for row in rows[:8]]
        pixels = pixels_of(run.whole, [Pictures(tuple(shown))])
        for (original, taken), row in zip((strip.cards for strip in shown), rows, strict=False):
            batch = images.batch([list(images.names).index(row["name"])])
            assert torch.equal(pixels[taken.source], space.apply(batch, torch.tensor([row["smallest"]]))[0])
            assert taken.caption == row["smallest_label"] != original.caption


def test_classifiers_asked_again_confirm_the_pictures(run: MeasureRun) -> None:
    check = resolve(run.whole, section_of("weak-points").blocks(run)).confirmation
    assert check.pictures > 50
    assert check.differing == 0
    assert check.largest < 1e-5


def test_images_shown_are_of_different_labels_trusted_before_untrusted() -> None:
    def row(id: int, label: str, status: str, leads_to: str | None = "x", wrong: bool = False) -> dict[str, Any]:
        return {"id": id, "label": label, "status": status, "leads_to": leads_to, "already_wrong": wrong}

    rows = [
        row(0, "a", "not mixed"),
        row(1, "b", "nothing found", None),
        row(2, "a", "trusted"),
        row(3, "c", "trusted", None),
        row(4, "a", "trusted"),
        row(5, "d", "too few"),
        row(6, "e", "trusted", wrong=True),
    ]
    assert [each["id"] for each in shown_images(rows, 4)] == [2, 5, 3, 1]
    assert [each["id"] for each in shown_images(rows, 9)] == [2, 4, 5, 0, 3, 1]


def test_untrusted_draws_are_marked_and_never_pooled(
    untrusted_folder: Path, page_of: PageOf, measure_run: MeasureRunOf
) -> None:
    parts = _parts(measure_run(untrusted_folder, "weak-points"))
    page = page_of(untrusted_folder)
    text = (untrusted_folder / "report.html").read_text()
    for part in parts:
        assert part.entry["trusted"] == 0
        assert not part.evidence.marginals
        assert part.evidence.strips
        assert all(strip.badge in part.entry["statuses"] for strip in part.evidence.strips)
        assert all(strip.badge for strip in part.evidence.least)
    strips = re.findall(r'<div class="strip([^"]*)">', text)
    assert strips == [" untrusted"] * sum(len(part.evidence.strips) + len(part.evidence.least) for part in parts)
    assert text.count('<span class="badge">not mixed</span>') == len(strips)
    assert "No image’s draws can be trusted" in page.text
    assert "judging by draws that can’t be trusted" in page.text


def test_trusted_draws_have_no_badge(parts: list[Part]) -> None:
    shown = [(part.entry, strip) for part in parts for strip in part.evidence.strips]
    assert any(not strip.badge for _, strip in shown)
    for entry, strip in shown:
        (status,) = (row["status"] for row in entry["per_image"] if row["name"] == strip.cards[0].beneath)
        assert strip.badge == ("" if status == "trusted" else status)


def test_marginals_pool_the_trusted_images_that_are_right_untouched(
    run: MeasureRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    caught: list[Any] = []
    monkeypatch.setattr(evidence_module, "marginal_figure", lambda panels, images: caught.append(panels))
    entry = run.summary["entries"][0]
    evidence(run, entry, 4)
    assert entry["nuisance"] == TRANSLATION
    ids = [row["id"] for row in entry["per_image"] if row["status"] == "trusted" and not row["already_wrong"]]
    theta = np.array([row["theta"] for id in ids for row in _rows(run, entry, id)], np.float32)
    names = {"shift x (share of the width)": 0, "shift y (share of the height)": 1}
    assert {panel.name for panel in caught[0]} == set(names)
    for panel in caught[0]:
        assert np.array_equal(np.sort(panel.posterior), np.sort(theta[:, names[panel.name]]))
        assert panel.prior.std() == pytest.approx(0.2, rel=0.1)


def test_shares_of_flows_that_are_shown_sum_to_one(run: MeasureRun) -> None:
    groups = [group for group in groups_in(section_of("weak-points").blocks(run)) if "labels they lead" in group.title]
    for group, entry in zip(groups, run.summary["entries"], strict=True):
        (figure,) = (block for block in group.blocks if isinstance(block, Figure))
        (table,) = (block for inner in groups_in(group.blocks) for block in inner.blocks if isinstance(block, Table))
        assert len(table.rows) == len(entry["flows"])
        assert sum(number_of(share) for _, _, share, _ in table.rows) == pytest.approx(1)
        (cells,) = (mark for mark in figure.panels[0].marks if isinstance(mark, Cells))
        assert sum(sum(row) for row in cells.values) == pytest.approx(1)


def test_many_labels_show_the_strongest_flows_as_bars() -> None:
    flows = [
        {"from": label, "to": label + 30, "share": (30 - label) / 465}
        | {"from_label": f"class {label}", "to_label": f"class {label + 30}"}
        for label in range(30)
    ]
    assert flow_matrix(flows) is None
    words = [word for _, word in flow_figure(flows).panels[0].y.ticks]
    assert words[0] == "class 0 → class 30"
    assert "class 29 → class 59" not in words


def test_map_of_hidden_pixels_is_the_mean_of_the_masks(run: MeasureRun, parts: list[Part]) -> None:
    entry = next(part.entry for part in parts if part.entry["nuisance"] == OCCLUSION)
    theta = np.array([row["theta"] for row in _rows(run, entry, entry["per_image"][0]["id"])])
    count = np.zeros((8, 10))
    for left, top, right, bottom in np.floor(theta + 0.5).astype(int):
        for y in range(8):
            for x in range(10):
                count[y, x] += left <= x < right and top <= y < bottom
    batch = run.whole.job.images["shapes"].images.batch([0])
    found = hidden_share(nuisances.build(OCCLUSION), batch, torch.tensor(theta, dtype=torch.float32))  # type: ignore[arg-type]
    assert np.allclose(found, count / len(theta))
    assert count.any()


def test_map_of_the_posterior_is_the_likelihood_times_the_prior_and_agrees_with_the_draws(
    run: MeasureRun, parts: list[Part]
) -> None:
    entry = parts[0].entry
    images, classifier = run.whole.job.images["shapes"].images, run.whole.job.classifiers[entry["classifier"]]
    space = nuisances.build(TRANSLATION)
    place, row = next(
        (place, row)
        for place, row in enumerate(entry["per_image"])
        if row["status"] == "trusted" and not row["already_wrong"] and row["effective"] > 100
    )
    batch, label = images.batch([place]), int(images.labels[place])
    axis = grid_around(0.0, 0.2, 61)
    replay = Replay(images, space, "translation", 0)
    found = posterior_on_grid(classifier, replay, place, label, axis, axis, 100)
    assert found is not None
    for down, across in ((3, 50), (30, 31), (44, 7)):
        theta = torch.tensor([[float(axis[across]), float(axis[down])]])
        p = classifier.log_probs(space.apply(batch, theta)).exp()[0].double()
        density = math.exp(-0.5 * float((theta / 0.2).square().sum())) / (2 * math.pi * 0.2**2)
        assert float(found[down, across].exp()) == pytest.approx(float(p.sum() - p[label]) * density, rel=1e-3)
    weight = (found - found.max()).exp()
    mean = np.array([float((weight.sum(0) * axis).sum()), float((weight.sum(1) * axis).sum())]) / float(weight.sum())
    theta = np.array([each["theta"] for each in _rows(run, entry, row["id"])])
    error = theta.std(0) * math.sqrt(1 / len(theta) + 1 / row["effective"])
    assert (np.abs(theta.mean(0) - mean) < 4 * error).all()


def test_maps_are_drawn_for_two_parameters_and_for_occluders_alone(parts: list[Part]) -> None:
    for part in parts:
        assert bool(part.evidence.posterior) == (part.entry["nuisance"] == TRANSLATION)
        assert bool(part.evidence.occlusion) == (part.entry["nuisance"] == OCCLUSION)
        assert part.evidence.marginals
    assert parts[0].evidence.posterior.panels[0].x.label == "shift x (share of the width)"


def test_traces_are_there_for_chains_alone_and_closed(
    untrusted_folder: Path, page_of: PageOf, parts: list[Part]
) -> None:
    assert not any(part.evidence.traces for part in parts)
    page_of(untrusted_folder)
    text = (untrusted_folder / "report.html").read_text()
    assert len(re.findall(r"<details[^>]*><summary>Traces of chains", text)) == 2
    assert not re.search(r"<details[^>]* open><summary>Traces of chains", text)


def test_run_of_weak_points_alone_says_nothing_of_robustness(weak_folder: Path, page_of: PageOf) -> None:
    page = page_of(weak_folder)
    assert {"measured", "weak-points", "limits", "redo"} <= page.ids
    assert not any(str(each).startswith("robustness") for each in page.ids)
    assert "Weak points of" in page.text
    assert "ρ" not in page.text
    assert "Weak points are relative to the prior" in page.text
    summary = json.loads((weak_folder / "summary.json").read_text())
    for entry in summary["measures"]["weak-points"]["entries"]:
        for row in entry["per_image"]:
            assert f"{row['per_1000']:.1f}" in page.text


def test_run_of_both_measures_has_both_sections_and_links_between_them(both_folder: Path, page_of: PageOf) -> None:
    page = page_of(both_folder)
    assert {"robustness-results", "robustness-paired", "robustness-gallery", "weak-points"} <= page.ids
    assert "Weak points are relative to the prior" in page.text
    assert "ρ is a mean confidence" in page.text
    text = (both_folder / "report.html").read_text()
    weak = text[text.index('<section id="weak-points">') :]
    assert re.search(r'See also <a href="#robustness-g\d+">Robustness: Translation, σ 0.2</a>', weak)
    assert re.search(r'<a href="#weak-points-g\d+">Weak points: [^<]* under Translation, σ 0.2</a>', text)


def test_report_of_robustness_alone_has_no_trace_of_weak_points(run_folder: Path, page_of: PageOf) -> None:
    page = page_of(run_folder)
    assert "weak point" not in page.text.lower()
    assert "weak-points" not in page.ids


def test_report_is_written_when_classifier_or_images_are_gone(
    tmp_path: Path, write_run: WriteRun, page_of: PageOf
) -> None:
    folder = write_run(tmp_path, robustness=None, nuisances=[TRANSLATION], **{"weak-points": {"budget": 100}})
    (tmp_path / "tiny.py").unlink()
    page = page_of(folder)
    assert "The classifier plain can't be loaded any more" in page.text
    assert "no classifier could be loaded to confirm" in page.text
    assert "circle <i>" in page.text
    assert any(tag == "img" for tag, _ in page.tags)
    assert "The posterior over both parameters" not in page.text
    (tmp_path / "images.npz").unlink()
    page = page_of(folder)
    assert "The image set shapes can't be loaded any more" in page.text
    assert not any(tag == "img" for tag, _ in page.tags)
    assert "Which labels they lead to" in page.text


def test_sentences_say_how_wrong_images_hard_answers_and_missing_labels_are_treated(parts: list[Part]) -> None:
    entry = dict(parts[0].entry) | {"already_wrong": 2, "hard": True}
    said = " ".join(findings(entry, 3))
    assert "2 images are wrong untouched" in said
    assert "left out of flows, parameters and pictures" in said
    assert "answers 0 or 1 and nothing between" in said
    assert "3 images without a label" in said
    assert "nothing was found" in headline(entry | {"flows": [], "found": 0})


@pytest.mark.warned("if they mean its classes of these numbers", "can't be trusted")
def test_a_picture_names_classes_as_the_images_do_where_the_classifier_has_no_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    classes = tuple(sorted(map(str, range(12))))  # "0", "1", "10", …: another order than numbers have
    images = brittle.image_set(
        (np.random.default_rng(0).random((24, 8, 8), np.float32), np.arange(24) % 12), name="numbers", classes=classes
    )

    def scores(pixels: torch.Tensor) -> torch.Tensor:
        generator = torch.Generator().manual_seed(0)
        return pixels.flatten(1) @ torch.randn(64, 12, generator=generator)

    shown: list[Strip] = []
    monkeypatch.setattr(strips_of, "write_strips", lambda path, strips, title, pixels: shown.extend(strips))
    found = brittle.sample(scores, images, "rotation", count=None, budget=100)
    found.picture(tmp_path / "a.png")
    said = [answer for strip in shown for card in strip.cards for answer in card.answers]
    assert {answer.predicted for answer in said} - {0, 1}, "some go by another name than their number"
    assert [answer.label for answer in said] == [classes[answer.predicted] for answer in said]


def test_images_without_another_label_are_told_apart_from_those_that_cannot_be_trusted(
    parts: list[Part],
) -> None:
    statuses = {"trusted": 3, "no other label": 2, "too few": 1}
    entry = dict(parts[0].entry) | {"images": 6, "statuses": statuses, "trusted": 3, "no_other_label": 2}
    entry |= {"already_wrong": 0}
    said = findings(entry, 0)
    assert "The draws of 3 of 6 images can be trusted; not those of the others (too few: 1), which are marked." in said
    assert any(
        text.startswith("On 2 images no draw has another label: weak points are then where the") for text in said
    )
    console = as_text({"measures": {"weak-points": {"kind": "weak-points", "entries": [entry]}}})
    assert "draws of 3 images can be trusted" in console
    assert "only doubts: on 2 images no draw has another label" in console
    warnings = entry_warnings(entry)
    assert "the draws of 1 of 6 images can't be trusted (too few: 1)" in warnings[0]
    assert "on 2 of 6 images no draw has another label" in warnings[1]
    sure = entry | {"statuses": {"trusted": 6}, "trusted": 6, "no_other_label": 0}
    assert "The draws of all 6 images can be trusted." in findings(sure, 0)
    assert entry_warnings(sure) == []
    assert "only doubts: on" not in as_text({"measures": {"weak-points": {"kind": "weak-points", "entries": [sure]}}})


def test_regions_that_may_have_been_missed_are_one_sentence_for_all_nuisances():
    def entry(name: str, missed: int, least: float) -> dict[str, Any]:
        return {"classifier": name, "images": 8, "statuses": {"may miss others": missed}, "least_met": least}

    (said,) = missed_regions([entry("a", 6, 0.01), entry("a", 3, 0.02), entry("b", 0, 0.5), entry("c", 1, 0.01)])
    assert "(9 of 16 of 'a', 1 of 8 of 'c', over all nuisances)" in said
    assert "less than 0.02 of the prior" in said
    assert missed_regions([entry("b", 0, 0.5)]) == []


def test_each_images_row_says_its_status(parts: list[Part]) -> None:
    entry = dict(parts[0].entry)
    statuses = ("trusted", "no other label", "too few ancestors", "weights not trusted")
    entry["per_image"] = [
        row | {"status": status, "name": f"index {place}"}
        for place, (row, status) in enumerate(zip(entry["per_image"], statuses, strict=False))
    ]
    lines = as_text({"measures": {"weak-points": {"kind": "weak-points", "entries": [entry]}}}).splitlines()
    shown = [next(line for line in lines if line.startswith(f" index {place} ")) for place in range(4)]
    for line, status in zip(shown, ("ok", *statuses[1:]), strict=True):
        assert line.rstrip().endswith(f"  {status}")


def test_picture_of_what_was_found_is_written(tmp_path: Path) -> None:
    found = brittle.sample("bundled:plain", "sample", "translation", count=4, budget=200)
    assert found.picture(tmp_path / "all.png") == tmp_path / "all.png"
    some = found.picture(str(tmp_path / "some.png"), images=found.ids[:1])
    whole, part = Image.open(tmp_path / "all.png"), Image.open(some)
    assert whole.width >= part.width  # as wide as the image with the most other labels
    assert whole.height > 2 * part.height
    assert np.asarray(part.convert("L")).std() > 20
    with pytest.raises(BrittleError, match="no image 99999"):
        found.picture(tmp_path / "none.png", images=[99999])
    with pytest.raises(BrittleError, match=r"\.xyz"):
        found.picture(tmp_path / "none.xyz")
