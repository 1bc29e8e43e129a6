"""Training a network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from brittle.api.carried_out import Shown, shown, unseen, warn

if TYPE_CHECKING:
    from brittle.training import Network


def train(
    network: str | Network,
    images: Any,
    out: str | Path,
    *,
    test: Any = None,
    epochs: int | None = None,
    batch_size: int | None = None,
    rate: float | None = None,
    schedule: Literal["constant", "cosine", "step"] | None = None,
    decay: float | None = None,
    precision: Literal["float32", "bfloat16"] | None = None,
    mix: str | None = None,
    objective: Literal["mixed", "reformulated"] = "mixed",
    mix_with: Any = None,
    crop: int = 0,
    flip: bool = False,
    random_labels: bool = False,
    compile: bool = False,
    checkpoints: int = 1,
    seed: int = 0,
    device: str | None = None,
    progress: Shown = None,
) -> dict[str, Any]:
    """Trains a network into the file `out`, or resumes its training; returns what `brittle train --json` prints.

    `network` is a spec such as "cnn-2-da:shift=4" or an object, `images` an image set, and so is `test`, on which the
    network is scored in the end; `TrainingImages` are taken too, which several trainings may share. Where the network's
    own recipe is not to be followed, options say so; `brittle train --help` explains them.
    """
    from brittle.training import train as train_into  # what trains is imported when something is trained

    with shown(progress) as seen:
        found = train_into(
            network,
            images,
            out,
            test=test,
            seed=seed,
            device=device,
            progress=seen,
            epochs=epochs,
            batch_size=batch_size,
            rate=rate,
            schedule=schedule,
            decay=decay,
            precision=precision,
            mix=mix,
            objective=objective,
            mix_with=mix_with,
            crop=crop,
            flip=flip,
            random_labels=random_labels,
            compile=compile,
            checkpoints=checkpoints,
        )
    warn(unseen(seen))
    return found
