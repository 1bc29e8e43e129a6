"""Studies small enough for minutes that together go through everything a run can do, for `same_rows.py`."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from PIL import Image

SAMPLE = Path(__file__).resolve().parents[1] / "src/brittle/images/data/fashion-sample.npz"
SIDES = [(28, 28), (40, 28), (24, 36), (56, 44), (28, 28), (33, 33)]  # height, width
PHOTOS = 42


class Scenario(NamedTuple):
    """Commands given one after the other in a folder of its own, each with the run folder that it makes."""

    commands: Mapping[str, tuple[str, ...]]
    files: Mapping[str, str] = {}
    prepare: Callable[[Path], None] | None = None


def photographs(folder: Path) -> None:
    """Images of the bundled sample in several sizes, some in colour: photos/CLASS/NUMBER.png, and flat/NUMBER.png."""
    with np.load(SAMPLE) as sample:
        arrays = {name: sample[name] for name in sample.files}
    pixels = next(each for each in arrays.values() if each.ndim >= 3)
    labels = next(each for each in arrays.values() if each.shape == (len(pixels),) and each.dtype.kind in "iu")
    for place in range(PHOTOS):
        grey = Image.fromarray(pixels[place].squeeze().astype(np.uint8))
        height, width = SIDES[place % len(SIDES)]
        resized = grey.resize((width, height), Image.Resampling.BILINEAR)
        made = Image.merge("RGB", (resized, resized.point(lambda value: value // 2), resized))
        (folder / "flat").mkdir(exist_ok=True)
        (folder / "photos" / f"{int(labels[place])}").mkdir(parents=True, exist_ok=True)
        made.save(folder / "photos" / f"{int(labels[place])}" / f"{place:03}.png")
        made.save(folder / "flat" / f"{place:03}.png")


def stimuli(folder: Path) -> None:
    """Grey mixtures of two images of the bundled sample as cue-conflict stimuli: stimuli/Bag/Bag1-Coat2.png."""
    with np.load(SAMPLE) as sample:
        pixels, labels = (next(sample[name] for name in sample.files if sample[name].ndim == many) for many in (3, 1))
    shown = {
        f"{word}{place}": pixels[labels == number][place].astype(np.float64)
        for word, number in (("Bag", 8), ("Coat", 4), ("Dress", 3))
        for place in range(3)
    }
    for shape, texture in itertools.permutations(shown, 2):
        made = Image.fromarray((0.6 * shown[shape] + 0.4 * shown[texture]).astype(np.uint8))
        (folder / "stimuli" / shape[:-1]).mkdir(parents=True, exist_ok=True)
        made.save(folder / "stimuli" / shape[:-1] / f"{shape}-{texture}.png")


def studies(
    texts: Mapping[str, str],
    files: Mapping[str, str] = MappingProxyType({}),
    prepare: Callable[[Path], None] | None = None,
) -> Scenario:
    """A study file for each run."""
    return Scenario(
        {name: ("run", f"{name}.toml", "--out", name) for name in texts},
        {f"{name}.toml": text for name, text in texts.items()} | dict(files),
        prepare,
    )


BOTH = """
[classifiers]
plain = "bundled:plain"
augmented = "bundled:augmented"
"""
NET = '''
import torch

import brittle


def make():
    """The bundled network: of what is resized to 28×28."""
    return brittle.classifier("bundled:plain", device="cpu").module


def any_size(images):
    """Scores of four by four means, whatever the size."""
    means = torch.nn.functional.adaptive_avg_pool2d(images.double(), 4).flatten(1)
    weights = torch.randn(means.shape[1], 10, generator=torch.Generator().manual_seed(1)).double()
    return 3 * means @ weights
'''
ROUGH = """
import torch

import brittle


def rough(much):
    module = brittle.classifier("bundled:plain", device="cpu").module
    generator = torch.Generator().manual_seed(round(1000 * much))
    with torch.no_grad():
        for weights in module.parameters():
            weights += much * weights.std() * torch.randn(weights.shape, generator=generator)
    return module


def little():
    return rough(0.1)


def some():
    return rough(0.3)


def much():
    return rough(0.5)
"""
MODELS = """
[classifiers]
plain = { spec = "bundled:plain", size = 1, architecture = "net" }
augmented = { spec = "bundled:augmented", size = 2, architecture = "net" }
little = { spec = "torch:rough.py:little", size = 3, architecture = "net" }
some = { spec = "torch:rough.py:some", size = 4, architecture = "net" }
much = { spec = "torch:rough.py:much", size = 5, architecture = "net" }
"""
RAGGED = """
seed = 3
nuisances = ["affine:alpha=30", "noise:sigma=0.1", "translation:sigma=0.1"]
[classifiers]
resized = "torch:net.py:make,size=28,crop=28,channels=grey"
any = "python:net.py:any_size"
[images]
photos = "folder:photos"
flat = {{ spec = "folder:flat,labels=none", count = 20 }}
[robustness]
samples = 12
estimand = "{estimand}"
extra = ["nll", "ece", "top5"]
{more}
"""

SCENARIOS: dict[str, Scenario] = {
    "severities": studies(
        {
            "points": f"""
seed = 7
nuisances = ["noise", "fog", "affine:alpha=50", "patch", "glass-blur"]
{BOTH}
[images]
some = {{ spec = "sample", count = 40 }}
[robustness]
samples = 3
[breaking-points]
step = 0.25
limit = 4
repeats = 2
[measures.fresh]
kind = "breaking-points"
noise = "fresh"
step = 10
limit = 100
nuisances = ["noise"]
[measures.narrowed]
kind = "failure-points"
tolerance = 0.05
repeats = 2
[measures.first]
kind = "failure-points"
only = "first"
tolerance = 0.1
""",
            "derived": f"""
seed = 8
nuisances = ["noise", "fog", "rotation:sigma=30"]
{MODELS}
[images]
some = {{ spec = "sample", count = 60 }}
[robustness]
samples = 2
[failure-points]
[ranking]
[corruption-error]
resamples = 200
[line]
[interference]
simulations = 200
""",
        },
        {"rough.py": ROUGH},
    ),
    "looks": studies(
        {
            "looks": f"""
seed = 9
nuisances = ["patch", "fourier-mask", "occlusion"]
{MODELS.replace(" }", ', group = "all" }', 2)}
[images]
some = {{ spec = "sample", where = ["class=Shirt/Pullover/Coat"], count = 40, train = "trained" }}
trained = {{ spec = "sample", where = ["class=Bag/Trouser/Sandal"], count = 40 }}
[robustness]
samples = 2
[occlusion]
repeats = 2
shares = [0.2, 0.5, 0.8]
[shuffling]
[augmentation]
of = ["mixup", "cutmix", "rotation:sigma=20"]
samples = 2
""",
            "words": f"""
seed = 10
nuisances = ["rotation:sigma=10"]
{BOTH}
[images]
stimuli = "cue-conflict:stimuli,channels=grey"
[robustness]
samples = 2
[cue-conflict]
resamples = 200
[error-consistency]
resamples = 200
""",
        },
        {"rough.py": ROUGH},
        stimuli,
    ),
    "inside": studies(
        {
            "layers": f"""
seed = 11
nuisances = ["rotation:sigma=10"]
{BOTH}
[images]
some = {{ spec = "sample", count = 10 }}
[robustness]
samples = 2
[layer-noise]
layers = ["0", "1", "6-10"]
step = 0.25
repeats = 2
networks = 3
[layer-changes]
layers = ["0", "4-6"]
steps = 60
""",
            "changes": f"""
seed = 12
nuisances = ["rotation:sigma=10"]
{BOTH}
[images]
some = {{ spec = "sample", count = 30 }}
[robustness]
samples = 2
[perturbation]
count = 8
draw = 2
steps = 200
[measures.signs]
kind = "perturbation"
method = "i-fgsm"
targets = ["Bag", "Coat"]
count = 6
[connectedness]
per-class = 4
reads = ["perturbation"]
""",
        }
    ),
    "demo": Scenario({"demo": ("demo", "--out", "demo")}),
    "weak-points": studies(
        {
            "default": f"""
seed = 1
nuisances = ["affine:alpha=50", "occlusion"]
{BOTH}
[images]
some = {{ spec = "sample", count = 60 }}
[robustness]
samples = 40
[weak-points]
images = 12
budget = 600
keep = 50
""",
            "chain": f"""
seed = 2
nuisances = ["affine:alpha=50", "rotation:sigma=30"]
{BOTH}
[images]
some = {{ spec = "sample", count = 30 }}
[robustness]
samples = 10
[weak-points]
sampler = "metropolis"
images = 6
chains = 4
steps = 120
burn-in = 80
tries = 16
keep = 40
""",
            "alone": f"""
images = ["sample"]
nuisances = ["affine:alpha=100"]
{BOTH}
[weak-points]
sampler = "smc"
images = 6
budget = 400
""",
        }
    ),
    "ragged": Scenario(
        {
            "population": ("run", "population.toml", "--out", "population", "--batch", "16"),
            "drawn": ("run", "drawn.toml", "--out", "drawn"),
        },
        {
            "net.py": NET,
            "population.toml": RAGGED.format(
                estimand="population", more="[weak-points]\nimages = 5\nbudget = 200\nkeep = 20"
            ),
            "drawn.toml": RAGGED.format(estimand="drawn", more=""),
        },
        photographs,
    ),
    "estimands": studies(
        {
            estimand: f"""
seed = 4
nuisances = ["affine:alpha=25", "rotation:sigma=15"]
{BOTH}
[images]
{images}
[robustness]
samples = 16
estimand = "{estimand}"
worst-of = 5
confidence = 0.9
extra = ["nll", "ece", "top5"]
"""
            for estimand, images in {
                "set": 'few = { spec = "sample", where = ["class=Bag/Coat/Sandal"] }',
                "drawn": 'few = { spec = "sample", count = 120 }',
            }.items()
        }
    ),
    "tolerance": studies(
        {
            estimand: f"""
seed = 5
nuisances = ["affine:alpha=100", "affine:alpha=25"]
{BOTH}
[images]
sample = {{ spec = "sample"{which} }}
[robustness]
tolerance = {tolerance}
estimand = "{estimand}"
{more}
"""
            for estimand, which, tolerance, more in (
                ("population", "", 0.06, "[weak-points]\nimages = 4\nbudget = 300\nkeep = 20"),
                ("drawn", ", count = 600", 0.05, ""),
                ("set", ', where = ["class=Bag/Coat"]', 0.03, ""),
            )
        }
    ),
    "hardening": Scenario(
        {
            "hardened": (
                *("harden", "bundled:plain", "sample", "--nuisance", "affine:alpha=50", "--out", "hardened"),
                *("--rounds", "2", "--steps", "12", "--batch-size", "64", "--calls", "3000", "--sampled", "300"),
                *("--samples", "10", "--seed", "6"),
            )
        }
    ),
}
