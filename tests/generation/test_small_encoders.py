"""The small encoders: losses beside their definitions, and that training makes them better and they are read back."""

import math

import pytest
import torch
from torch.nn import functional

from brittle.generation.encoders import encoder
from brittle.generation.small_encoders import EncoderShape, save_encoder, small_clip, small_dino
from brittle.generation.train_encoders import (
    EncoderTraining,
    contrast,
    train_on_captions,
    train_on_views,
    two_views,
    views,
)
from brittle.generation.train_small import CaptionedImages

pytestmark = pytest.mark.usefixtures("torchvision")
SHAPE = EncoderShape(width=16, layers=1, heads=2, patch=8, features=8)


def unit(count, seed):
    return functional.normalize(torch.randn(count, 5, generator=torch.Generator().manual_seed(seed)), dim=1)


def test_two_views_are_compared_as_simclr_defines():
    first, second = unit(4, 0), unit(4, 1)
    both, total = torch.cat([first, second]).double(), 0.0
    for place in range(8):
        alike = {other: math.exp(float(both[place] @ both[other]) / 0.2) for other in range(8) if other != place}
        total -= math.log(alike[(place + 4) % 8] / sum(alike.values()))
    assert float(two_views(first, second, 0.2)) == pytest.approx(total / 8, rel=1e-5)


def test_captions_that_all_differ_give_clips_loss():
    first, second = unit(6, 2), unit(6, 3)
    logits, place = first @ second.T / 0.1, torch.arange(6)
    expected = (functional.cross_entropy(logits, place) + functional.cross_entropy(logits.T, place)) / 2
    assert float(contrast(first, second, torch.eye(6), 0.1)) == pytest.approx(float(expected), rel=1e-5)


def test_equal_captions_are_no_rivals():
    """Two images of one caption that both agree with it perfectly, and with nothing else, are as good as it gets."""
    words = torch.eye(5)[[0, 0, 1]]
    same = torch.tensor([[1.0, 1, 0], [1, 1, 0], [0, 0, 1]])
    best = contrast(words, words, same, 1e-3)
    assert float(best) == pytest.approx(2 / 3 * math.log(2), rel=1e-4)  # the entropy of the targets
    assert float(contrast(words, words[[2, 1, 0]], same, 1e-3)) > 100


def test_views_stay_images_and_follow_from_the_generator():
    pictures = torch.rand(6, 1, 32, 32)
    made = views(pictures, torch.Generator().manual_seed(0))
    assert made.shape == pictures.shape
    assert 0 <= float(made.min()) <= float(made.max()) <= 1
    assert torch.equal(made, views(pictures, torch.Generator().manual_seed(0)))
    assert not torch.equal(made, views(pictures, torch.Generator().manual_seed(1)))


@pytest.fixture(scope="module")
def pictures():
    """Two classes that anybody can tell apart, bright above and bright below, each plain and under a made-up shift."""
    labels = torch.arange(64) % 2
    plain = torch.zeros(64, 32, 32, dtype=torch.uint8)
    plain[labels == 0, :16] = 200
    plain[labels == 1, 16:] = 200
    return CaptionedImages(torch.stack([plain, plain // 2 + 60]), labels, ("shirt", "bag"), ("fog",))


def test_training_on_captions_finds_the_classes_and_is_read_back(pictures, tmp_path):
    model, tokenizer = small_clip(["shirt", "bag", "fog"], SHAPE)
    losses = []
    options = EncoderTraining(training_steps=60, batch=32, rate=3e-3)
    steps = train_on_captions(model, tokenizer, pictures, options, None, lambda _, loss: losses.append(float(loss)))
    assert (steps, len(losses)) == (60, 60)
    assert sum(losses[-5:]) < sum(losses[:5])
    save_encoder(tmp_path, model.eval(), tokenizer)
    found = encoder(str(tmp_path))
    images = pictures.pixels[0].float()[:, None] / 255
    alignment = found.images(images) @ found.texts(["a picture of a shirt", "a picture of a bag"]).T
    assert float((alignment.argmax(1) == pictures.labels).float().mean()) > 0.9


def test_training_on_views_uses_no_label_and_is_read_back(pictures, tmp_path):
    model, losses = small_dino(SHAPE), []
    options = EncoderTraining(training_steps=10, batch=32)
    shuffled = pictures._replace(labels=pictures.labels.flip(0), words=("x", "y"))
    train_on_views(model, pictures, options, None, lambda _, loss: losses.append(float(loss)))
    other = small_dino(SHAPE)
    train_on_views(other, shuffled, options, None, lambda _, loss: None)
    assert all(torch.equal(one, two) for one, two in zip(model.parameters(), other.parameters(), strict=True))
    save_encoder(tmp_path, model.eval())
    found, images = encoder(str(tmp_path)), torch.rand(2, 1, 32, 32)
    with torch.no_grad():
        expected = model((images - 0.5) / 0.5).pooler_output
    assert torch.allclose(found.features(images), expected, atol=1e-5)
