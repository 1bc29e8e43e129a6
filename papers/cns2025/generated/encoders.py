"""The two small encoders of the out-of-class filter are trained, and it is said how well they tell classes apart.

They see the first 20,000 training images of FashionMNIST and of MNIST, which the classifiers here have not seen; the
bundled ones have. Test images say how well they do.
"""

from __future__ import annotations

import time
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad
from train import keep
from work import BORDER, CLASSES, ENCODERS_SEE, Pictures, Work

from brittle.diffusion.prompts import CLASS_PROMPT, prompt
from brittle.generation.encoders import Encoder
from brittle.generation.small_encoders import EncoderShape, save_encoder, small_clip, small_dino
from brittle.generation.train_encoders import EncoderTraining, train_on_captions, train_on_views
from brittle.generation.train_small import DIGITS, SHIFTS

SECONDS = 45.0  # each, on a GPU
TESTED = 2000


def encoders(work: Work) -> None:
    """Folders WORK/encoders/clip and WORK/encoders/views."""
    pictures = work.captioned(work.fashion(ENCODERS_SEE), work.digits(ENCODERS_SEE))
    shape = EncoderShape(width=16, layers=1, heads=2, patch=8, features=8) if work.tiny else EncoderShape()
    fast = work.device.type == "cuda"
    options = EncoderTraining(training_steps=4, batch=8) if work.tiny else EncoderTraining(bf16=fast)
    limit, folder, began = SECONDS if fast else None, work.folder / "encoders", time.monotonic()
    clip, tokenizer = small_clip([*CLASSES, *DIGITS, *SHIFTS], shape)
    numbers: dict[str, Any] = {"images": len(pictures.labels)}
    numbers["clip steps"] = train_on_captions(clip, tokenizer, pictures, options, limit, work.every(200, "clip"))
    save_encoder(folder / "clip", clip.eval().cpu(), tokenizer)
    dino = small_dino(shape)
    numbers["views steps"] = train_on_views(dino, pictures, options, limit, work.every(200, "views"))
    save_encoder(folder / "views", dino.eval().cpu())
    work.pack("encoders")
    numbers |= _tested(work, work.test().rows(slice(0, TESTED)))
    keep(work, "encoders", **numbers, seconds=time.monotonic() - began)


def _tested(work: Work, test: Pictures) -> dict[str, float]:
    """Is the nearest caption of an image's class, and is its nearest neighbour?"""
    images = pad(test.images, (BORDER,) * 4)[:, None].float() / 255
    clip, views = work.encoder("clip"), work.encoder("views")
    texts = clip.texts([prompt(CLASS_PROMPT, name) for name in CLASSES])
    found = {"clip, nearest caption right": _share((clip.images(images) @ texts.T).argmax(1) == test.labels)}
    for name, each in (("clip", clip), ("views", views)):
        found[f"{name}, nearest neighbour of the same class"] = _neighbours(each, images, test.labels)
    return found


def _neighbours(each: Encoder, images: Tensor, labels: Tensor) -> float:
    vectors = each.images(images)
    alike = (vectors @ vectors.T).fill_diagonal_(-1)
    return _share(labels[alike.argmax(1)] == labels)


def _share(right: Tensor) -> float:
    return float(right.to(torch.float32).mean())
