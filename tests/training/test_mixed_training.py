"""Training on mixed images: it learns, it is a function of its seed, and it can be interrupted."""

from pathlib import Path

import numpy as np
import pytest
import torch
from scipy import stats
from torch import nn
from torch._dynamo.exc import BackendCompilerFailed
from torch.nn import functional as F

import brittle
from brittle import BrittleError, image_set
from brittle.errors import Failure
from brittle.mixing import mixes
from brittle.progress import Progress
from brittle.random import draw_keys
from brittle.training import train, trainable
from brittle.training.data import TrainingImages
from brittle.training.mixing.mixer import Mixer
from brittle.training.mixing.objective import majority_cross_entropy, mixed_cross_entropy
from brittle.training.options import Recipe, TrainingOptions
from brittle.training.plan import random_labels, training_plan
from brittle.training.step import Step
from brittle.training.trainer import cross_entropy, seeded
from brittle.training.trainer import train as train_module
from brittle.training.weights import read_facts

MIXES = ["mixup", "cutmix", "fmix", "random-masks", "cutout:size=6"]


def striped(count: int = 90) -> tuple[np.ndarray, np.ndarray]:
    """Three classes of 28×28, each bright in rows of its own."""
    random = np.random.default_rng(0)
    labels = np.arange(count) % 3
    pixels = random.integers(0, 90, (count, 28, 28))
    for place, label in enumerate(labels):
        pixels[place, 8 * label + 3 : 8 * label + 8] += 160
    return pixels.astype(np.uint8), labels


@pytest.fixture(scope="module")
def data() -> TrainingImages:
    return TrainingImages(image_set(striped()))


@pytest.fixture
def trained(data, tmp_path):
    """Trains a tiny network with the given options; returns what is told and the weights' bytes."""

    def call(name: str = "net", images=data, **options):
        out = tmp_path / f"{name}.safetensors"
        settings = {"epochs": 2, "batch_size": 32, "rate": 0.05, "device": "cpu"} | options
        told = train("small-vgg:classes=3,width=2", images, out, **settings)
        return told, out.read_bytes()

    return call


@pytest.mark.parametrize("objective", ["mixed", "reformulated"])
@pytest.mark.parametrize("mix", MIXES[:4])
def test_the_loss_falls_with_every_mix(trained, mix, objective):
    """Beside a network that is not trained, on the same mixed images: shares differ much from batch to batch."""
    (told, _), (still, _) = (
        trained(f"{rate}", epochs=6, mix=mix, objective=objective, rate=rate, batch_size=15) for rate in (0.1, 1e-9)
    )
    losses, first = (read_facts(Path(each["weights"]), "training")["losses"] for each in (told, still))
    assert np.mean(losses[-3:]) < np.mean(first[-3:]) - 0.1
    assert (told["mix"], told["objective"]) == (mix, objective)


def test_the_loss_falls_with_cutout(trained):
    told, _ = trained(epochs=8, mix="cutout:size=6", crop=2, rate=0.1)
    losses = read_facts(Path(told["weights"]), "training")["losses"]
    assert losses[-1] < losses[0] - 0.3
    assert told["diversity"] == told["mix_diversity"] == told["loss"]


@pytest.mark.parametrize("mix", MIXES)
def test_a_seed_gives_the_same_weights(trained, mix):
    options = {"mix": mix, "crop": 2, "flip": True}
    first, again, other = (trained(name, seed=seed, **options)[1] for name, seed in (("a", 5), ("b", 5), ("c", 6)))
    assert first == again
    assert first != other


class Killed(Progress):
    def at(self, what: str) -> None:
        if "epoch 3/" in what:
            raise KeyboardInterrupt


def test_a_resumed_training_ends_where_an_undisturbed_one_does(trained):
    options = {"mix": "fmix", "objective": "reformulated", "crop": 2, "epochs": 4}
    whole, undisturbed = trained("whole", **options)
    with pytest.raises(KeyboardInterrupt):
        trained("killed", progress=Killed(), **options)
    rest, resumed = trained("killed", **options)
    assert (rest["epochs_before"], rest["diversity"]) == (2, whole["diversity"])
    assert resumed == undisturbed
    again, _ = trained("killed", **options)
    assert (again["diversity"], again["mix_diversity"]) == (whole["diversity"], whole["mix_diversity"])
    with pytest.raises(BrittleError, match="another training: mix: 'fmix' → 'fmix:alpha=2'"):
        trained("killed", **(options | {"mix": "fmix:alpha=2"}))


def test_checkpoints_are_written_as_often_as_is_said(trained, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        trained("none", progress=Killed(), epochs=4, checkpoints=0)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(KeyboardInterrupt):
        trained("some", progress=Killed(), epochs=4, checkpoints=2)
    assert trained("some", epochs=4, checkpoints=2)[0]["epochs_before"] == 2


def test_drawing_for_one_batch_or_many_at_once_is_the_same(trained, monkeypatch):
    options = {"mix": "fmix", "crop": 2, "flip": True}
    many = trained("many", **options)[1]
    monkeypatch.setattr("brittle.training.trainer.DRAWN_AT_ONCE", 1)
    assert trained("one", **options)[1] == many


@pytest.mark.parametrize("mix", ["mixup", "cutmix"])
def test_what_is_recorded_is_the_loss_with_either_kind_of_label(data, mix):
    """At a vanishing rate the weights stand still, and the losses are those of the first weights."""
    flat = lambda: nn.Sequential(nn.Flatten(), nn.Linear(784, 3))  # noqa: E731
    net, mixer = seeded(flat, 0), Mixer(mixes.build(mix), seed=4)
    keys = draw_keys(4, "training transform", data.ids, torch.zeros(1, dtype=torch.int64))[:, 0]
    order = torch.argsort(draw_keys(4, "training order", data.ids, torch.zeros(1, dtype=torch.int64))[:, 0])
    drawn = mixer.draw(keys[order][None], (1, 28, 28))
    batch = mixer.apply(data.batch(order), {name: values[0] for name, values in drawn.items()})
    with torch.no_grad():
        logits = net(batch.images)
    share, first, second = (
        batch.extras["share"],
        *(F.cross_entropy(logits, each, reduction="none") for each in (batch.labels, batch.extras["partner label"])),
    )
    went = train_module(
        net,
        data,
        Recipe(epochs=1, batch=90, rate=1e-12),
        seed=4,
        transform=mixer,
        loss=mixed_cross_entropy,
        record={"majority": majority_cross_entropy, "first": cross_entropy},
    )
    assert went.losses[0] == pytest.approx(float((share * first + (1 - share) * second).mean()), rel=1e-5)
    assert went.recorded["majority"][0] == pytest.approx(
        float(torch.where(share >= 0.5, first, second).mean()), rel=1e-5
    )
    assert went.recorded["first"][0] == pytest.approx(float(first.mean()), rel=1e-5)


def test_both_objectives_record_the_same_two_losses(trained):
    mixed, _ = trained("mixed", mix="mixup", batch_size=8)
    assert mixed["mix_diversity"] == mixed["loss"]
    assert mixed["diversity"] != mixed["loss"]
    other, _ = trained("other", mix="mixup", objective="reformulated", batch_size=8, seed=1)
    assert len({other["mix_diversity"], other["diversity"], other["loss"]}) == 3
    plain, _ = trained("plain")
    assert plain["diversity"] == plain["mix_diversity"] == plain["loss"]
    facts = read_facts(Path(other["weights"]), "training")
    assert (facts["diversity"], facts["mix_diversity"]) == (other["diversity"], other["mix_diversity"])


def test_other_images_lend_pixels_and_no_labels(trained):
    pixels, labels = striped(40)
    options = {"mix": "cutmix", "objective": "reformulated", "crop": 2}
    found = [
        trained(str(place), mix_with=image_set(each, name="others"), **options)
        for place, each in enumerate((pixels, (pixels, labels), (255 - pixels, labels)))
    ]
    told = found[0][0]
    assert (told["mix_with"], told["diversity"], told["mix_diversity"]) == ("others", None, None)
    weights = [brittle.classifier(each["classifier"]).module.state_dict() for each, _ in found]
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])
    assert not all(torch.equal(weights[0][name], weights[2][name]) for name in weights[0])


def test_steps_that_read_other_images_from_disk_are_not_captured(monkeypatch):
    kind, cpu = trainable.build("small-vgg"), torch.device("cpu")
    options = TrainingOptions(mix="mixup", objective="reformulated", mix_with=image_set(striped()[0]))
    assert training_plan(kind, options, 0, cpu).capture
    monkeypatch.setattr("brittle.training.data._share", lambda device: 0)
    assert not training_plan(kind, options, 0, cpu).capture


def test_random_labels_are_uniform_and_those_of_seed_and_id():
    count = 3000
    pixels, ids = np.zeros((count, 2, 2), np.uint8), np.arange(count) * 3
    data = TrainingImages(image_set((pixels, np.zeros(count, int)), ids=ids))
    labels = random_labels(data, 5, 1).labels.numpy()
    assert stats.chisquare(np.bincount(labels, minlength=5)).pvalue > 0.01
    turned = TrainingImages(image_set((pixels, np.zeros(count, int)), ids=ids[::-1].copy()))
    np.testing.assert_array_equal(random_labels(turned, 5, 1).labels.numpy(), labels[::-1])
    assert (random_labels(data, 5, 2).labels.numpy() != labels).mean() > 0.7
    assert data.labels.eq(0).all()


def test_random_labels_train_another_network(trained):
    plain, random = trained("plain")[0], trained("random", random_labels=True)[0]
    assert random["random_labels"]
    assert random["loss"] > plain["loss"]


def test_only_batches_as_large_as_the_first_are_compiled(data, monkeypatch):
    seen, net = [], nn.Sequential(nn.Flatten(), nn.Linear(784, 3))

    def compiled(module, dynamic):
        return lambda images: (seen.append(len(images)), module(images))[1]

    monkeypatch.setattr(torch, "compile", compiled)
    step = Step(net, torch.optim.SGD(net.parameters(), 0.1), data, cross_entropy, compiled=True)
    for size in (20, 7, 20):
        step(torch.arange(size), 0.1)
    assert seen == [20, 20]


def test_a_network_that_can_not_be_compiled_is_one_line(data, monkeypatch):
    def compiled(module, dynamic):
        def fail(images):
            raise BackendCompilerFailed(compiled, RuntimeError("no compiler\nand more"), None)

        return fail

    monkeypatch.setattr(torch, "compile", compiled)
    net = nn.Sequential(nn.Flatten(), nn.Linear(784, 3))
    step = Step(net, torch.optim.SGD(net.parameters(), 0.1), data, cross_entropy, compiled=True)
    with pytest.raises(Failure, match=r"the network can't be compiled: .*no compiler\. Leave out --compile\."):
        step(torch.arange(5), 0.1)


@pytest.mark.warned("has a mean confidence of")
def test_the_command_trains_as_python_does(cli, trained, tmp_path):
    np.savez(tmp_path / "images.npz", images=striped()[0], labels=striped()[1])
    images = f"npz:{tmp_path}/images.npz"
    said = cli(
        "train", "small-vgg:classes=3,width=2", images, "--out", tmp_path / "cli.safetensors", "--epochs", 2,
        "--batch-size", 32, "--lr", 0.05, "--mix", "fmix:alpha=2", "--objective", "reformulated", "--mix-with", images,
        "--crop", 2, "--flip", "--random-labels", "--schedule", "step", "--decay", 0.001, "--json",
    )  # fmt: skip
    told, weights = trained(
        "python", images, mix="fmix:alpha=2", objective="reformulated", mix_with=images, crop=2, flip=True,
        random_labels=True, schedule="step", decay=0.001,
    )  # fmt: skip
    assert (tmp_path / "cli.safetensors").read_bytes() == weights
    apart = {"seconds", "weights", "classifier"}
    assert {key: value for key, value in said.json.items() if key not in apart} == {
        key: value for key, value in told.items() if key not in apart
    }
    assert brittle.measure(told["classifier"], images, "rotation", count=2, samples=1, device="cpu")["images"] == 2


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"mix_with": "sample"}, r"there are images to mix with, but no mix\. Name a mix"),
        ({"objective": "reformulated"}, "there is no mix"),
        ({"mix": "mixup", "mix_with": "sample"}, r"labels can't be mixed .* Use --objective reformulated"),
        ({"mix": "cutout", "objective": "reformulated"}, "cutout mixes no images"),
        ({"mix": "mixupp"}, r"unknown mix 'mixupp'\. Did you mean 'mixup'"),
        (
            {"mix": "mixup", "batch_size": 1},
            r"mixup mixes the images of a batch, and a batch has one\. Use --batch-size 2",
        ),
        ({"crop": 28}, "some crops would be black"),
        ({"mix": "mixup", "objective": "both"}, "objective is 'both', but must be mixed or reformulated"),
    ],
)
def test_options_that_do_not_go_together_are_refused(trained, options, said):
    with pytest.raises(BrittleError, match=said):
        trained(**options)


def test_images_of_another_size_are_not_mixed_with(trained):
    small = image_set(np.zeros((3, 8, 8), np.uint8), name="small")
    with pytest.raises(BrittleError, match="'small' has images of 1×8×8, which can't be mixed with images of 1×28×28"):
        trained(mix="mixup", objective="reformulated", mix_with=small)


def test_the_papers_schedule_falls_to_a_hundredth_halfway():
    recipe = trainable.build("preact-resnet-18").recipe
    rates = [recipe.rate_at(epoch / recipe.epochs) for epoch in (0, 99, 100, 199)]
    assert rates == pytest.approx([0.1, 0.1, 0.001, 0.001])
    assert (recipe.epochs, recipe.batch, recipe.momentum, recipe.decay) == (200, 128, 0.9, 1e-4)


def test_a_networks_own_augmentation_comes_first():
    plan = training_plan(trainable.build("cnn-1-da"), TrainingOptions(crop=1, mix="mixup"), 0, torch.device("cpu"))
    assert [type(each).__name__ for each in plan.augmentation.parts] == ["KeyedTransform", "CropAndFlip", "Mixer"]
