"""A study for every measure that ends in seconds, for `same_rows.py`, spelled as they are today (see `former.py`)."""

from __future__ import annotations

import csv
import itertools
from pathlib import Path

import numpy as np
from PIL import Image
from scenarios import BOTH, SAMPLE, Scenario, studies

NOISES = (0, 2, 4, 6)  # tenths of the weights' own standard deviation
MODELS = '''
"""The bundled classifiers with noise on their weights."""

import torch

import brittle


def _noisy(name, sigma):
    module = brittle.classifier(f"bundled:{name}", device="cpu").module
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for weights in module.parameters():
            weights += sigma * weights.std(correction=0) * torch.randn(weights.shape, generator=generator)
    return module
''' + "".join(
    f"\n\ndef {name}_{noise}():\n    return _noisy({name!r}, {noise / 10})\n"
    for name in ("plain", "augmented")
    for noise in NOISES
)
NAMES = "\n".join(
    ("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot")
)
EIGHT = "[classifiers]\n" + "\n".join(
    f"{name}-{noise} = {{ spec = 'torch:models.py:{name}_{noise},labels=names.txt', architecture = {size!r}, "
    f"noise = {noise / 10}, group = '{name}{noise if noise > 2 else ''}' }}"
    for name, size in (("plain", "small"), ("augmented", "large"))
    for noise in NOISES
)
CUES = ("Bag", "Coat", "Sandal", "Trouser")
IMAGES_OF_EACH = 3
SCALES = (0.0, 0.5, 1.0, 1.5, 2.0)


def _bundled() -> tuple[np.ndarray, np.ndarray]:
    """Pixels (n, 28, 28) uint8 and labels (n,) of the bundled sample."""
    with np.load(SAMPLE) as sample:
        arrays = [sample[name] for name in sample.files]
    pixels = next(each for each in arrays if each.ndim >= 3)
    labels = next(each for each in arrays if each.shape == (len(pixels),) and each.dtype.kind in "iu")
    return pixels.reshape(len(pixels), *pixels.shape[-2:]), labels


def stimuli(folder: Path) -> None:
    """stimuli/SHAPE/SHAPE1-TEXTURE2.png, which mix two images, and decisions of two people about them."""
    pixels, labels = _bundled()
    classes = {"Bag": 8, "Coat": 4, "Sandal": 5, "Trouser": 1}
    rows = []
    for shape, texture in itertools.product(CUES, CUES):
        for one, other in itertools.product(range(IMAGES_OF_EACH), range(IMAGES_OF_EACH)):
            images = [
                pixels[np.flatnonzero(labels == classes[name])[which]]
                for name, which in ((shape, one), (texture, other))
            ]
            mixed = (0.6 * images[0] + 0.4 * images[1].T).astype(np.uint8)
            name = f"{shape}{one + 1}-{texture}{other + 1}.png"
            (folder / "stimuli" / shape).mkdir(parents=True, exist_ok=True)
            Image.fromarray(mixed).save(folder / "stimuli" / shape / name)
            rows += [("subject-01", shape if one or other else texture, shape, name)]
            rows += [("subject-02", texture if one > other else shape, shape, name)]
    with (folder / "people.csv").open("w", newline="", encoding="utf-8") as stream:
        said = csv.writer(stream)
        said.writerow(("subj", "session", "trial", "rt", "object_response", "category", "condition", "imagename"))
        said.writerows((who, 1, 1, 0.5, answer, shape, 0, name) for who, answer, shape, name in rows)


def scales(folder: Path) -> None:
    """shifted.csv names images of the bundled sample that grow darker, or lose their edges, at four scales above 0."""
    pixels, labels = _bundled()
    rows = []
    for place, (shift, scale) in itertools.product(range(30), itertools.product(("dark", "narrow"), SCALES)):
        picture = pixels[place].copy()
        if shift == "dark":
            picture = (picture * (1 - 0.4 * scale)).astype(np.uint8)
        elif scale:
            edge = round(4 * scale)
            picture[:, :edge] = picture[:, -edge:] = 0
        name = f"shifted/{shift}-{place}-{scale}.png"
        (folder / "shifted").mkdir(exist_ok=True)
        Image.fromarray(picture).save(folder / name)
        rows.append((name, int(labels[place]), shift, scale, place))
    with (folder / "shifted.csv").open("w", newline="", encoding="utf-8") as stream:
        table = csv.writer(stream)
        table.writerow(("path", "class", "shift", "scale", "seed"))
        table.writerows(rows)


SOME = """
[images]
some = { spec = "sample", count = 40 }
"""
OF_MEASURES: dict[str, Scenario] = {
    "clean": Scenario(
        {"clean": ("run", "clean.toml", "--out", "clean")},
        {"clean.toml": f"seed = 7\n{BOTH}{SOME}\n[clean]\nconfidence = 0.9\n"},
        draws=False,
    ),
    "breaking-points": studies(
        {
            "breaks": f"""
seed = 8
nuisances = ["noise:sigma=0.1", "affine:alpha=100", "fog:level=2,spread=0", "noise:level=2"]
{BOTH}{SOME}
[breaking-points]
repeats = 2
[measures.fresh]
kind = "breaking-points"
noise = "fresh"
step = 4
limit = 128
nuisances = ["noise:sigma=0.1"]
[measures.levels]
kind = "breaking-points"
step = 0.5
limit = 6
nuisances = ["fog:level=2,spread=0"]
"""
        }
    ),
    "failure-points": studies(
        {
            "fails": f"""
seed = 9
nuisances = ["noise:sigma=0.1", "affine:alpha=100", "fog:level=2,spread=0"]
{BOTH}{SOME}
[failure-points]
repeats = 2
[measures.first]
kind = "failure-points"
only = "first"
step = 0.25
limit = 3
nuisances = ["affine:alpha=100"]
[measures.narrowed]
kind = "failure-points"
severities = [20, 60, 120]
tolerance = 2
nuisances = ["noise:sigma=0.1"]
"""
        }
    ),
    "scales": Scenario(
        {"scales": ("run", "scales.toml", "--out", "scales")},
        {
            "scales.toml": f"""
seed = 10
{BOTH}
[images]
shifted = "scales:shifted.csv"
[failure-points]
[breaking-points]
[robustness]
samples = 8
[corruption-error]
reference = "plain"
resamples = 200
"""
        },
        scales,
        draws=False,
    ),
    "ranking+corruption-error+line": Scenario(
        {"ranked": ("run", "ranked.toml", "--out", "ranked")},
        {
            "models.py": MODELS,
            "names.txt": NAMES,
            "ranked.toml": f"""
seed = 11
nuisances = ["noise:sigma=0.1", "rotation:sigma=30"]
{EIGHT}{SOME}
[failure-points]
repeats = 2
[ranking]
[corruption-error]
reference = "plain-0"
resamples = 300
[line]
baseline = ["plain", "plain4", "plain6", "augmented", "augmented4", "augmented6"]
covariates = ["noise"]
""",
        },
    ),
    "perturbation": Scenario(
        {"perturbed": ("run", "perturbed.toml", "--out", "perturbed")},
        {
            "perturbed.toml": f"""
seed = 12
{BOTH}{SOME}
[perturbation]
count = 12
draw = 2
steps = 150
[measures.unheld]
kind = "perturbation"
targets = ["Bag", "Coat"]
clip = false
count = 6
steps = 100
[measures.signs]
kind = "perturbation"
method = "i-fgsm"
targets = ["none"]
count = 12
[measures.one-step]
kind = "perturbation"
method = "t-fgsm"
draw = 2
count = 12
"""
        },
        draws=False,
    ),
    "layer-noise+layer-changes": Scenario(
        {"layered": ("run", "layered.toml", "--out", "layered")},
        {
            "layered.toml": f"""
seed = 13
{BOTH}
[images]
some = {{ spec = "sample", count = 20 }}
[measures.layer-noise]
kind = "layer-noise"
step = 0.25
limit = 2.5
repeats = 2
networks = 3
[measures.fresh]
kind = "layer-noise"
layers = ["0-2"]
noise = "fresh"
step = 0.25
limit = 2.5
repeats = 2
[measures.layer-changes]
kind = "layer-changes"
targets = 2
steps = 40
"""
        },
        draws=False,
    ),
    "connectedness": Scenario(
        {"connected": ("run", "connected.toml", "--out", "connected")},
        {
            "connected.toml": f"""
seed = 14
{BOTH}
[images]
some = {{ spec = "sample", where = ["class=Bag/Coat/Sandal"], count = 30 }}
[connectedness]
per-class = 8
steps = 16
tries = 3
points = 32
"""
        },
        draws=False,
    ),
    "occlusion+interference": studies(
        {
            "hidden": f"""
seed = 15
nuisances = ["patch", "fourier-mask", "tiles", "occlusion"]
{BOTH}
[images]
test = {{ spec = "sample", count = 40, train = "train" }}
train = {{ spec = "sample", where = ["class=Bag/Coat/Sandal"], count = 50 }}
[occlusion]
shares = [0.1, 0.3, 0.5, 0.8]
repeats = 2
[robustness]
samples = 8
[interference]
simulations = 500
"""
        }
    ),
    "augmentation+groups": Scenario(
        {"groups": ("run", "groups.toml", "--out", "groups")},
        {
            "models.py": MODELS,
            "names.txt": NAMES,
            "groups.toml": f"""
seed = 16
nuisances = ["rotation:sigma=30"]
{EIGHT}{SOME}
[augmentation]
of = ["mixup", "cutmix", "fmix", "cutout", "rotation:sigma=10"]
reference = "plain-0"
samples = 2
[robustness]
samples = 6
[interference]
simulations = 500
""",
        },
    ),
    "shuffling+cue-conflict+error-consistency": Scenario(
        {"shapes": ("run", "shapes.toml", "--out", "shapes")},
        {
            "models.py": MODELS,
            "names.txt": NAMES,
            "shapes.toml": f"""
seed = 17
{EIGHT}
[images]
some = {{ spec = "sample", count = 40 }}
stimuli = "cue-conflict:stimuli"
[measures.shuffling]
kind = "shuffling"
images = ["some"]
[measures.shuffling-in-cycles]
kind = "shuffling"
moves = "cycle"
grids = [3]
images = ["some"]
[measures.cue-conflict]
kind = "cue-conflict"
images = ["stimuli"]
decisions = ["people.csv"]
resamples = 200
[measures.error-consistency]
kind = "error-consistency"
images = ["some", "stimuli"]
decisions = ["people.csv"]
resamples = 200
""",
        },
        stimuli,
        draws=False,
    ),
}
