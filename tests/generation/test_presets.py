"""The paper's settings as data, held against what the paper says of them."""

import pytest

from brittle.errors import BrittleError
from brittle.generation.cost import counted
from brittle.measures import Generate, TrainSliders, measures
from brittle.measures.generate.options import PRESETS
from brittle.measures.generate.presets import about_presets, imagenet_names, preset


def test_the_benchmark_has_as_many_images_as_the_papers_420000():
    cost = counted(Generate(preset="cns-bench", sliders=None), "cpu")
    assert cost.files == 420_000  # appendix B: "Originally, 420,000 images were generated"
    assert cost.images == 100 * 50 * (1 + 14 * 5)  # scale 0 is made once for all shifts
    assert cost.passes == 2 * (100 * 50 * 100 + 100 * 50 * 14 * 5 * 75)  # two each, by guidance


def test_its_settings_are_those_of_the_paper():
    found = Generate(preset="cns-bench")
    assert (found.steps, found.guidance, found.sampler, found.active) == (100, 7.5, "ddim", 0.75)
    assert (found.seeds, found.scales) == (50, (0.5, 1.0, 1.5, 2.0, 2.5))
    assert (len(found.classes), len(found.shifts)) == (100, 14)
    assert {"heavy snow", "cartoon style", "style of a tattoo", "design of sculpture"} <= set(found.shifts)
    names = imagenet_names()
    assert all(names[label] == name for label, name in zip(found.labels, found.classes, strict=True))


def test_ood_cv_has_ten_classes_and_scales_up_to_3_for_longer():
    found = Generate(preset="ood-cv")
    assert (found.active, max(found.scales), len(found.classes)) == (0.85, 3.0, 10)
    assert (found.steps, found.guidance) == (100, 7.5)
    assert len(found.shifts) == 3


@pytest.mark.parametrize(("name", "classes"), [("few-classes", 100), ("all-classes", 1000)])
def test_the_ablation_uses_unipc_with_20_steps(name, classes):
    found = Generate(preset=name)
    assert (found.steps, found.sampler, len(found.classes)) == (20, "unipc", classes)
    assert found.shifts == ("heavy snow", "cartoon style")


def test_what_is_given_comes_before_a_preset():
    found = Generate(preset="cns-bench", classes="goldfish/tench", seeds=3, guidance=1.0)
    assert (found.classes, found.labels, found.seeds, found.guidance) == (("goldfish", "tench"), (0, 1), 3, 1.0)
    assert found.steps == 100


def test_sliders_are_trained_for_a_presets_classes_and_shifts():
    found = TrainSliders(preset="cns-bench")
    assert len(found.classes) * len(found.shifts) == 1400  # appendix A.7.3
    assert found.guidance == 7.5


def test_every_preset_is_known_and_says_what_it_is_for():
    assert tuple(about_presets()) == PRESETS
    assert all(preset(name)["pipeline"] for name in PRESETS)
    with pytest.raises(BrittleError, match="preset"):
        measures.make("generate", {"preset": "cns"})


def test_imagenets_classes_have_names_of_their_own():
    assert len(set(imagenet_names())) == 1000
