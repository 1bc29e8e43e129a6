"""Real images beside generated ones: shift words, nearest images, and fine-tuning on half of each."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from brittle.errors import BrittleError
from brittle.generation.encoders import encoder
from brittle.generation.half_generated import (
    LabelledImages,
    before_and_after,
    fine_tuned,
    half_generated,
)
from brittle.generation.nearest import nearest, shared_trait
from brittle.generation.shift_words import annotate_shifts
from brittle.training.options import Recipe


@pytest.mark.usefixtures("torchvision")
def test_shift_words_are_a_softmax_of_cosines(clip):
    both, images = encoder(str(clip)), torch.rand(4, 3, 16, 16)
    found = annotate_shifts(both, images, [0, 1, 0, 1], ("shirt", "bag"), ("fog", "heavy snow"), temperature=0.5)
    assert found.words == ("none", "fog", "heavy snow")
    for row, name in ((0, "shirt"), (3, "bag")):
        texts = both.texts([f"a picture of a {name}{end}" for end in ("", " in fog", " in heavy snow")])
        logits = (both.images(images[row : row + 1]) @ texts.T)[0] / 0.5
        assert found.shares[row].tolist() == pytest.approx((logits.exp() / logits.exp().sum()).tolist(), rel=1e-4)
    assert found.names() == [found.words[place] for place in found.shares.argmax(1)]
    assert set(found.names(least=1.1)) == {"unknown"}
    shifts = annotate_shifts(both, images, [0] * 4, ("shirt", "bag"), ("fog",), plain=False)
    assert (shifts.words, shifts.shares.tolist()) == (("fog",), [[1.0]] * 4)


def test_the_nearest_are_those_of_a_full_search():
    generator = torch.Generator().manual_seed(0)
    real, made = (functional.normalize(torch.randn(n, 6, generator=generator), dim=1) for n in (5, 40))
    found = nearest(real, made, 3)
    for row in range(5):
        distances = np.linalg.norm((made - real[row]).numpy(), axis=1)
        assert found.places[row].tolist() == np.argsort(distances)[:3].tolist()
    with pytest.raises(BrittleError, match="50 nearest images"):
        nearest(real, made, 50)


def test_a_shared_trait_is_counted_beside_chance():
    real = torch.eye(4)[[0, 1, 2, 3]]
    made = torch.eye(4)[[0, 0, 1, 1, 2, 3]]
    found = shared_trait(nearest(real, made, 1), "abcd", "aabbcx")
    assert found.share.value == 3 / 4
    assert found.chance == pytest.approx(np.mean([2 / 6, 2 / 6, 1 / 6, 0]))
    assert found.share.low < 0.75 < found.share.high


def striped(count, rows):
    """Class 0 is bright above, class 1 below; `rows` moves both down."""
    labels = torch.arange(count) % 2
    images = torch.zeros(count, 1, 16, 16, dtype=torch.uint8)
    for place, label in enumerate(labels.tolist()):
        images[place, :, rows + 4 * label : rows + 4 * label + 4] = 200
    return LabelledImages(images, labels)


def test_half_of_the_images_are_generated_and_none_is_taken_twice():
    real, generated = striped(40, 0), striped(40, 8)
    for first, part in ((0, real), (100, generated)):  # numbers its images in a corner
        part.images[:, 0, 0, 15] = torch.arange(first, first + 40, dtype=torch.uint8)
    found = half_generated(real, generated, 30).batch(range(30), torch.device("cpu"))
    marks = (found.images[:, 0, 0, 15] * 255).round().int()
    assert len(set(marks.tolist())) == 30
    assert int((marks < 100).sum()) == int((marks >= 100).sum()) == 15
    assert torch.equal(found.labels, marks % 2)
    with pytest.raises(BrittleError, match="50 real images are wanted and there are 40"):
        half_generated(real, generated, 100)
    alone = half_generated(real, LabelledImages(real.images[:0], real.labels[:0]), 30)
    assert len(alone) == 30


def test_fine_tuning_on_half_shifted_images_helps_on_shifted_ones_and_leaves_the_original_alone():
    torch.manual_seed(0)
    clean, shifted = striped(64, 0), striped(64, 8)
    module = nn.Sequential(nn.Flatten(), nn.Linear(256, 2))
    empty = LabelledImages(clean.images[:0], clean.labels[:0])
    recipe, device = Recipe(epochs=40, batch=16, rate=0.1), torch.device("cpu")
    before = fine_tuned(module, half_generated(clean, empty, 64), recipe, device)
    weights = before[1].weight.clone()
    after = fine_tuned(before, half_generated(clean, shifted, 64), recipe, device)
    assert torch.equal(before[1].weight, weights)

    def right(model):
        return (model(shifted.images.float() / 255).argmax(1) == shifted.labels).numpy()

    found = before_and_after(right(before), right(after))
    assert found.before.value < 0.8 < found.after.value
    assert found.change.low > 0
    assert found.change.value == pytest.approx(found.after.value - found.before.value)
