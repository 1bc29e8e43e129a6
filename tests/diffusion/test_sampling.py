"""Images of prompts, seeds and scales, beside plain diffusers and peft."""

import pytest
import torch
from tiny_pipeline import CLASSES

from brittle.diffusion.collection import slider_file, sliders_in
from brittle.diffusion.pipeline import load_pipeline
from brittle.diffusion.sampling import SamplingOptions, Wanted, late_steps, sampled
from brittle.diffusion.sliders import Dial, LowRank, Sliders, applied, joined, read_slider
from brittle.diffusion.tokens import load_tokens, write_token

diffusers = pytest.importorskip("diffusers")

STEPS = 6
BATCHED = 2e-5  # of pixels in [0, 1]: what the order of sums in a batch may change
PROMPT = "a picture of a shirt"


@pytest.fixture(scope="module")
def pipeline(tiny):
    return load_pipeline(str(tiny / "pipeline"))


@pytest.fixture(scope="module")
def sliders(tiny):
    """Those of a shirt in fog and in snow."""
    return joined([read_slider(slider_file(tiny / "sliders", "shirt", shift)) for shift in ("fog", "snow")])


@pytest.fixture(scope="module")
def words(pipeline):
    return pipeline.embedded([f"a picture of a {name}" for name in CLASSES])


def made(pipeline, words, wanted, sliders=None, **options):
    return sampled(pipeline, words, wanted, sliders, SamplingOptions(**{"steps": STEPS, **options}))


def plain(folder, seed, files=(), scales=(), **options):
    """The image that diffusers makes with peft's adapters, by itself."""
    parts = diffusers.StableDiffusionPipeline.from_pretrained(folder, use_safetensors=True)
    parts.set_progress_bar_config(disable=True)
    for place, file in enumerate(files):
        parts.load_lora_weights(str(file), adapter_name=f"own{place}")
    if files:
        parts.set_adapters([f"own{place}" for place in range(len(files))], list(scales))
    generator = torch.Generator().manual_seed(seed)
    options = {"num_inference_steps": STEPS, "guidance_scale": 1.0} | options
    found = parts([PROMPT], generator=generator, output_type="pt", **options).images
    return found[0]


@pytest.mark.parametrize("sampler", ["own", "ddim", "unipc"])
@pytest.mark.parametrize("guidance", [1.0, 3.0])
def test_scale_0_with_an_adapter_is_the_image_without_it_bit_for_bit(pipeline, words, sliders, sampler, guidance):
    options = {"sampler": sampler, "guidance": guidance}
    without = made(pipeline, words, [Wanted(0, 1, ()), Wanted(1, 2, ())], **options)
    at_0 = made(pipeline, words, [Wanted(0, 1, (0.0, 0.0)), Wanted(1, 2, (0.0, 0.0))], sliders, **options)
    assert torch.equal(at_0, without)


def test_scale_0_is_the_same_bit_for_bit_beside_images_at_other_scales(pipeline, words, sliders):
    scales = [(0.0, 0.0), (1.0, 0.0)]
    beside = made(pipeline, words, [Wanted(0, 1, each) for each in scales], sliders, images_at_once=1)[0]
    assert torch.equal(beside, made(pipeline, words, [Wanted(0, 1, ())], images_at_once=1)[0])


@pytest.mark.parametrize("guidance", [1.0, 3.0])
def test_images_are_those_of_plain_diffusers(tiny, pipeline, words, guidance):
    ours = made(pipeline, words, [Wanted(0, 7, ())], guidance=guidance)[0]
    assert torch.allclose(ours, plain(tiny / "pipeline", 7, guidance_scale=guidance), atol=BATCHED)


def test_a_slider_is_that_of_plain_diffusers_and_peft(tiny, pipeline, words, sliders):
    """Active in all steps, which is all that plain diffusers does."""
    file = slider_file(tiny / "sliders", "shirt", "fog")
    ours = made(pipeline, words, [Wanted(0, 3, (1.5, 0.0))], sliders, active=1.0)[0]
    theirs = plain(tiny / "pipeline", 3, [file], [1.5])
    assert torch.allclose(ours, theirs, atol=BATCHED)
    assert not torch.allclose(ours, plain(tiny / "pipeline", 3), atol=1e-3)


def test_two_sliders_add_as_peft_adds_them(tiny, pipeline, words, sliders):
    files = [slider_file(tiny / "sliders", "shirt", shift) for shift in ("fog", "snow")]
    ours = made(pipeline, words, [Wanted(0, 3, (0.5, 1.5))], sliders, active=1.0)[0]
    assert torch.allclose(ours, plain(tiny / "pipeline", 3, files, [0.5, 1.5]), atol=BATCHED)


def test_two_sliders_on_one_layer_add_what_each_does():
    """W x + a B₁A₁x + b B₂A₂x."""
    generator = torch.Generator().manual_seed(0)
    layer = torch.nn.Linear(6, 5)
    down, up = torch.randn(2, 3, 6, generator=generator), torch.randn(2, 5, 3, generator=generator)
    x, scales = torch.randn(4, 6, generator=generator), torch.randn(2, 4, generator=generator)
    both, network = Sliders(("a", "b"), {"0": LowRank(down, up)}), torch.nn.Sequential(layer)
    with applied(network, both, Dial(torch.arange(4).expand(2, 4), scales)):
        found = network(x)
    by_hand = layer(x) + sum(scales[j][:, None] * (x @ down[j].T @ up[j].T) for j in range(2))
    assert torch.allclose(found, by_hand, atol=1e-5)


def test_steps_before_a_slider_sets_in_keep_the_structure(pipeline, words, sliders):
    """Similarity to the image at scale 0 is higher than with the slider active throughout, seed by seed."""
    wanted = [Wanted(0, seed, (scale, 0.0)) for scale in (0.0, 2.0) for seed in range(1, 9)]
    from_late = made(pipeline, words, wanted, sliders, active=0.5).view(2, 8, -1)
    throughout = made(pipeline, words, wanted, sliders, active=1.0).view(2, 8, -1)
    assert torch.allclose(from_late[0], throughout[0], atol=BATCHED)
    away = [(images[1] - images[0]).square().mean(1).sqrt() for images in (from_late, throughout)]
    assert (away[0] < away[1]).all()
    assert (away[0] > 1e-3).all()  # or nothing would have been compared


@pytest.mark.parametrize(("steps", "share", "late"), [(100, 0.75, 75), (100, 0.85, 85), (50, 0.75, 38), (4, 0, 0)])
def test_sliders_are_active_in_the_last_share_of_the_steps(steps, share, late):
    assert late_steps(steps, share) == late


@pytest.mark.parametrize("sampler", ["own", "unipc"])
def test_a_seed_gives_the_same_image_in_a_batch_of_any_size(pipeline, words, sliders, sampler):
    wanted = [Wanted(word, seed, (scale, 0.0)) for word in (0, 1) for seed in (1, 2, 3) for scale in (0.0, 1.0, 2.5)]
    found = {size: made(pipeline, words, wanted, sliders, sampler=sampler, images_at_once=size) for size in (1, 4, 18)}
    for each in found.values():
        assert torch.allclose(each, found[1], atol=BATCHED)


def test_early_steps_are_computed_once_for_all_scales(pipeline, words, sliders, monkeypatch):
    """Of 6 steps 4 are late, here in passes of one image each: two seeds × (2 early + 3 scales × 4 late)."""
    passes = []
    predicted = type(pipeline).predicted

    def counted(self, latents, time, given):
        passes.append(len(latents))
        return predicted(self, latents, time, given)

    monkeypatch.setattr(type(pipeline), "predicted", counted)
    wanted = [Wanted(0, seed, (scale, 0.0)) for seed in (1, 2) for scale in (0.0, 1.0, 2.0)]
    begun = {}
    options = SamplingOptions(steps=STEPS, active=4 / STEPS)
    first = sampled(pipeline, words, wanted, sliders, options, begun=begun)
    assert sum(passes) == 2 * (2 + 3 * 4)
    passes.clear()
    again = sampled(pipeline, words, wanted, sliders, options, begun=begun)  # what is known is not begun again
    assert sum(passes) == 2 * 3 * 4
    assert torch.equal(first, again)


def test_a_learned_word_is_that_of_plain_diffusers(tiny, tmp_path):
    vector = torch.randn(16, generator=torch.Generator().manual_seed(4))
    write_token(tmp_path / "shirt.safetensors", "<shirt>", vector, {"class": "shirt"})
    own = load_pipeline(str(tiny / "pipeline"))
    assert load_tokens(own, tmp_path) == {"shirt": "<shirt>"}
    ours = made(own, own.embedded(["a picture of a <shirt>"]), [Wanted(0, 5, ())])[0]
    parts = diffusers.StableDiffusionPipeline.from_pretrained(tiny / "pipeline", use_safetensors=True)
    parts.set_progress_bar_config(disable=True)
    parts.load_textual_inversion(str(tmp_path), weight_name="shirt.safetensors")
    theirs = parts(
        ["a picture of a <shirt>"],
        num_inference_steps=STEPS,
        guidance_scale=1.0,
        generator=torch.Generator().manual_seed(5),
        output_type="pt",
    ).images[0]
    assert torch.allclose(ours, theirs, atol=BATCHED)
    assert not torch.allclose(ours, plain(tiny / "pipeline", 5), atol=1e-3)


def test_a_folder_of_sliders_says_what_each_is_for(tiny):
    assert sorted(sliders_in(tiny / "sliders")) == [
        ("bag", "fog"),
        ("bag", "snow"),
        ("shirt", "fog"),
        ("shirt", "snow"),
    ]
