"""A benchmark generated: what is written, what is read back, how it is resumed, extended and refused."""

import errno
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from tiny_pipeline import CLASSES, DECLARED, SHIFTS, generated

import brittle
from brittle.diffusion.pipeline import load_pipeline
from brittle.diffusion.sampling import SamplingOptions, Wanted, sampled
from brittle.diffusion.weights import weights_hash
from brittle.errors import BrittleError, Failure
from brittle.images import image_set
from brittle.measures.base import Measure

pytest.importorskip("diffusers")

ROUNDED = 1.01  # of 255: pixels that differ in their last bits may be rounded apart


@pytest.fixture(scope="module")
def benchmark(tiny, tmp_path_factory):
    out = tmp_path_factory.mktemp("generated") / "benchmark"
    generated(tiny, out)
    return out


def files(folder):
    return sorted(str(each.relative_to(folder)) for each in folder.glob("*/*/*.*") if each.parts[-3] != "run")


def contents(folder):
    return {each: (folder / each).read_bytes() for each in files(folder)}


def pixels(path):
    return np.asarray(Image.open(path)).astype(float)


def test_it_is_carried_by_the_protocol_that_all_measures_have():
    """The eleven members, and no cell of a classifier, an image set or a nuisance."""
    public = {name for name in vars(Measure) if not name.startswith("_")}
    assert len(public) == 11
    assert not brittle.measures.Generate.over
    assert not brittle.measures.TrainSliders.over


def test_every_class_seed_and_scale_is_in_every_shift(benchmark):
    scales = ("0000", "0500", "1000", "1500", "2000", "2500")
    names = [f"{label:03d}_{name}" for label, name in enumerate(CLASSES)]
    assert files(benchmark) == sorted(
        f"{shift}/{name}/seed_{seed:04d}_scale_{scale}.png"
        for shift in SHIFTS
        for name in names
        for seed in (1, 2)
        for scale in scales
    )


def test_annotations_list_every_image_with_its_parameters(benchmark):
    told = json.loads((benchmark / "annotations_cns.json").read_text())
    assert list(told) == ["info", "scales", "classes", "shifts", "images"]
    assert (told["scales"], told["classes"], told["shifts"]) == ([0, 0.5, 1, 1.5, 2, 2.5], [0, 1], list(SHIFTS))
    assert [each["image"] for each in told["images"]] == files(benchmark)
    one = next(each for each in told["images"] if each["image"] == "snow/001_bag/seed_0002_scale_1500.png")
    assert one == {
        "image": "snow/001_bag/seed_0002_scale_1500.png", "seed": 2, "scale": 1.5, "shift": "snow", "class": 1,
        "class_name": "bag", "prompt": "a picture of a bag", "sliders": ["bag+snow.safetensors"],
    }  # fmt: skip
    (about,) = told["info"]["settings"]
    assert about["steps"] == 4
    assert about["active"] == 0.75
    assert len(about["weights"]) == 24
    assert "48 generated images: 2 classes, 2 shifts (fog, snow)" in (benchmark / "datasheet.md").read_text()


@pytest.mark.warned("matched by number")
def test_cns_reads_it_back_unchanged(benchmark):
    images = image_set(f"cns:{benchmark}")
    assert (len(images), list(images.shifts), images.notes, images.skipped) == (4, list(SHIFTS), (), ())
    assert images.classes == CLASSES
    batch = images.batch([0])
    assert np.array_equal(
        batch.images[0, 0].numpy() * 255, pixels(benchmark / "fog/000_shirt/seed_0001_scale_0000.png")
    )
    found = brittle.failure_points(brightness, f"cns:{benchmark}", progress=False)
    assert {row["nuisance"] for row in found["results"]} == set(SHIFTS)


def brightness(images):
    """A classifier of two classes: dark and bright."""
    bright = images.mean((1, 2, 3))
    return torch.stack([1 - bright, bright], 1).clamp(1e-3, 1)


def test_images_are_what_the_pipeline_makes_of_seed_word_and_scale(tiny, benchmark):
    from brittle.diffusion.collection import slider_file
    from brittle.diffusion.sliders import read_slider

    pipeline = load_pipeline(str(tiny / "pipeline"))
    slider, words = read_slider(slider_file(tiny / "sliders", "bag", "snow")), pipeline.embedded(["a picture of a bag"])
    for scale in (0.0, 1.5):
        made = sampled(pipeline, words, [Wanted(0, 2, (scale,))], slider, SamplingOptions(steps=4))[0, 0]
        there = pixels(benchmark / f"snow/001_bag/seed_0002_scale_{int(1000 * scale):04d}.png")
        assert np.abs(made.numpy() * 255 - there).max() < ROUNDED


def test_jpg_is_what_is_written_by_default(tiny, tmp_path):
    generated(tiny, tmp_path / "small", seeds=1, shifts="fog", scales=(1.0,), format="jpg")
    assert {each.rpartition(".")[2] for each in files(tmp_path / "small")} == {"jpg"}
    assert image_set(f"cns:{tmp_path / 'small'}").shape == (1, 32, 32)


def test_the_same_command_again_changes_nothing(tiny, benchmark):
    before = {each: (benchmark / each).stat().st_mtime_ns for each in files(benchmark)}
    generated(tiny, benchmark)
    assert {each: (benchmark / each).stat().st_mtime_ns for each in files(benchmark)} == before


def test_what_a_kill_or_a_power_cut_left_is_made_good(tiny, benchmark, tmp_path):
    """Half-written files go, also of annotations and datasheet, and pictures that lost their bytes come back."""
    out = tmp_path / "benchmark"
    shutil.copytree(benchmark, out)
    halves = [
        "annotations_cns.json.4711.tmp",
        "datasheet.md.4711.tmp",
        "fog/000_shirt/seed_0001_scale_0000.png.4711.tmp",
    ]
    for name in halves:
        (out / name).write_bytes(b"half")
    (out / "notes.tmp").write_text("mine")
    before = contents(out)
    lost = out / "fog/000_shirt/seed_0001_scale_1000.png"
    lost.write_bytes(bytes(lost.stat().st_size))
    generated(tiny, out)
    assert not [name for name in halves if (out / name).exists()]
    assert (out / "notes.tmp").read_text() == "mine"
    assert contents(out) == {name: content for name, content in before.items() if not name.endswith(".tmp")}


def test_more_seeds_and_shifts_leave_what_there_is(tiny, tmp_path, monkeypatch):
    out = tmp_path / "grown"
    generated(tiny, out, seeds=1, shifts="fog")
    before, made = contents(out), []
    images = brittle.diffusion.generator.Generator.images
    monkeypatch.setattr(
        "brittle.diffusion.generator.Generator.images",
        lambda self, wanted, *rest: made.extend(wanted) or images(self, wanted, *rest),
    )
    generated(tiny, out, seeds=2, shifts="fog/snow/fog+snow")
    after = contents(out)
    assert before.items() <= after.items()
    assert len(after) == 2 * 2 * 3 * 6
    assert len(made) == len(set(made)) == 2 * 2 * (1 + 3 * 5) - 2 * (1 + 5)  # what was there is not made again
    assert len(json.loads((out / "annotations_cns.json").read_text())["images"]) == len(after)


def test_seeds_may_begin_elsewhere_and_are_the_same_images(tiny, benchmark, tmp_path):
    """Images to learn from share no noise with those of the benchmark; seeds before the first extend what there is."""
    out = tmp_path / "later"
    generated(tiny, out, seeds=1, first_seed=2)
    assert {each.rpartition("/")[2][:9] for each in files(out)} == {"seed_0002"}
    for each in files(out):
        assert np.abs(pixels(out / each) - pixels(benchmark / each)).max() < ROUNDED
    before = contents(out)
    generated(tiny, out, seeds=2, first_seed=1)
    assert files(out) == files(benchmark)
    assert before.items() <= contents(out).items()
    with pytest.raises(BrittleError, match="there are no seeds from 1,000,000 on"):
        generated(tiny, tmp_path / "none", seeds=2, first_seed=999_999)


def test_fewer_or_other_images_are_another_run(tiny, tmp_path):
    out = tmp_path / "benchmark"
    generated(tiny, out, seeds=1)
    with pytest.raises(BrittleError, match=r"shifts: .* → .*rows of 'generate' depend on that"):
        generated(tiny, out, seeds=1, shifts="fog")
    with pytest.raises(BrittleError, match="steps: 4 → 5"):
        generated(tiny, out, seeds=1, steps=5)


def test_a_slider_that_was_trained_again_is_told_from_the_one_before(tiny, tmp_path):
    from brittle.diffusion.sliders import read_slider, write_slider

    for each in (tiny / "sliders").iterdir():
        (tmp_path / "sliders").mkdir(exist_ok=True)
        (tmp_path / "sliders" / each.name).write_bytes(each.read_bytes())
    own = {"sliders": tmp_path / "sliders", "shifts": "fog"}
    generated(tiny, tmp_path / "benchmark", seeds=1, **own)
    file = tmp_path / "sliders" / "shirt+fog.safetensors"
    other = read_slider(tmp_path / "sliders" / "bag+fog.safetensors")
    write_slider(file, other, 0, {"class": "shirt", "shift": "fog"})
    with pytest.raises(BrittleError, match="images of shirt in fog were made with another slider"):
        generated(tiny, tmp_path / "benchmark", seeds=2, **own)


def test_other_weights_of_the_pipeline_are_another_run(tiny, tmp_path):
    shutil.copytree(tiny / "pipeline", tmp_path / "pipeline")
    assert weights_hash(str(tmp_path / "pipeline")) == weights_hash(str(tiny / "pipeline"))
    options = {"classes": "shirt/bag", "seeds": 1, "steps": 2, "device": "cpu", "progress": False}
    brittle.generate(tmp_path / "pipeline", out=tmp_path / "benchmark", **options)
    own = load_pipeline(str(tmp_path / "pipeline"))
    next(own.unet.parameters()).add_(1)
    own.parts.save_pretrained(tmp_path / "pipeline")
    with pytest.raises(BrittleError, match=r"generate\.weights: "):
        brittle.generate(tmp_path / "pipeline", out=tmp_path / "benchmark", **options)


def test_progress_counts_passes_and_not_images(tiny, tmp_path, monkeypatch):
    """Of which an image takes many; classifiers are shown images."""
    from brittle.progress import ProgressBar, ProgressLines

    said, clock = [], iter(range(0, 10_000, 100))
    lines = ProgressLines(said.append, clock=lambda: next(clock))
    bar = ProgressBar()
    monkeypatch.setattr(bar, "_lines", lines)
    options = {"classes": ("shirt", "bag"), "seeds": 1, "steps": 3}
    brittle.generate(tiny / "pipeline", out=tmp_path / "plain", device="cpu", progress=bar, **options)
    assert said[-1].startswith("6 of 6 passes (100%)")
    assert lines.counted == "passes"


def test_without_sliders_there_is_scale_0_alone(tiny, tmp_path):
    generated(tiny, tmp_path / "plain", sliders=None, seeds=1)
    assert files(tmp_path / "plain") == [f"none/{name}/seed_0001_scale_0000.png" for name in ("000_shirt", "001_bag")]


KILLED = """
import sys
import brittle
from brittle.measures import Generate
Generate.calls = lambda self, unit: 2048  # each unit is a piece of work
brittle.generate(
    sys.argv[1] + "/pipeline", classes="shirt/bag", sliders=sys.argv[1] + "/sliders", seeds=8, steps=6, format="png",
    out=sys.argv[2], device="cpu", progress=False,
)
"""


@pytest.mark.slow
def test_a_killed_generation_resumes_without_a_hole_or_a_duplicate(tiny, tmp_path):
    """`kill -9` once some units are stored, and once more while files are written."""
    out = tmp_path / "benchmark"
    kills = 0
    for what in ("run/units/**/*.parquet", "*/*/*.png"):
        process = subprocess.Popen([sys.executable, "-c", DECLARED + KILLED, str(tiny), str(out)])
        while process.poll() is None and not any(out.glob(what)):
            time.sleep(0.005)
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
            kills += 1
        process.wait()
    assert kills == 2
    assert not (out / "annotations_cns.json").exists()
    subprocess.run([sys.executable, "-c", DECLARED + KILLED, str(tiny), str(out)], check=True)
    found = brittle.rows(out / "run").to_pylist()
    keys = [(row["label"], row["seed"], row["shift"], row["scale"]) for row in found]
    scales = [("", 0.0), *((shift, scale) for shift in SHIFTS for scale in (0.5, 1.0, 1.5, 2.0, 2.5))]
    assert sorted(keys) == sorted((label, seed, *each) for label in (0, 1) for seed in range(1, 9) for each in scales)
    assert len(files(out)) == 2 * 2 * 8 * 6
    assert not list(out.rglob("*.tmp"))
    whole = tmp_path / "whole"
    subprocess.run([sys.executable, "-c", DECLARED + KILLED, str(tiny), str(whole)], check=True)
    assert files(whole) == files(out)
    worst = max(np.abs(pixels(out / each) - pixels(whole / each)).max() for each in files(out)[::7])
    assert worst < ROUNDED


def test_a_run_that_stops_in_the_middle_is_taken_up_again(tiny, tmp_path, monkeypatch):
    """The same without a process of its own: the third piece of work fails, and what is stored stays."""
    from brittle.measures.generate.measure import Generate

    evaluate, pieces = Generate.evaluate, []

    def failing(self, task):
        pieces.append([each.unit for each in task.pieces])
        if len(pieces) == 3:
            raise KeyboardInterrupt
        return evaluate(self, task)

    monkeypatch.setattr(Generate, "evaluate", failing)
    monkeypatch.setattr(Generate, "calls", lambda self, unit: 2048)  # each unit is a piece
    with pytest.raises(KeyboardInterrupt):
        generated(tiny, tmp_path / "benchmark", seeds=3)
    first = list(itertools.chain(*pieces[:2]))
    generated(tiny, tmp_path / "benchmark", seeds=3)
    done = first + list(itertools.chain(*pieces[3:]))
    assert sorted(done) == list(range(2 * 3 * 3))
    assert len(files(tmp_path / "benchmark")) == 2 * 2 * 3 * 6


@pytest.mark.slow
def test_workers_on_ray_make_the_same_images(tiny, benchmark, tmp_path):
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(DECLARED)
    path = os.pathsep.join(filter(None, (str(tmp_path / "site"), os.environ.get("PYTHONPATH", ""))))
    code = f"""
import brittle
if __name__ == "__main__":
    brittle.generate(
        {str(tiny / "pipeline")!r}, classes="shirt/bag", sliders={str(tiny / "sliders")!r}, seeds=2, steps=4,
        format="png", out={str(tmp_path / "benchmark")!r}, device="cpu", engine="ray", workers=2, progress=False,
    )
"""
    subprocess.run([sys.executable, "-c", code], check=True, env=os.environ | {"PYTHONPATH": path})
    assert files(tmp_path / "benchmark") == files(benchmark)
    for each in files(benchmark):
        assert np.abs(pixels(tmp_path / "benchmark" / each) - pixels(benchmark / each)).max() < ROUNDED


def test_a_study_asks_for_it_without_classifiers_and_images(tiny, tmp_path):
    (tmp_path / "study.toml").write_text(
        f"""
        [generate]
        pipeline = "{tiny / "pipeline"}"
        classes = ["shirt", "bag"]
        sliders = "{tiny / "sliders"}"
        seeds = 1
        steps = 2
        scales = [1.0]
        folder = "{tmp_path / "benchmark"}"
        """
    )
    found = brittle.run(tmp_path / "study.toml", out=tmp_path / "run", progress=False)
    assert found.of("generate")["images"] == 2 * (1 + 2)
    assert len(files(tmp_path / "benchmark")) == 2 * 2 * 2
    with pytest.raises(BrittleError, match="'classifiers' is missing"):
        brittle.run({"measures": {"clean": {"kind": "clean"}}}, progress=False)


WRONG = {
    "no pipeline": ({"pipeline": None}, "no pipeline is named"),
    "a pipeline that is not there": ({"pipeline": "/nowhere/at/all"}, "there is no folder /nowhere/at/all"),
    "no classes": ({"classes": ()}, "no classes are named"),
    "a class twice": ({"classes": ("shirt", "Shirt")}, "the class 'shirt' is named twice"),
    "an unknown word": ({"classes": "shirt/zebra", "sliders": None}, "knows no word 'zebra', of the prompt"),
    "a shift without a slider": ({"shifts": "fog/rain"}, "has no slider for shirt in rain, bag in rain"),
    "no sliders": ({"sliders": None, "shifts": "fog"}, "there are no sliders for fog"),
    "a folder without sliders": ({"sliders": "{tmp}", "shifts": "fog"}, "holds no sliders"),
    "a folder without words": ({"tokens": "{tmp}"}, "holds no tokens"),
    "labels that do not fit": ({"labels": (1, 1)}, "there are 2 classes and the labels 1, 1"),
    "scales that fall": ({"scales": (1.0, 0.5)}, "the scales 1.0, 0.5 do not rise"),
    "a template without a class": ({"template": "a picture"}, "has no {class}"),
    "too many steps": ({"steps": 5000}, "5000 noise steps are not possible"),
    "no folder": ({"out": None}, "no folder is named to write into"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_wrong_is_said_in_one_line(wrong, tiny, tmp_path):
    options, said = WRONG[wrong]
    own = {key: str(tmp_path) if value == "{tmp}" else value for key, value in options.items()}
    given = {"out": tmp_path / "benchmark", **own}
    pipeline = given.pop("pipeline", tiny / "pipeline")
    with pytest.raises(BrittleError, match=said) as raised:
        brittle.generate(
            pipeline, **{"classes": "/".join(CLASSES), "sliders": tiny / "sliders", "seeds": 1, "steps": 2, **given},
            device="cpu", progress=False,
        )  # fmt: skip
    assert "\n" not in str(raised.value)


def test_an_unknown_word_is_refused_before_anything_is_made_or_told(tiny, tmp_path):
    """Also that of the last class, and where only the cost is asked for."""
    options = {"classes": "shirt/bag/zebra", "device": "cpu"}
    with pytest.raises(BrittleError, match="knows no word 'zebra'"):
        brittle.generation_cost(pipeline=tiny / "pipeline", **options)
    with pytest.raises(BrittleError, match="knows no word 'zebra'"):
        brittle.generate(tiny / "pipeline", out=tmp_path / "benchmark", progress=False, **options)
    assert not (tmp_path / "benchmark").exists()


def test_a_missing_weight_is_said_in_one_line(tiny, tmp_path):
    shutil.copytree(tiny / "pipeline", tmp_path / "pipeline")
    next((tmp_path / "pipeline" / "unet").glob("*.safetensors")).unlink()
    with pytest.raises(BrittleError, match=r"has no weights in unet/\*\.safetensors"):
        brittle.generate(tmp_path / "pipeline", classes="shirt/bag", out=tmp_path / "b", device="cpu", progress=False)


@pytest.mark.parametrize("package", ["diffusers", "transformers"])
def test_a_missing_package_is_said_in_one_line(package, tiny, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(BrittleError, match=rf"needs the package '?{package}'?.*pip install .*\[generate\]"):
        generated(tiny, tmp_path / "benchmark")


def test_a_full_disk_is_said_in_one_line_and_what_is_finished_is_kept(tiny, tmp_path, monkeypatch):
    write, written = Path.write_bytes, []

    def full(self, content):
        if ".png." in self.name:
            written.append(self)
            if len(written) > 5:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(self, content)

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(Failure, match=r"the disk is full: .*what is finished is kept") as raised:
        generated(tiny, tmp_path / "benchmark")
    assert "\n" not in str(raised.value)
    assert len(files(tmp_path / "benchmark")) == 5
    monkeypatch.setattr(Path, "write_bytes", write)
    monkeypatch.setattr("brittle.diffusion.generator.Generator.images", lambda *_: pytest.fail("made again"))
    generated(tiny, tmp_path / "benchmark")
    assert len(files(tmp_path / "benchmark")) == 48


def test_what_it_costs_follows_from_the_options_and_a_measured_rate(tiny):
    cost = brittle.generation_cost(
        pipeline=tiny / "pipeline",
        classes="shirt/bag",
        sliders=tiny / "sliders",
        seeds=10,
        steps=8,
        guidance=3.0,
        device="cpu",
    )
    images = 2 * 10 * (1 + 2 * 5)
    late = 6  # of 8 steps, which are 2 passes each under guidance
    assert (cost.images, cost.files) == (images, 2 * 10 * 2 * 6)
    assert cost.passes == 2 * (2 * 10 * 8 + 2 * 10 * 2 * 5 * late)
    seconds = cost.passes / cost.passes_per_second + cost.images / cost.images_per_second
    assert cost.hours == pytest.approx(seconds / 3600)
    assert str(cost).startswith("220 images (240 files), 2,720 passes of the denoiser: ")


def test_the_cost_is_as_many_passes_as_are_made(tiny, tmp_path, monkeypatch):
    from brittle.diffusion.pipeline import TextToImage

    cost, passes = brittle.generation_cost(
        pipeline=tiny / "pipeline", classes="shirt/bag", sliders=tiny / "sliders", seeds=2, steps=4, device="cpu"
    ), []  # fmt: skip
    predicted = TextToImage.predicted
    monkeypatch.setattr(
        TextToImage,
        "predicted",
        lambda self, latents, *rest: passes.append(len(latents)) or predicted(self, latents, *rest),
    )
    monkeypatch.setattr("brittle.generation.cost.generation_cost", lambda *_: "")  # which makes passes of its own
    brittle.diffusion.generator._loaded.cache_clear()
    generated(tiny, tmp_path / "benchmark")
    assert sum(passes) == cost.passes
