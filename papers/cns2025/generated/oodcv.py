"""Does a generated shift predict the real one (section 4.3, A.12)?

Real is here: FashionMNIST's test images under the corruption that the shift's words were learned from. Sliders are
active in the last 85 % of the noise steps, and scales reach 3.
"""

from __future__ import annotations

import itertools

import numpy as np
import torch
from benchmark import TEMPERATURE, made, save_picture
from torch import Tensor
from train import generator
from work import CLASSES, MORE_SCALES, Pictures, Work, spread

from brittle.generation.encoders import Encoder
from brittle.generation.nearest import nearest, shared_trait
from brittle.generation.real_shift import association, matching_scale
from brittle.generation.shares import share_of_images
from brittle.generation.shift_words import UNKNOWN, annotate_shifts
from classifiers import MEASURED, opened, predicted, really_shifted

ACTIVE = 0.85
NEAREST = 5
SURE = 0.5  # share below which a shift stays unknown


def against_real(work: Work) -> None:
    """Accuracies, annotations and nearest images."""
    real = really_shifted(work, work.test())
    generated = _generated(work)
    labels = torch.arange(len(CLASSES)).repeat_interleave(work.sizes.seeds)
    rows, accuracy = [], dict[tuple[str, str], list[float]]()
    for name in MEASURED:
        model = opened(work, name)
        for shift, images in real.items():
            right = (predicted(model, images.images) == images.labels).numpy()
            rows.append(
                {"classifier": name, "shift": shift, "images": "real", "scale": None}
                | spread("accuracy", share_of_images(right))
            )
            accuracy[name, f"real {shift}"] = [float(right.mean())]
        for shift, by_scale in generated.items():
            for scale, images in zip(MORE_SCALES, by_scale, strict=True):
                right = (predicted(model, images) == labels).numpy()
                row = {"classifier": name, "shift": shift, "images": "generated", "scale": scale}
                rows.append(row | spread("accuracy", share_of_images(right)))
                accuracy.setdefault((name, shift), []).append(float(right.mean()))
    work.write("oodcv-accuracy", rows)
    _predictions(work, accuracy)
    _annotated(work, real)
    _nearest(work, real, generated)


def _generated(work: Work) -> dict[str, list[Tensor]]:
    """Shift → images (classes · seeds, 1, 32, 32) at each scale."""
    make, found = generator(work, active=ACTIVE), {}
    seeds = range(1, work.sizes.seeds + 1)
    for shift in work.sizes.shifts:
        every = itertools.product(MORE_SCALES, range(len(CLASSES)), seeds)
        images = make.images([made(label, seed, {shift: scale}) for scale, label, seed in every])
        found[shift] = list(images.view(len(MORE_SCALES), -1, *images.shape[1:]))
    return found


def _predictions(work: Work, accuracy: dict[tuple[str, str], list[float]]) -> None:
    """The scale at which the curve comes down to the real accuracy, and whether drops go together: over shifts for
    each classifier, and over classifiers and shifts."""
    rows, pairs = [], dict[str, list[tuple[float, float]]]()
    for name, shift in itertools.product(MEASURED, work.sizes.shifts):
        curve, (real,), (clean,) = accuracy[name, shift], accuracy[name, f"real {shift}"], accuracy[name, "real clean"]
        drops = {scale: curve[0] - value for scale, value in zip(MORE_SCALES, curve, strict=True)}
        # Generated images are harder to begin with: the real accuracy relative to the clean one is what is looked for.
        row = {"classifier": name, "shift": shift, "real_drop": clean - real, "generated_drop": drops[2.0]}
        row |= {"matching_scale": matching_scale(MORE_SCALES, curve, real)}
        row |= {"matching_scale_of_drop": matching_scale(MORE_SCALES, curve, curve[0] - (clean - real))}
        rows.append(row)
        for key in (name, "all"):
            pairs.setdefault(key, []).append((drops[2.0], clean - real))
    work.write("oodcv-matching", rows)
    found = [{"classifier": name} | association(*zip(*each, strict=True))._asdict() for name, each in pairs.items()]
    work.write("oodcv-association", found)


def _annotated(work: Work, real: dict[str, Pictures]) -> None:
    """What a softmax over shift words says of really shifted images, beside what they are."""
    clip, rows = work.encoder("clip"), []
    for shift, images in real.items():
        some = Pictures(images.images[: work.sizes.real_images], images.labels[: work.sizes.real_images])
        found = annotate_shifts(
            clip, in_numbers(some.images), some.labels.tolist(), CLASSES, [*real][1:], temperature=TEMPERATURE
        )
        for least in (0.0, SURE):
            names = found.names(least)
            rows += [
                {"shift": shift, "named": named, "least": least, "images": names.count(named), "of": len(names)}
                for named in (*found.words, UNKNOWN)
            ]
    work.write("oodcv-words", rows)


def _nearest(work: Work, real: dict[str, Pictures], generated: dict[str, list[Tensor]]) -> None:
    """For real images, the nearest generated ones at scales above 0 and one at 0 of each class and seed."""
    rows, lines, per_class = [], [], work.sizes.seeds
    shifts = [shift for shift in real if shift in generated]
    pool = [generated[shifts[0]][0], *(each for shift in shifts for each in generated[shift][1:])]
    pixels = torch.cat(pool)
    names = ["clean"] * len(pool[0]) + [s for s in shifts for _ in range((len(MORE_SCALES) - 1) * len(pool[0]))]
    labels = np.tile(np.repeat(np.arange(len(CLASSES)), per_class), len(pool)).tolist()
    for encoder in ("clip", "views"):
        each: Encoder = work.encoder(encoder)
        features = each.images(pixels.float() / 255)
        for shift in ("clean", *shifts):
            count = min(100, work.sizes.real_images)
            images = real[shift].images[:count]
            found = nearest(each.images(in_numbers(images)), features, NEAREST)
            for trait, own, others in (
                ("shift", [shift] * count, names),
                ("class", real[shift].labels[:count].tolist(), labels),
            ):
                shared = shared_trait(found, own, others)
                row = {"encoder": encoder, "shift": shift, "trait": trait, "images": count, "chance": shared.chance}
                rows.append(row | spread("share", shared.share))
            if encoder == "clip":
                for place in range(3):
                    own = images[place : place + 1]
                    lines.append(torch.stack([own, *pixels[found.places[place]]]))
    work.write("oodcv-nearest", rows)
    half = len(lines) // 2
    save_picture(
        work.picture("nearest"), [torch.cat(pair) for pair in zip(lines[:half], lines[half : 2 * half], strict=True)]
    )


def in_numbers(images: Tensor) -> Tensor:
    """Images (n, H, W) uint8 → (n, 1, H, W) in [0, 1]."""
    return images[:, None].float() / 255
