"""Studies small enough for minutes that together go through everything a run can do, for `same_rows.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
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
    draws: bool = True  # whether θ is drawn, so that there is some to compare


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


def studies(texts: Mapping[str, str]) -> Scenario:
    """A study file for each run."""
    return Scenario(
        {name: ("run", f"{name}.toml", "--out", name) for name in texts},
        {f"{name}.toml": text for name, text in texts.items()},
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
count = 12
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
count = 6
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
count = 6
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
                estimand="population", more="[weak-points]\ncount = 5\nbudget = 200\nkeep = 20"
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
                ("population", "", 0.06, "[weak-points]\ncount = 4\nbudget = 300\nkeep = 20"),
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
