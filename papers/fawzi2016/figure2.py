"""Fawzi & Frossard 2016, figure 2: affine weak points of CNN-2 with a spatial transformer, at α = 100.

    python papers/fawzi2016/figure2.py [--weights FILE]

A row per digit, the first of each class that is right untouched: the image, then transformed ones drawn from
p(θ | not ℓ, x) that the network mistakes, with the label that it gives. As in the paper's footnote 3, draws that keep
their label are left out and the others are shown at random. A red mark beneath a digit says why its draws are not to
be trusted. The weights are those that table1.py trains.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from table1 import idx

import brittle

HERE = Path(__file__).parent


def first_of_each(classifier: brittle.Classifier, images: brittle.ImageSet, digits: list[int]) -> list[int]:
    """Ids of the first image of each digit that the classifier has right."""
    batch = images.batch(range(min(200, len(images))))
    with torch.inference_mode():
        right = classifier.log_probs(batch.images).argmax(1) == batch.labels
    return [int(batch.ids[(right & (batch.labels == digit)).nonzero()[0, 0]]) for digit in digits]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data/mnist"), help="folder with MNIST's idx files")
    parser.add_argument("--test", help="test images' spec, instead of those in --data")
    parser.add_argument("--network", default="cnn_2_stn")
    parser.add_argument("--weights", type=Path, default=Path("build/fawzi2016/cnn-2-stn-seed0.safetensors"))
    parser.add_argument("--digits", nargs="+", type=int, default=[2, 3, 4, 5, 7, 9])
    parser.add_argument("--alpha", type=float, default=100)
    parser.add_argument("--sampler", default="auto", help="auto, metropolis, metropolis:sigma=0.05 …")
    parser.add_argument("--budget", type=int, default=4000, help="classifier calls an image, for populations")
    parser.add_argument("--steps", type=int, default=1000, help="for chains")
    parser.add_argument("--out", type=Path, default=HERE / "figure2.png")
    options = parser.parse_args()
    classifier = brittle.classifier(f"torch:brittle.training.networks:{options.network},weights={options.weights}")
    images = brittle.image_set(options.test or idx(options.data, "t10k"))
    ids = first_of_each(classifier, images, options.digits)
    found = brittle.sample(
        classifier, images, f"affine:alpha={options.alpha:g}", ids=ids, sampler=options.sampler, device="cpu",
        budget=options.budget, steps=options.steps, keep=400,
    )  # fmt: skip
    for row in found["per_image"]:
        wrong = sorted({label for label in found.predicted(row["id"]) if label != row["label"]})
        print(
            f"image {row['id']}, a {row['label']}: {row['status']}, effective {row['effective']:.0f} of {row['calls']} "
            f"calls, 1 − µ(x) = {row['one_minus_mu']}, another label {row['another_label']:.2f}: {', '.join(wrong)}"
        )
    found.picture(options.out, ids)


if __name__ == "__main__":
    main()
