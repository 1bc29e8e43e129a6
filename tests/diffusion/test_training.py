"""What sliders and words are trained to say, and how training is resumed."""

from types import SimpleNamespace

import pytest
import torch

from brittle.diffusion.noising import Noised
from brittle.diffusion.options import SliderOptions, TokenOptions
from brittle.diffusion.pipeline import load_pipeline
from brittle.diffusion.targets import noise_in
from brittle.diffusion.tokens import add_tokens
from brittle.diffusion.train_sliders import Lesson, SliderTask, train_sliders
from brittle.diffusion.train_tokens import train_tokens
from brittle.errors import BrittleError

pytest.importorskip("diffusers")

ETA = 2.5
TASKS = [SliderTask("shirt in fog", "a picture of a shirt", "a picture of a shirt in fog")]


class MadeUp:
    """A denoiser that says w · x + t of latents x at a time t, where w is a number per prompt."""

    words = {"a picture of a shirt": 2.0, "a picture of a shirt in fog": 3.0, "": 5.0}  # noqa: RUF012
    device = torch.device("cpu")

    def __init__(self, prediction):
        config = SimpleNamespace(prediction_type=prediction)
        self.parts = SimpleNamespace(scheduler=SimpleNamespace(config=config))

    def embedded(self, prompts):
        return torch.tensor([self.words[each] for each in prompts])[:, None, None]

    def predicted(self, latents, times, words):
        return words.view(-1, 1, 1, 1) * latents + times.view(-1, 1, 1, 1)

    def noise_schedule(self):
        return torch.linspace(0.99, 0.01, 10)


def lesson(target, prediction="epsilon"):
    latents = {TASKS[0].prompt: torch.zeros(4, 1, 2, 2)}
    return Lesson.of(MadeUp(prediction), TASKS, latents, SliderOptions(target=target, eta=ETA, batch=3))


@pytest.mark.parametrize(
    ("target", "of_x", "of_t"),
    [
        ("direction", 2 + ETA * (3 - 2), 1),  # ε(c) + η [ε(c₊) − ε(c)]: the noise of one image
        ("printed", 2 + 3, 2),  # ε(c) + ε(c₊), equation 2: twice the noise
        ("unconditional", 2 + ETA * (3 - 5), 1),  # ε(c) + η [ε(c₊) − ε(∅)]
    ],
)
def test_targets_are_their_closed_forms(target, of_x, of_t):
    x, times = torch.randn(3, 1, 2, 2, generator=torch.Generator().manual_seed(0)), torch.tensor([1, 4, 9])
    given = Noised(x, torch.zeros_like(x), times, torch.full((3,), 0.5))
    assert torch.allclose(lesson(target).target(given), of_x * x + of_t * times.view(-1, 1, 1, 1), atol=1e-5)


@pytest.mark.parametrize("target", ["direction", "printed", "unconditional"])
def test_targets_of_a_network_that_predicts_v_are_made_of_the_noise_that_it_means(target):
    x, times, alpha = torch.randn(3, 1, 2, 2), torch.tensor([1, 4, 9]), torch.tensor([0.9, 0.5, 0.2])
    kept, spread = alpha.sqrt().view(-1, 1, 1, 1), (1 - alpha).sqrt().view(-1, 1, 1, 1)

    def noise(word):
        return kept * (word * x + times.view(-1, 1, 1, 1)) + spread * x  # ε = √ᾱ v + √(1 − ᾱ) x_t

    expected = {
        "direction": noise(2.0) + ETA * (noise(3.0) - noise(2.0)),
        "printed": noise(2.0) + noise(3.0),
        "unconditional": noise(2.0) + ETA * (noise(3.0) - noise(5.0)),
    }[target]
    given = Noised(x, torch.zeros_like(x), times, alpha)
    assert torch.allclose(lesson(target, "v_prediction").target(given), expected, atol=1e-5)


def test_what_a_network_predicts_of_clean_images_means_the_noise_that_was_added():
    x, noise, alpha = torch.randn(2, 1, 3, 3), torch.randn(2, 1, 3, 3), torch.tensor([0.8, 0.3])
    spread = alpha.view(-1, 1, 1, 1)
    noisy = spread.sqrt() * x + (1 - spread).sqrt() * noise
    assert torch.allclose(noise_in(x, noisy, alpha, "sample"), noise, atol=1e-5)


@pytest.fixture(scope="module")
def pipeline(tiny):
    return load_pipeline(str(tiny / "pipeline"))


def tasks(*shifts):
    return [
        SliderTask(f"shirt in {each}", "a picture of a shirt", f"a picture of a shirt in {each}") for each in shifts
    ]


POOL = {"a picture of a shirt": torch.randn(6, 1, 32, 32, generator=torch.Generator().manual_seed(1))}
QUICK = SliderOptions(rank=2, training_steps=6, batch=2)


def trained(pipeline, wanted, **options):
    found = train_sliders(pipeline, wanted, POOL, QUICK, **options)
    return {name: each.up.clone() for name, each in found.layers.items()}


def test_a_slider_is_trained_as_it_would_be_by_itself(pipeline):
    together, alone = trained(pipeline, tasks("snow", "fog")), trained(pipeline, tasks("fog"))
    assert max(float((together[name][1] - alone[name][0]).abs().max()) for name in alone) < 1e-6
    assert max(float(each.abs().max()) for each in alone.values()) > 1e-4


def test_training_lowers_the_loss(pipeline):
    losses = []
    options = SliderOptions(rank=2, training_steps=40, batch=4, rate=5e-3)
    train_sliders(pipeline, tasks("fog"), POOL, options, said=lambda _, each: losses.append(float(each)))
    assert sum(losses[-5:]) < 0.7 * sum(losses[:5])


class Killed(Exception):
    pass


def test_interrupted_training_of_sliders_resumes_where_it_stopped(pipeline, tmp_path, monkeypatch):
    """No step is done twice, and the losses of all are told."""
    state, whole = tmp_path / "state.pt", trained(pipeline, tasks("fog"))

    def stop(step, _):
        if step == 4:
            raise Killed

    with pytest.raises(Killed):
        trained(pipeline, tasks("fog"), state=state, every=3, said=stop)
    step, done, told = Lesson.step, [], []
    monkeypatch.setattr(
        Lesson, "step", lambda self, sliders, number: done.append(number) or step(self, sliders, number)
    )
    resumed = trained(pipeline, tasks("fog"), state=state, said=lambda step, _: told.append(step))
    assert done == [3, 4, 5]
    assert told == [1, 2, 3, 4, 5, 6]
    assert not state.exists()
    assert all(torch.allclose(resumed[name], whole[name], atol=1e-7) for name in whole)


def test_what_is_half_trained_is_not_taken_for_other_sliders(pipeline, tmp_path):
    def stop(step, _):
        if step == 2:
            raise Killed

    with pytest.raises(Killed):
        trained(pipeline, tasks("fog"), state=tmp_path / "state.pt", every=1, said=stop)
    with pytest.raises(BrittleError, match="of a training of other sliders"):
        trained(pipeline, tasks("snow"), state=tmp_path / "state.pt")


def test_a_word_begins_as_the_words_of_its_class_and_changes_nothing_else(tiny):
    own = load_pipeline(str(tiny / "pipeline"))
    table = own.parts.text_encoder.get_input_embeddings().weight
    before = table.detach().clone()
    place = own.parts.tokenizer("shirt", add_special_tokens=False).input_ids[0]
    images = {"shirt": torch.rand(4, 1, 32, 32, generator=torch.Generator().manual_seed(2))}
    losses = []
    found = train_tokens(
        own,
        images,
        TokenOptions(training_steps=60, batch=8, rate=0.02),
        said=lambda _, each: losses.append(float(each)),
    )
    after = own.parts.text_encoder.get_input_embeddings().weight
    assert torch.equal(after[: len(before)], before)
    assert not torch.allclose(found["<shirt>"], before[place], atol=1e-2)
    assert sum(losses[-15:]) < sum(losses[:15])


def test_a_word_begins_as_the_mean_of_the_words_it_stands_for(tiny):
    own = load_pipeline(str(tiny / "pipeline"))
    table = own.parts.text_encoder.get_input_embeddings().weight.detach().clone()
    ids = own.parts.tokenizer("shirt bag", add_special_tokens=False).input_ids
    (number,) = add_tokens(own, {"<both>": "shirt bag"})
    now = own.parts.text_encoder.get_input_embeddings().weight
    assert torch.allclose(now[number], table[ids].mean(0))
