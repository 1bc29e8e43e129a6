"""Diffusion models as classifiers, beside plain diffusers one image, one class and one noise at a time."""

import json

import pytest
import torch

import brittle
from brittle.classifiers import classifier
from brittle.diffusion.denoisers import as_noise
from brittle.errors import BrittleError
from brittle.generation.small import SmallShape, small_pipeline

diffusers = pytest.importorskip("diffusers")

pytestmark = pytest.mark.usefixtures("torchvision")
NAMES = ("shirt", "bag", "boot")


@pytest.fixture(scope="module")
def folder(tmp_path_factory, torchvision):
    """A tiny pipeline with random weights."""
    path = tmp_path_factory.mktemp("pipeline") / "small"
    small_pipeline(NAMES, SmallShape(channels=(8, 8), width=16, heads=2)).parts.save_pretrained(path)
    return path


@pytest.fixture(scope="module")
def images():
    return torch.rand(5, 1, 32, 32, generator=torch.Generator().manual_seed(1))


def spec(folder, **options):
    return classifier(f"diffusion:{folder}", labels=NAMES, samples=3, **options)


def by_hand(folder, images, noise, times, norm):
    """Mean errors (B, K), summed over pixels, as plain diffusers has them."""
    pipeline = diffusers.DiffusionPipeline.from_pretrained(folder, use_safetensors=True)
    found = torch.zeros(len(images), len(NAMES))
    for row, image in enumerate(images):
        for place, name in enumerate(NAMES):
            words = pipeline.encode_prompt(f"a picture of a {name}", "cpu", 1, False)[0]
            latent = pipeline.vae.encode(2 * image[None] - 1).latents
            for each, time in zip(noise, times, strict=True):
                noisy = pipeline.scheduler.add_noise(latent, each[None], torch.tensor([time]))
                said = pipeline.unet(noisy, time, encoder_hidden_states=words).sample
                apart = said - each[None]
                found[row, place] += float(apart.abs().sum() if norm == "l1" else apart.square().sum())
    return found / len(times)


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_probabilities_are_the_softmax_of_errors_computed_one_by_one(folder, images, norm):
    made = spec(folder, norm=norm, temperature=10.0)
    with torch.no_grad():
        errors = by_hand(folder, images, made.noise, made.times.tolist(), norm)
    expected = (-errors / 10).log_softmax(1)
    assert torch.allclose(made.log_probs(images), expected, atol=2e-3)
    assert errors.std(1).min() > 0.01  # classes differ, or nothing would have been compared


def test_noise_levels_are_the_middles_of_equal_parts(folder):
    assert classifier(f"diffusion:{folder}", labels=NAMES, samples=4).times.tolist() == [125, 375, 625, 875]


def test_answers_follow_from_the_seed_and_not_from_the_batch(folder, images):
    made = spec(folder)
    together = made.log_probs(images)
    alone = torch.cat([spec(folder).log_probs(each[None]) for each in images])
    assert torch.allclose(together, alone, atol=1e-3)
    assert torch.equal(made.noise, spec(folder).noise)
    assert not torch.equal(made.noise, spec(folder, seed=1).noise)


def test_noise_is_standard_normal(folder):
    noise = classifier(f"diffusion:{folder}", labels=NAMES, samples=100).noise
    assert noise.shape == (100, 1, 32, 32)
    assert abs(float(noise.mean())) < 4 / noise.numel() ** 0.5
    assert abs(float(noise.std()) - 1) < 4 / (2 * noise.numel()) ** 0.5


def test_the_temperature_changes_no_answer(folder, images):
    cold, warm = (spec(folder, temperature=each).log_probs(images) for each in (1.0, 50.0))
    assert torch.equal(cold.argmax(1), warm.argmax(1))
    assert (cold.max(1).values >= warm.max(1).values).all()


def test_smaller_images_are_padded_or_resized(folder):
    small = torch.rand(2, 1, 28, 28, generator=torch.Generator().manual_seed(2))
    padded = torch.zeros(2, 1, 32, 32)
    padded[:, :, 2:30, 2:30] = small
    made = spec(folder, fit="pad")
    assert torch.equal(made.log_probs(small), made.log_probs(padded))
    assert not torch.equal(spec(folder).log_probs(small), made.log_probs(small))


@pytest.mark.parametrize("kind", ["epsilon", "v_prediction", "sample"])
def test_what_a_model_predicts_is_turned_into_noise(kind):
    generator = torch.Generator().manual_seed(3)
    clean, noise = torch.randn(2, 1, 4, 4, generator=generator), torch.randn(2, 1, 4, 4, generator=generator)
    scheduler = diffusers.DDPMScheduler(prediction_type=kind)
    times = torch.tensor([400, 400])
    noisy = scheduler.add_noise(clean, noise, times)
    said = {"epsilon": noise, "v_prediction": scheduler.get_velocity(clean, noise, times), "sample": clean}[kind]
    assert torch.allclose(as_noise(said, noisy, scheduler.alphas_cumprod[400], kind), noise, atol=1e-5)


def test_a_class_conditional_transformer_is_asked_by_number(tmp_path):
    torch.manual_seed(0)
    transformer = diffusers.DiTTransformer2DModel(
        num_attention_heads=2, attention_head_dim=8, in_channels=4, out_channels=8, num_layers=1, sample_size=8,
        patch_size=2, num_embeds_ada_norm=3, norm_type="ada_norm_zero", norm_elementwise_affine=False,
    )  # fmt: skip
    for each in transformer.parameters():
        torch.nn.init.normal_(each, std=0.1)  # as made, the last layer is zero and all classes are alike
    vae = diffusers.AutoencoderKL(block_out_channels=(8,), norm_num_groups=4, latent_channels=4, sample_size=8)
    scheduler = diffusers.DDIMScheduler(num_train_timesteps=100)
    diffusers.DiTPipeline(transformer=transformer, vae=vae, scheduler=scheduler).save_pretrained(tmp_path / "dit")
    index = tmp_path / "dit" / "model_index.json"
    names = {"0": "a, first letter", "1": "b", "2": "c"}  # as in the published repository
    index.write_text(json.dumps(json.loads(index.read_text()) | {"id2label": names}))
    found = classifier(f"diffusion:{tmp_path / 'dit'}", samples=2)
    pictures = torch.rand(2, 3, 8, 8)
    errors = torch.zeros(2, 3)
    with torch.no_grad():
        latents = vae.eval().encode(2 * pictures - 1).latent_dist.mode() * vae.config.scaling_factor
        for noise, time in zip(found.noise, found.times.tolist(), strict=True):
            noisy = scheduler.add_noise(latents, noise.expand_as(latents), torch.tensor([time, time]))
            for place in range(3):
                label = torch.tensor([place, place])
                said = transformer.eval()(noisy, timestep=torch.tensor([time, time]), class_labels=label).sample
                errors[:, place] += (said[:, :4] - noise).abs().sum((1, 2, 3)) / 2
    assert found.labels == ("a", "b", "c")
    assert torch.allclose(found.log_probs(pictures), (-errors).log_softmax(1), atol=2e-3)


def test_mistakes_are_one_line(folder, tmp_path):
    with pytest.raises(BrittleError, match="needs the names of its classes"):
        classifier(f"diffusion:{folder}")
    with pytest.raises(BrittleError, match="knows no word 'zebra'"):
        classifier(f"diffusion:{folder}", labels=("bag", "zebra"))
    with pytest.raises(BrittleError, match="has one class"):
        classifier(f"diffusion:{folder}", labels=("bag",))
    with pytest.raises(BrittleError, match=r"has no \{class\}"):
        classifier(f"diffusion:{folder}", labels=NAMES, prompt="a picture")
    with pytest.raises(BrittleError, match="there is no folder"):
        classifier(f"diffusion:{tmp_path / 'none'}", labels=NAMES)


def test_it_is_measured_like_any_other(folder):
    pictures, labels = torch.rand(4, 1, 28, 28), torch.tensor([0, 1, 2, 0])
    made = brittle.clean({"diffusion": spec(folder, fit="pad")}, (pictures, labels), progress=False)
    assert made["results"][0]["images"] == 4
