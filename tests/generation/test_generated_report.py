"""What a report shows of generated images and of what was trained for them: the dial, its pictures, and losses."""

import errno
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tiny_pipeline import CLASSES, SHIFTS, generated

import brittle
from brittle.errors import BrittleError, Failure
from brittle.report.html import write_as, write_report
from brittle.report.page.pictures import from_uri
from brittle.report.renderers.html import groups_in
from brittle.report.renderers.json import from_json
from brittle.report.renderers.resolve import pictures_of
from brittle.report.sections.generated import dial
from brittle.report.sections.generated.losses import loss_figure

pytest.importorskip("diffusers")

SCALES = (0.5, 1.0, 1.5, 2.0, 2.5)
QUICK = {"training_steps": 3, "batch": 2, "rank": 2, "pool": 2, "steps": 2, "device": "cpu", "progress": False}


@pytest.fixture(scope="module")
def made(tiny, tmp_path_factory):
    out = tmp_path_factory.mktemp("reported") / "benchmark"
    return generated(tiny, out, seeds=3), out


def blocks(folder):
    (measure,) = from_json(write_as(folder / "run", "json").read_text()).measures
    return measure.blocks


def strips(folder):
    """Shift → its strips."""
    return {
        each.title: each.blocks[0].strips
        for each in groups_in(blocks(folder))
        if each.title in (*SHIFTS, "Scale 0") and each.blocks
    }


def pixels(path):
    return np.asarray(Image.open(path)).astype(float) / 255


def test_a_report_shows_every_shift_from_scale_0_to_the_last(made):
    _, out = made
    found = strips(out)
    assert list(found) == list(SHIFTS)
    for shift, rows in found.items():
        assert [row.cards[0].beneath for row in rows] == [f"{name}, seed {seed}" for name in CLASSES for seed in (1, 2)]
        for row in rows:
            assert [card.caption for card in row.cards] == ["0", "0.5", "1", "1.5", "2", "2.5"]
        place = {name: f"{label:03d}_{name}" for label, name in enumerate(CLASSES)}
        for scale, card in zip((0, *SCALES), rows[-1].cards, strict=True):
            file = out / shift / place["bag"] / f"seed_0002_scale_{round(1000 * scale):04d}.png"
            assert np.array_equal(from_uri(card.source.uri) / 255, pixels(file))
            assert card.alt == f"bag, seed 2, {shift}, scale {scale:g}"


def test_the_change_is_that_of_the_files(made):
    """Over all classes and seeds, where these are few; and beneath every picture that of its own."""
    said, out = made
    for row in said["results"][1:]:
        for each in row["changes"][1:]:
            scale = f"{round(1000 * each['scale']):04d}"
            moved = [
                np.abs(pixels(file) - pixels(file.with_name(file.name.replace(f"scale_{scale}", "scale_0000")))).mean()
                for file in sorted((out / row["shift"]).glob(f"*/*_scale_{scale}.png"))
            ]
            assert (each["pairs"], each["change"]) == (6, pytest.approx(np.mean(moved), abs=1e-12))
            assert each["change_interval"][0] <= each["change"] <= each["change_interval"][1]
    card = strips(out)["fog"][0].cards[-1]
    first, last = (out / "fog" / "000_shirt" / f"seed_0001_scale_{scale}.png" for scale in ("0000", "2500"))
    assert card.beneath[0].value == pytest.approx(np.abs(pixels(last) - pixels(first)).mean(), abs=1e-12)


def test_console_page_and_findings_say_how_far_a_shift_goes(made):
    said, out = made
    last = said["results"][1]["changes"][-1]["change"]
    assert f"{100 * last:.1f} %" in repr(said)
    assert "change of pixels at scale 2.5" in repr(said)
    document = from_json(write_as(out / "run", "json").read_text())
    assert "66 images" in document.top[0].text
    assert "at scale 2.5" in document.top[0].text
    page = (out / "run" / "report.html").read_text()
    assert page.count("<img src=") >= 2 * 4 * 6
    assert len(page) < 2_000_000


def test_a_slider_that_does_nothing_is_seen_by_its_change(tiny, tmp_path):
    from brittle.diffusion.collection import keep_slider
    from brittle.diffusion.pipeline import load_pipeline
    from brittle.diffusion.sliders import fresh_sliders

    nothing = fresh_sliders(load_pipeline(str(tiny / "pipeline")).unet, ["shirt in fog"], 2, [0])
    keep_slider(tmp_path / "sliders", "shirt", "fog", nothing, 0, {})
    said = generated(tiny, tmp_path / "benchmark", sliders=tmp_path / "sliders", classes=("shirt",), seeds=2)
    assert [each["change"] for each in said["results"][1]["changes"]] == [0.0] * 6


def test_a_page_stays_small_however_much_is_generated(tiny, tmp_path, monkeypatch):
    """A few classes, seeds, shifts and scales stand for all, and the page says so."""
    scales = tuple(round(0.1 * step, 1) for step in range(1, 11))
    generated(tiny, tmp_path / "benchmark", seeds=1, steps=1, scales=scales, shifts="fog/snow/fog+snow")
    monkeypatch.setattr(dial, "MOST_PICTURES", 2 * dial.MOST_SCALES)
    monkeypatch.setattr(dial, "MOST_SHIFTS", 2)
    found = [each for each in groups_in(blocks(tmp_path / "benchmark")) if each.title in ("fog", "snow")]
    assert [len(each.blocks[0].strips) for each in found] == [1, 1]
    captions = [card.caption for card in found[0].blocks[0].strips[0].cards]
    assert captions[0] == "0"
    assert captions[-1] == "1"
    assert len(captions) == dial.MOST_SCALES
    (group,) = (each for each in groups_in(blocks(tmp_path / "benchmark")) if each.title == "Images along the scale")
    assert group.blocks[0].text.startswith("shirt, 1 of 2 classes, by seed 1, and 2 of 3 shifts.")


def test_scale_0_alone_is_shown_too(tiny, tmp_path):
    said = generated(tiny, tmp_path / "plain", sliders=None, seeds=1)
    assert [len(row.cards) for row in strips(tmp_path / "plain")["Scale 0"]] == [1, 1]
    assert "change of pixels" not in repr(said)


def test_a_report_is_there_without_the_pipeline_and_the_sliders(tiny, tmp_path):
    """Pictures are the run's own."""
    for each in ("pipeline", "sliders"):
        shutil.copytree(tiny / each, tmp_path / each)
    generated(tmp_path, tmp_path / "benchmark", seeds=1)
    before = strips(tmp_path / "benchmark")
    for each in ("pipeline", "sliders"):
        shutil.rmtree(tmp_path / each)
    (tmp_path / "benchmark" / "run" / "report.html").unlink()
    write_report(tmp_path / "benchmark" / "run")
    assert strips(tmp_path / "benchmark") == before
    write_report(tmp_path / "benchmark" / "run", nothing_loaded=True)
    assert strips(tmp_path / "benchmark") == before


def trained(tiny, out, **options):
    given = {"classes": CLASSES, "shifts": "fog", **QUICK}
    return brittle.train_sliders(tiny / "pipeline", out=out, **{**given, **options})


def test_a_training_shows_what_was_trained_and_how_its_losses_fell(tiny, tmp_path):
    said = trained(tiny, tmp_path / "sliders")
    (figure,) = (each for each in blocks(tmp_path / "sliders") if each.type == "Figure")
    curves = {line.of.text: line for line in figure.panels[0].marks}
    assert list(curves) == ["shirt in fog", "bag in fog"]
    for row in said["results"]:
        line = curves[f"{row['class']} in {row['shift']}"]
        assert line.x == (1, 2, 3)
        assert (line.y[0], line.y[-1]) == (row["loss_first"], row["loss"])
    assert "target direction, η 1, rank 2" in repr(said)
    assert said["settings"]["training_steps"] == 3


def test_losses_before_an_interruption_are_kept(tiny, tmp_path, monkeypatch):
    from brittle.diffusion import train_sliders as module

    trained(tiny, tmp_path / "whole", classes=("shirt",))
    step, seen = module.Lesson.step, []

    def stopping(self, sliders, number):
        seen.append(number)
        if seen == [0, 1, 2]:
            raise KeyboardInterrupt
        return step(self, sliders, number)

    monkeypatch.setattr(module.Lesson, "step", stopping)
    monkeypatch.setattr(module.train_sliders, "__kwdefaults__", module.train_sliders.__kwdefaults__ | {"every": 1})
    with pytest.raises(KeyboardInterrupt):
        trained(tiny, tmp_path / "resumed", classes=("shirt",))
    trained(tiny, tmp_path / "resumed", classes=("shirt",))
    found = [
        next(each for each in blocks(tmp_path / name) if each.type == "Figure").panels[0].marks[0].y
        for name in ("whole", "resumed")
    ]
    assert found[1] == pytest.approx(found[0], rel=1e-5)


def test_a_full_disk_in_the_middle_of_a_slider_is_said_in_one_line(tiny, tmp_path, monkeypatch):
    from brittle.diffusion.train_sliders import train_sliders

    write = Path.write_bytes

    def full(self, content):
        if ".pt." in self.name:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(self, content)

    monkeypatch.setattr(Path, "write_bytes", full)
    monkeypatch.setattr(train_sliders, "__kwdefaults__", train_sliders.__kwdefaults__ | {"every": 1})
    with pytest.raises(Failure, match=r"the disk is full: .*\.pt can't be written") as raised:
        trained(tiny, tmp_path / "sliders", classes=("shirt",))
    assert "\n" not in str(raised.value)


def test_a_damaged_state_is_said_in_one_line(tiny, tmp_path):
    trained(tiny, tmp_path / "sliders", classes=("shirt",))
    from brittle.diffusion.options import SliderOptions
    from brittle.diffusion.pipeline import load_pipeline
    from brittle.diffusion.train_sliders import SliderTask, train_sliders

    (tmp_path / "state.pt").write_bytes(b"nothing")
    task = SliderTask("shirt in fog", "a picture of a shirt", "a picture of a shirt in fog")
    with pytest.raises(BrittleError, match=r"state.pt can't be read, from which training would resume"):
        train_sliders(
            load_pipeline(str(tiny / "pipeline")), [task], {}, SliderOptions(rank=2), state=tmp_path / "state.pt"
        )


def test_of_many_curves_the_middle_is_drawn():
    curves = {f"{place}": [(1, 1.0 + place), (2, 0.01 + place)] for place in range(21)}
    figure = loss_figure(curves, "sliders")
    band, line = figure.panels[0].marks
    assert line.y == (11.0, 10.01)
    assert band.low == pytest.approx((2.0, 1.01))
    assert band.high == pytest.approx((20.0, 19.01))
    assert "The median of 21 sliders" in figure.reading


def test_the_pictures_of_a_generation_take_part_in_no_other_block(made):
    """They are shown as they are stored: nothing is made again, and no classifier is asked."""
    _, out = made
    every = [card for each in pictures_of(blocks(out)) for row in each.strips for card in row.cards]
    assert {card.source.type for card in every} == {"Pixels"}
