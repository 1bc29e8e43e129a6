"""Fine-tuning on half generated, half real images (A.3, table 6): clean and really shifted test images before and
after, and after as many steps on real images alone."""

from __future__ import annotations

import json
from typing import Any

import torch
from benchmark import generated, opened_table
from torch import nn
from train import keep
from work import Work, spread

import brittle
from brittle.classifiers.torch_module import TorchClassifier
from brittle.generation.half_generated import LabelledImages, before_and_after, fine_tuned, half_generated
from brittle.training.options import Recipe
from classifiers import MEASURED, NETWORKS_SEE, cropped, opened, predicted, really_shifted

FOLDER, FIRST_SEED = "more", 1001  # seeds that the benchmark does not have


def tuning(work: Work) -> None:
    """What is generated to learn from goes through the filter with the benchmark's thresholds."""
    made, filtered = _to_learn_from(work)
    first = NETWORKS_SEE.start
    seen = work.fashion(slice(first, first + work.sizes.tuned_images))
    real = LabelledImages(seen.images[:, None], seen.labels)
    count = min(work.sizes.tuned_images, 2 * len(made.images))
    nothing = LabelledImages(made.images[:0], made.labels[:0])
    mixtures = {
        "half generated": half_generated(real, made, count),
        "real alone": half_generated(real, nothing, count),
    }
    recipe = Recipe(
        epochs=1 if work.tiny else 10, batch=256, rate=3e-4, optimiser="adamw", decay=0.01, schedule="cosine"
    )
    test, rows = really_shifted(work, work.test()), list[dict[str, Any]]()
    for name in MEASURED:
        model = opened(work, name)
        assert isinstance(model, TorchClassifier)
        right = {shift: (predicted(model, each.images) == each.labels).numpy() for shift, each in test.items()}
        for mixture, images in mixtures.items():
            changed = _swapped(model, fine_tuned(model.module, images, recipe, work.device))
            for shift, each in test.items():
                after = (predicted(changed, each.images) == each.labels).numpy()
                found = before_and_after(right[shift], after)
                row = {"classifier": name, "tuned_on": mixture, "images": shift}
                for column in ("before", "after", "change"):
                    row |= spread(column, getattr(found, column))
                rows.append(row)
            work.say(f"{name} on {mixture}: clean {rows[-len(test)]['after']:.4f}")
    work.write("tuning", rows)
    keep(work, "tuning", images=count, generated=len(made.images), filtered=filtered)


def _to_learn_from(work: Work) -> tuple[LabelledImages, bool]:
    """Generated images at 28×28; whether the filter left enough of them, and so was used."""
    folder = work.folder / FOLDER
    generated(work, FOLDER, work.sizes.extra_seeds, FIRST_SEED)
    encoders = work.folder / "encoders"
    found = brittle.filter(
        str(folder),
        text=str(encoders / "clip"),
        image=str(encoders / "views"),
        thresholds=str(work.folder / "benchmark" / "filter"),
        device=str(work.device),
        progress=False,
    )
    left = json.loads(found.annotations.read_text(encoding="utf-8"))["images"]
    enough = len(left) >= work.sizes.tuned_images // 2
    table = opened_table(work, FOLDER, str(found.annotations) if enough else None)
    once = torch.from_numpy((table.scale > 0) | (table.shift == table.shift[0]))  # at scale 0 all shifts are the same
    return LabelledImages(cropped(table.pixels())[once], torch.from_numpy(table.label)[once]), enough


def _swapped(model: TorchClassifier, module: nn.Module) -> TorchClassifier:
    """The same classifier with another module."""
    return TorchClassifier(
        module,
        device=str(model.device),
        name=model.name,
        labels=model.labels,
        output="logits",
        preprocess=model.preprocess,
    )
