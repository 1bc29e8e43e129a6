"""CNS-Bench's evaluation redone on what is to be had: runs failure points, corruption errors, rankings and the line.

    python papers/cns2025/redo.py --only fashion [--device cuda --workers 3]    # trains and measures small networks
    PYTHONPATH=build/efficientnet python papers/cns2025/redo.py --only lite     # EfficientNet-Lite on photographs
    python papers/cns2025/redo.py --small          # minutes on two cores, to see that it works

Then `python papers/cns2025/page.py` makes the tables and figures. --out gets one JSON file per part, with the summaries
of its runs. Networks that papers/marcu2022/redo.py has trained (in --work) are not trained again.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

sys.path.append(str(Path(__file__).resolve().parents[1] / "marcu2022"))
sys.path.append(str(Path(__file__).resolve().parents[1] / "fawzi2016"))

import data
import efficientnet
import plan
from table2 import square

import brittle
import training
from brittle.engine.runs import environment

HERE = Path(__file__).resolve().parent
PARTS = ("fashion", "lite")
# ImageNet-C's fifteen but for elastic, which has no level here, the extra ones, and weather of the same kind.
CORRUPTIONS = (
    *("noise", "shot", "impulse", "speckle"),
    *("defocus-blur", "glass-blur", "motion-blur", "zoom-blur", "gaussian-blur"),
    *("snow", "frost", "fog", "brightness", "contrast", "saturation", "pixelate", "jpeg"),
    *("rain", "dust", "smog", "sandstorm"),
)
GREY = tuple(name for name in CORRUPTIONS if name != "saturation")
CONTRAST = (1, 2, 3, 4, 5, 6, 7)  # appendix A.4
WIDTHS = (4, 8, 16, 32)  # of PreAct-ResNet-18, whose own is 64
FIRST = 0  # the run of each kind that rankings compare


def others() -> list[plan.Network]:
    """Networks and recipes of the other papers' studies, on FashionMNIST."""
    short = plan.SHORT
    kinds = ("cnn-1", "cnn-2", "cnn-2-dropout", "cnn-2-da", "small-plain", "small-augmented")
    widths = [
        plan.Network(
            f"width-{width}",
            seed,
            network=f"{plan.PREACT}:width={width}",
            epochs=short,
            options={"crop": 4, "flip": True},
        )
        for seed in plan.FEWER
        for width in WIDTHS
    ]
    full = [plan.Network("width-64", seed, epochs=short, options={"crop": 4, "flip": True}) for seed in plan.FEWER]
    return [plan.Network(kind, FIRST, network=kind, epochs=12) for kind in kinds] + widths + full


def fashion_networks() -> list[plan.Network]:
    earlier = [each for each in (*plan.main_part(), *plan.architectures()) if each.seed == FIRST]
    return earlier + others()


def parameters(facts: dict[str, Any]) -> int:
    return sum(each.numel() for each in brittle.classifier(facts["classifier"]).module.parameters())


def _measures(reference: str, **more: Any) -> dict[str, Any]:
    return {
        "failure-points": {"kind": "failure-points"} | more,
        "corruption-error": {"kind": "corruption-error", "reference": reference},
        "ranking": {"kind": "ranking"},
        "line": {"kind": "line", "attributes": ["parameters"]},
    }


def fashion(settings: training.Settings) -> Iterator[tuple[str, dict[str, Any]]]:
    """One network of each kind under every corruption, and five sizes of one architecture with three runs each."""
    everyone = {each.name: each for each in fashion_networks() if training.weights_of(settings, each).exists()}
    test = data.fashion(settings.data, "t10k")
    images = {"test": {"spec": test, "count": 30 if settings.small else 2000}}
    spaces = {name: f"{name}:level=1" for name in (GREY[:2] if settings.small else GREY)}

    def entry(network: plan.Network) -> dict[str, Any]:
        facts = training.facts_of(settings, network)
        return {"spec": facts["classifier"], "group": network.group, "parameters": parameters(facts)}

    one_each = {name: entry(each) for name, each in everyone.items() if each.seed == FIRST}
    whole = {"classifiers": one_each, "images": images, "nuisances": spaces}
    yield "kinds", whole | {"measures": _measures("cnn-1-0")}
    sizes = {name: entry(each) for name, each in everyone.items() if each.group.startswith("width-")}
    yield "sizes", {"classifiers": sizes, "images": images, "nuisances": spaces} | {"measures": _measures("width-4-0")}


def lite_spec(name: str, packed: Path | None) -> str:
    side = efficientnet.SIDES[name]
    prepared = f"size={side + efficientnet.MARGIN},crop={side},interpolation=bicubic"
    scaled = f"range={efficientnet.RANGE},mean={efficientnet.MEAN},std={efficientnet.STD}"
    if packed is None:
        return f"torch:{HERE.parent}/fawzi2016/efficientnet.py:{name},{prepared},{scaled}"
    return f"torch:{HERE}/packed.py:{name},weights={packed}/{name}.safetensors,{prepared},{scaled}"


def photographs(options: argparse.Namespace) -> str:
    """Squares of 256×256 from the middle of all thousand photographs; a label is the place of a WordNet id."""
    file: Path = options.work / "photographs.npz"
    if not file.exists():
        files = sorted((options.photographs or options.data / "imagenet-sample").glob("*.jpg"))
        squares = np.stack([square(Image.open(each).convert("RGB")) for each in files])
        file.parent.mkdir(parents=True, exist_ok=True)
        np.savez(file, images=squares, labels=np.arange(len(files)))
    return f"npz:{file}"


def lite(options: argparse.Namespace) -> Iterator[tuple[str, dict[str, Any]]]:
    """EfficientNet-Lite 0, 1 and 2 on ImageNet's photographs: every corruption, and contrast at seven severities."""
    classifiers = {name: lite_spec(name, options.packed) for name in efficientnet.SIDES}
    images: dict[str, Any] = {"photographs": {"spec": photographs(options)}}
    if options.small:
        images["photographs"]["count"] = 4
    kinds = CORRUPTIONS[:2] if options.small else CORRUPTIONS
    measures = _measures("lite0")
    del measures["line"]
    every = {name: f"{name}:level=1" for name in kinds}
    yield "corruptions", {"classifiers": classifiers, "images": images, "nuisances": every, "measures": measures}
    seven = {"failure-points": {"kind": "failure-points", "severities": list(CONTRAST)}, "ranking": {"kind": "ranking"}}
    contrast = {"contrast": "contrast:level=1"}
    yield "contrast", {"classifiers": classifiers, "images": images, "nuisances": contrast, "measures": seven}


def carried_out(part: str, planned: Iterator[tuple[str, dict[str, Any]]], options: argparse.Namespace) -> None:
    found: dict[str, Any] = {"runs": {}, "environment": environment()}
    for name, study in planned:
        begun = time.monotonic()
        folder = options.work / "runs" / f"cns-{part}-{name}"
        found["runs"][name] = dict(brittle.run(study, folder, device=options.device, batch=options.batch))
        content = json.dumps(found).encode()
        with gzip.GzipFile(options.out / f"{part}.json.gz", "wb", mtime=0) as file:
            file.write(content)
        print(f"{part}: {name} measured in {time.monotonic() - begun:.0f} s, {len(content) >> 10} kB", file=sys.stderr)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), help="which parts; all by default")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--photographs", type=Path, help="folder of photographs; imagenet-sample of --data")
    parser.add_argument("--packed", type=Path, help="folder that papers/urem/lite.py --pack wrote")
    parser.add_argument("--work", type=Path, help="folder for weights and runs; build/marcu2022, where theirs are")
    parser.add_argument("--out", type=Path, help="folder for the results; this one")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--workers", type=int, default=1, help="networks that are trained at a time")
    parser.add_argument("--batch", type=int, help="images classified at once")
    parser.add_argument("--minutes", type=float, default=1e6, help="after which no other network is begun")
    parser.add_argument("--small", action="store_true", help="a few images, one epoch")
    options = parser.parse_args(arguments)
    small = Path("build/cns-small")
    options.work = options.work or (small if options.small else Path("build/marcu2022"))
    options.out = options.out or (small if options.small else HERE)
    options.out.mkdir(parents=True, exist_ok=True)
    end = time.time() + 60 * options.minutes
    if "fashion" in options.only:
        settings = training.Settings(options.data, options.work, options.device, options.small)
        training.train_all(fashion_networks(), settings, options.workers, end)
        carried_out("fashion", fashion(settings), options)
    if "lite" in options.only:
        carried_out("lite", lite(options), options)


if __name__ == "__main__":
    main()
