import math
import zipfile
from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.torch import save
from torch import nn
from torch.nn import functional as F

from brittle import BrittleError, image_set
from brittle.classifiers.checkpoint import load_weights
from brittle.errors import Failure
from brittle.progress import Progress
from brittle.random import draw_keys, normal
from brittle.training.data import TrainingImages
from brittle.training.data import fingerprint as fingerprint_of_images
from brittle.training.options import Recipe
from brittle.training.trainer import TrainingHistory, cross_entropy, score, seeded, train
from brittle.training.weights import fingerprint, read_facts, save_weights, state_of
from brittle.types import Batch

RECIPE = Recipe(epochs=4, batch=16, rate=0.05, decay=1e-3, schedule="cosine", warm_up=0.1)


class Net(nn.Sequential):
    """Everything that has a state or draws: batch statistics, dropout."""

    def __init__(self) -> None:
        super().__init__(
            nn.Conv2d(1, 4, 3, padding=1),
            nn.BatchNorm2d(4),
            nn.ReLU(),
            nn.Flatten(),
            nn.Dropout(0.3),
            nn.Linear(4 * 8 * 8, 3),
        )


def pictures(count: int = 65) -> TrainingImages:
    """Three classes, each brighter in a third of its rows; one more than fills batches of 16."""
    random = np.random.default_rng(0)
    labels = random.integers(0, 3, count)
    images = random.random((count, 8, 8)) * 0.5
    for place, label in enumerate(labels):
        images[place, 3 * label : 3 * label + 2] += 0.4
    return TrainingImages(image_set(((images * 255).astype(np.uint8), labels), ids=np.arange(count) * 7 + 3))


def noisy(batch: Batch, keys: torch.Tensor) -> Batch:
    noise = normal(keys, batch.images[0].numel()).view_as(batch.images)
    return batch._replace(images=batch.images + 0.1 * noise.float())


def weights(seed: int = 0, recipe: Recipe = RECIPE, **options) -> tuple[list[torch.Tensor], TrainingHistory]:
    net = seeded(Net, seed)
    went = train(net, options.pop("data", None) or pictures(), recipe, seed=seed, transform=noisy, **options)
    return [each.clone() for each in net.state_dict().values()], went


def same(first: list[torch.Tensor], second: list[torch.Tensor]) -> bool:
    return all(torch.equal(one, other) for one, other in zip(first, second, strict=True))


def test_a_seed_gives_the_same_weights_whatever_the_global_state():
    torch.manual_seed(1)
    first, went = weights()
    torch.manual_seed(2)
    before = torch.get_rng_state()
    second, again = weights()
    assert same(first, second)
    assert went.losses == again.losses
    assert torch.equal(torch.get_rng_state(), before)


def test_other_seeds_give_other_weights_orders_and_dropout():
    assert not same(weights(0)[0], weights(1)[0])
    net, other = seeded(Net, 0), seeded(Net, 0)
    for each, seed in ((net, 0), (other, 1)):
        train(each, pictures(), RECIPE, seed=seed)
    assert not same(list(net.state_dict().values()), list(other.state_dict().values()))


def test_the_order_of_the_images_in_their_set_changes_nothing():
    data = pictures()
    turned = TrainingImages(data.set.take(torch.arange(len(data)).flip(0)))
    assert same(weights(data=data)[0], weights(data=turned)[0])


def test_it_learns():
    net = seeded(Net, 0)
    before = score(net, pictures())
    went = train(net, pictures(), Recipe(epochs=12, batch=16, rate=0.05))
    after = score(net, pictures())
    assert before.error > 0.4
    assert after.error == 0
    assert after.loss < went.losses[0]


def test_the_loss_of_an_epoch_is_the_mean_over_its_images():
    """At a vanishing rate the weights stand still, and the loss is that of the first weights."""
    flat = lambda: nn.Sequential(nn.Flatten(), nn.Linear(64, 3))  # noqa: E731
    net, data = seeded(flat, 0), pictures()
    batch = data.batch(torch.arange(len(data)))
    expected = F.cross_entropy(net(batch.images), batch.labels).item()
    went = train(net, data, Recipe(epochs=1, batch=16, rate=1e-12))
    assert math.isclose(went.losses[0], expected, rel_tol=1e-5)


def test_one_step_is_that_of_torch():
    """All images in one batch, SGD with momentum and decay, against the same steps written out."""
    flat = lambda: nn.Sequential(nn.Flatten(), nn.Linear(64, 3))  # noqa: E731
    net, other, data = seeded(flat, 0), seeded(flat, 0), pictures()
    train(net, data, Recipe(epochs=3, batch=100, rate=0.1, momentum=0.9, decay=0.01))
    batch, optimiser = data.batch(torch.arange(len(data))), torch.optim.SGD(other.parameters(), 0.1, 0.9, 0, 0.01)
    for _ in range(3):
        optimiser.zero_grad()
        F.cross_entropy(other(batch.images), batch.labels).backward()
        optimiser.step()
    for one, two in zip(net.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(one, two)


class Killed(Progress):
    """Stops a training when an epoch begins, as an interruption does."""

    def __init__(self, epoch: int) -> None:
        super().__init__()
        self.epoch = epoch

    def at(self, what: str) -> None:
        if f"epoch {self.epoch}/" in what:
            raise KeyboardInterrupt


@pytest.mark.parametrize("optimiser", ["sgd", "adamw"])
def test_a_resumed_training_ends_where_an_undisturbed_one_does(tmp_path, optimiser):
    recipe = Recipe(epochs=4, batch=16, rate=0.01, optimiser=optimiser, schedule="cosine")
    undisturbed, whole = weights(recipe=recipe)
    for epoch in (2, 4):
        with pytest.raises(KeyboardInterrupt):
            weights(recipe=recipe, checkpoint=tmp_path / "c.pt", progress=Killed(epoch))
    resumed, rest = weights(recipe=recipe, checkpoint=tmp_path / "c.pt")
    assert rest == TrainingHistory(whole.losses, 3)
    assert same(undisturbed, resumed)


def test_a_checkpoint_of_something_else_is_refused(tmp_path):
    weights(checkpoint=tmp_path / "c.pt", about={"seed": 0, "recipe": {"rate": 0.05}})
    with pytest.raises(BrittleError, match=r"another training: recipe\.rate: 0\.05 → 0\.1"):
        weights(checkpoint=tmp_path / "c.pt", about={"seed": 0, "recipe": {"rate": 0.1}})


def test_a_checkpoint_that_would_run_code_or_is_torn_is_refused(tmp_path):
    class Bomb:
        def __reduce__(self):
            return (tmp_path / "ran").touch, ()

    for content in ({"module": Bomb()}, None):
        torch.save(content, tmp_path / "c.pt")
        with pytest.raises(BrittleError, match=r"c\.pt is damaged"):
            weights(checkpoint=tmp_path / "c.pt")
    (tmp_path / "c.pt").write_bytes(b"PK torn")
    with pytest.raises(BrittleError, match=r"c\.pt is damaged"):
        weights(checkpoint=tmp_path / "c.pt")
    assert not (tmp_path / "ran").exists()


def test_a_checkpoint_with_a_turned_bit_is_refused(tmp_path):
    weights(checkpoint=tmp_path / "c.pt")
    content = bytearray((tmp_path / "c.pt").read_bytes())
    with zipfile.ZipFile(tmp_path / "c.pt") as archive:
        largest = max(archive.infolist(), key=lambda entry: entry.file_size)
    content[largest.header_offset + 64 + largest.file_size // 2] ^= 1
    (tmp_path / "c.pt").write_bytes(content)
    with pytest.raises(BrittleError, match=r"c\.pt is damaged.*Delete it to start over"):
        weights(checkpoint=tmp_path / "c.pt")


@pytest.mark.parametrize("facts", ["3", "[]", '{"about": {}}', '{"checksum": "0"}', "nonsense", "[" * 100_000])
def test_weights_with_other_facts_than_were_written_are_refused(tmp_path, facts):
    (tmp_path / "w.safetensors").write_bytes(save({"a": torch.zeros(2)}, {"training": facts}))
    with pytest.raises(BrittleError, match=r"w\.safetensors (is damaged|can't be read).*Delete it to start over"):
        read_facts(tmp_path / "w.safetensors", "training")


def test_weights_with_a_turned_bit_are_refused(tmp_path):
    path = tmp_path / "w.safetensors"
    save_weights(path, {"a": torch.arange(4.0)}, "training", {"about": {"seed": 0}})
    assert read_facts(path, "training") == {"about": {"seed": 0}}
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(BrittleError, match=r"w\.safetensors is damaged: its checksum is wrong"):
        read_facts(path, "training")


def test_a_loss_that_is_not_finite_stops_the_training_and_keeps_the_epochs_before(tmp_path):
    calls = []

    def loss(logits: torch.Tensor, batch: Batch) -> torch.Tensor:
        calls.append(len(batch.labels))
        return cross_entropy(logits, batch) * (math.nan if len(calls) > 6 else 1)

    with pytest.raises(Failure, match="loss was nan in epoch 2"):
        weights(checkpoint=tmp_path / "c.pt", loss=loss)
    assert calls[:4] == [16, 16, 16, 17]  # a last image alone joins the batch before
    assert len(torch.load(tmp_path / "c.pt", weights_only=True)["losses"]) == 1


def test_transform_and_loss_see_what_the_trainer_says():
    """Every image once an epoch, its own key, and extras that travel from the transform to the loss."""
    seen: dict[int, list[int]] = {}

    def transform(batch: Batch, keys: torch.Tensor) -> Batch:
        for each, key in zip(batch.ids.tolist(), keys.tolist(), strict=True):
            seen.setdefault(each, []).append(key)
        return batch._replace(extras={"weight": torch.ones(len(keys))})

    train(
        seeded(Net, 0),
        pictures(),
        Recipe(epochs=2, batch=16, rate=0.01),
        seed=5,
        transform=transform,
        loss=lambda logits, batch: F.cross_entropy(logits, batch.labels, reduction="none") @ batch.extras["weight"],
    )
    ids = pictures().ids
    assert sorted(seen) == ids.tolist()
    keys = draw_keys(5, "training transform", ids, torch.arange(2)).tolist()
    assert [seen[each] for each in ids.tolist()] == keys


def test_schedules_are_functions_of_the_share_done():
    recipe = Recipe(rate=0.1, schedule="cosine", warm_up=0.2)
    assert recipe.rate_at(0.1) == pytest.approx(0.05)
    assert recipe.rate_at(0.2) == pytest.approx(0.1)
    assert recipe.rate_at(0.6) == pytest.approx(0.05)
    assert recipe.rate_at(1.0) == pytest.approx(0.0)
    assert Recipe(rate=0.1).rate_at(0.9) == 0.1


def test_images_are_held_as_they_are_read():
    """Bytes for images of 8 bits, float32 for others; either way the numbers of the image set."""
    deep = np.random.default_rng(0).random((5, 1, 4, 4)).astype(np.float32)
    for source, dtype in (((deep * 255).astype(np.uint8), torch.uint8), (deep, torch.float32)):
        images = image_set((source, np.arange(5)))
        held = TrainingImages(images)
        rows = torch.tensor([4, 0, 4])
        assert held.pixels.dtype == dtype
        for one, other in zip(held.batch(rows)[:3], images.batch(rows)[:3], strict=True):
            assert torch.equal(one, other)


def test_images_too_many_to_hold_are_read_for_every_batch(monkeypatch):
    held = weights()[0]
    monkeypatch.setattr("brittle.training.data._share", lambda device: 0)
    assert pictures().pixels is None
    assert same(held, weights()[0])


def test_images_without_labels_are_refused():
    with pytest.raises(BrittleError, match="index 0 of 'arrays' has no label"):
        TrainingImages(image_set(np.zeros((3, 4, 4), np.uint8)))


def test_mixed_precision_learns_the_same_and_leaves_weights_in_float32():
    (full, went), (half, went_half) = (
        weights(recipe=replace(RECIPE, epochs=8, precision=precision)) for precision in ("float32", "bfloat16")
    )
    assert {each.dtype for each in half if each.is_floating_point()} == {torch.float32}
    assert not same(full, half)
    assert went_half.losses[-1] < 0.5 * went_half.losses[0]
    assert went_half.losses == pytest.approx(went.losses, abs=0.05)


@pytest.mark.parametrize("wrong", [{"precision": "bf16"}, {"optimiser": "adam"}, {"schedule": "steps"}, {"rate": 0.0}])
def test_recipes_that_nobody_knows_are_refused(wrong):
    with pytest.raises(BrittleError, match=next(iter(wrong))):
        Recipe(**wrong)


def test_running_out_of_memory_says_what_to_lower():
    def loss(logits: torch.Tensor, batch: Batch) -> torch.Tensor:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB")

    with pytest.raises(Failure, match=r"out of memory in a step of 16 images.*--batch-size"):
        train(seeded(Net, 0), pictures(), RECIPE, loss=loss)


def test_tied_weights_are_saved_and_weights_are_told_apart(tmp_path):
    net = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    net[1].weight = net[0].weight
    path = tmp_path / "tied.safetensors"
    save_weights(path, state_of(net), "training", {"of": "tied"})
    assert read_facts(path, "training") == {"of": "tied"}
    other = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    load_weights(other, path)
    assert fingerprint(state_of(other)) == fingerprint(state_of(net))
    with torch.no_grad():
        other[0].bias[0] += 1e-6
    assert fingerprint(state_of(other)) != fingerprint(state_of(net))


def test_dropout_is_another_in_every_epoch_and_with_every_seed():
    def masks(seed: int) -> list[torch.Tensor]:
        net, seen = nn.Sequential(nn.Flatten(), nn.Dropout(0.5), nn.Linear(64, 3)), []
        net[1].register_forward_hook(lambda layer, given, made: seen.append(made == 0))
        white = TrainingImages(image_set((np.full((20, 8, 8), 255, np.uint8), np.arange(20) % 3)))
        train(net, white, Recipe(epochs=2, batch=20, rate=1e-6), seed=seed)
        return seen

    (first, second), (other, _), (again, _) = masks(0), masks(1), masks(0)
    assert torch.equal(first, again)
    assert not torch.equal(first, second)
    assert not torch.equal(first, other)


def test_a_fingerprint_tells_pixels_labels_and_ids_apart():
    pixels, labels, ids = np.zeros((5, 4, 4), np.uint8), np.arange(5), np.arange(5)

    def of(pixels, labels, ids):
        return TrainingImages(image_set((pixels, labels), ids=ids)).fingerprint()

    other = pixels.copy()
    other[3, 1, 2] = 1
    found = {
        of(pixels, labels, ids),
        of(other, labels, ids),
        of(pixels, labels[::-1].copy(), ids),
        of(pixels, labels, ids + 1),
    }
    assert len(found) == 4
    assert of(pixels, labels, ids) in found
    assert fingerprint_of_images(image_set((other, labels), ids=ids)) == of(other, labels, ids)


def test_strided_convolutions_of_few_channels_do_not_kill_the_process():
    """Channels last, 56×56 pixels: torch 2.13's backward pass of the second convolution writes beyond its memory."""
    net = nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1), nn.Conv2d(4, 8, 1, stride=2), nn.Flatten(), nn.Linear(8 * 28 * 28, 3)
    )
    random = np.random.default_rng(0)
    pixels, labels = random.integers(0, 256, (64, 56, 56), dtype=np.uint8), random.integers(0, 3, 64)
    went = train(net, TrainingImages(image_set((pixels, labels))), replace(RECIPE, epochs=8, batch=32, rate=0.001))
    assert went.losses[-1] < went.losses[0]
