"""Sliders and words trained as units of a run, and the three commands one after the other."""

import json

import numpy as np
import pytest
import torch
from tiny_pipeline import CLASSES, SHIFTS

import brittle
from brittle.diffusion.collection import sliders_in
from brittle.diffusion.sliders import read_slider
from brittle.diffusion.tokens import tokens_in
from brittle.errors import BrittleError

diffusers = pytest.importorskip("diffusers")

QUICK = {"training_steps": 3, "batch": 2, "device": "cpu", "progress": False}


def trained(tiny, out, **options):
    given = {"classes": "/".join(CLASSES), "shifts": "/".join(SHIFTS), "rank": 2, "pool": 2, "steps": 2, **QUICK}
    return brittle.train_sliders(tiny / "pipeline", out=out, **{**given, **options})


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    """Pictures of two classes, smaller than the pipeline's, and by whose name."""
    folder = tmp_path_factory.mktemp("photos")
    from PIL import Image

    generator = np.random.default_rng(0)
    for name in CLASSES:
        (folder / name).mkdir()
        for place in range(3):
            Image.fromarray(generator.integers(0, 256, (28, 28), dtype=np.uint8)).save(folder / name / f"{place}.png")
    return folder


def test_every_class_and_shift_gets_a_file_that_plain_diffusers_loads(tiny, tmp_path):
    found = trained(tiny, tmp_path / "sliders")
    there = sliders_in(tmp_path / "sliders")
    assert sorted(there) == sorted((name, shift) for name in CLASSES for shift in SHIFTS)
    assert [(row["class"], row["shift"]) for row in found["results"]] == [(c, s) for c in CLASSES for s in SHIFTS]
    assert all(np.isfinite(row["loss"]) for row in found["results"])
    parts = diffusers.StableDiffusionPipeline.from_pretrained(tiny / "pipeline", use_safetensors=True)
    parts.load_lora_weights(str(there["shirt", "fog"]), adapter_name="fog")
    assert parts.get_active_adapters() == ["fog"]


def test_more_shifts_extend_a_training_and_leave_what_there_is(tiny, tmp_path, monkeypatch):
    from brittle.measures.train_sliders import measure

    asked, train = [], measure.train_sliders
    monkeypatch.setattr(
        measure,
        "train_sliders",
        lambda pipeline, tasks, *rest, **more: (
            asked.extend(each.name for each in tasks) or train(pipeline, tasks, *rest, **more)
        ),
    )
    trained(tiny, tmp_path / "sliders", shifts="fog")
    before = {each: each.read_bytes() for each in (tmp_path / "sliders").glob("*.safetensors")}
    trained(tiny, tmp_path / "sliders")
    assert asked == ["shirt in fog", "bag in fog", "shirt in snow", "bag in snow"]
    assert all(each.read_bytes() == content for each, content in before.items())
    assert len(sliders_in(tmp_path / "sliders")) == 4


def test_sliders_do_not_depend_on_how_many_are_trained_side_by_side(tiny, tmp_path):
    trained(tiny, tmp_path / "one", together=1)
    trained(tiny, tmp_path / "four", together=4)
    for pair, file in sliders_in(tmp_path / "one").items():
        one, four = read_slider(file), read_slider(sliders_in(tmp_path / "four")[pair])
        for name, low in one.layers.items():
            assert torch.allclose(low.up, four.layers[name].up, atol=1e-5)


def test_training_that_was_killed_goes_on_within_a_slider(tiny, tmp_path, monkeypatch):
    """What is half trained lies in `state`, and goes when the slider is done, as do files that were half written."""
    from brittle.diffusion import train_sliders as module

    kept = []
    monkeypatch.setattr(module.Lesson, "step", _stopping(module.Lesson.step, kept))
    monkeypatch.setattr(module.train_sliders, "__kwdefaults__", module.train_sliders.__kwdefaults__ | {"every": 1})
    options = {"classes": ("shirt",), "shifts": "fog"}
    with pytest.raises(KeyboardInterrupt):
        trained(tiny, tmp_path / "sliders", **options)
    (state,) = (tmp_path / "sliders" / "state").glob("*.pt")
    for half in (f"state/{state.name}.4711.tmp", "shirt+fog.safetensors.4711.tmp", "mine.tmp"):
        (tmp_path / "sliders" / half).write_bytes(b"half")
    trained(tiny, tmp_path / "sliders", **options)
    assert kept == [0, 1, 2, 2]
    assert not list((tmp_path / "sliders" / "state").glob("*"))
    assert [each.name for each in (tmp_path / "sliders").glob("*.tmp")] == ["mine.tmp"]


def _stopping(step, kept):
    def stopping(self, sliders, number):
        kept.append(number)
        if kept == [0, 1, 2]:
            raise KeyboardInterrupt
        return step(self, sliders, number)

    return stopping


def test_a_word_is_learned_for_every_class(tiny, photos, tmp_path):
    found = brittle.train_tokens(tiny / "pipeline", images=photos, out=tmp_path / "words", fit="pad", **QUICK)
    there = tokens_in(tmp_path / "words")
    assert {name: each.token for name, each in there.items()} == {"shirt": "<shirt>", "bag": "<bag>"}
    assert {row["class"]: row["token"] for row in found["results"]} == {"shirt": "<shirt>", "bag": "<bag>"}
    parts = diffusers.StableDiffusionPipeline.from_pretrained(tiny / "pipeline", use_safetensors=True)
    parts.load_textual_inversion(str(tmp_path / "words"), weight_name="shirt.safetensors")
    assert "<shirt>" in parts.tokenizer.get_vocab()


def test_words_sliders_and_images_by_three_commands(tiny, photos, tmp_path, cli):
    pipeline, classes = tiny / "pipeline", "/".join(CLASSES)
    device = ("--device", "cpu")
    quick = ("--training-steps", 2, "--batch", 2, *device)
    words, sliders, out = tmp_path / "words", tmp_path / "sliders", tmp_path / "benchmark"
    said = cli("train-tokens", pipeline, "--images", f"folder:{photos}", "--fit", "pad", *quick, "--out", words)
    assert (said.status, "2 words in" in said.out) == (0, True), said
    asked = ("--classes", classes, "--tokens", words, "--steps", 2)
    said = cli("train-sliders", pipeline, *asked, "--shifts", "fog", "--pool", 2, *quick, "--out", sliders)
    assert (said.status, "2 sliders in" in said.out) == (0, True), said
    asked = (pipeline, *asked, "--sliders", sliders, "--seeds", 1, "--scales", "0.5/1", *device)
    cost = cli("generate", *asked, "--cost", "--json").json
    assert (cost["images"], cost["files"]) == (6, 6)
    assert not out.exists()
    said = cli("generate", *asked, "--out", out, "--json")
    assert said.json["images"] == 6
    assert "6 images (6 files), " in said.err
    told = json.loads((out / "annotations_cns.json").read_text())
    assert {each["prompt"] for each in told["images"]} == {"a picture of a <shirt>", "a picture of a <bag>"}
    assert cli("generate", *asked, "--out", out).status == 0
    assert "has no word for zebra" in cli(
        "generate", pipeline, "--classes", "zebra/shirt", "--tokens", words, "--out", tmp_path / "other", *device
    ).complaint(2)


WRONG = {
    "no shifts": ({"shifts": ()}, "no shifts are named"),
    "an unknown word": ({"shifts": "hail"}, "knows no word 'hail'"),
    "a template without a shift": ({"shifted_template": "a {class}"}, r"has no \{shift\}"),
    "no folder": ({"out": None}, "no folder is named"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_wrong_with_a_training_is_said_in_one_line(wrong, tiny, tmp_path):
    options, said = WRONG[wrong]
    with pytest.raises(BrittleError, match=said) as raised:
        trained(tiny, **{"out": tmp_path / "sliders", **options})
    assert "\n" not in str(raised.value)


def test_an_unknown_word_of_the_last_shift_is_refused_before_the_first_is_trained(tiny, tmp_path, monkeypatch):
    from brittle.measures.train_sliders import measure

    monkeypatch.setattr(measure, "train_sliders", lambda *_, **__: pytest.fail("trained"))
    with pytest.raises(BrittleError, match="knows no word 'hail'"):
        trained(tiny, tmp_path / "sliders", shifts="fog/snow/hail", together=1)


def test_images_without_labels_teach_no_word(tiny, tmp_path):
    with pytest.raises(BrittleError, match="a word is learned from the images of its class"):
        brittle.train_tokens(tiny / "pipeline", images=np.zeros((3, 28, 28), np.uint8), out=tmp_path / "words", **QUICK)
