"""CNS-Bench's evaluation redone on what is to be had: runs failure points, corruption errors, rankings and the line.

    python papers/cns2025/redo.py --only fashion [--device cuda --workers 3]    # trains and measures small networks
    PYTHONPATH=build/efficientnet python papers/cns2025/redo.py --only lite     # EfficientNet-Lite on photographs
    python papers/cns2025/redo.py --small          # minutes on two cores, to see that it works

Then `python papers/cns2025/page.py` makes the tables and figures. --out gets the tables of each part as Parquet.
Networks that papers/marcu2022/redo.py has trained (in --work) are not trained again.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

# Behind this folder's own: there is a gather.py in both.
sys.path.append(str(Path(__file__).resolve().parents[1] / "marcu2022"))

import data
import gather
import networks
import photographs
import plan

import brittle
import training
from brittle.engine.store.run_folder import environment

HERE = Path(__file__).resolve().parent
PARTS = ("fashion", "lite")
LITES = ("lite0", "lite1", "lite2")
# ImageNet-C's fifteen, its extra ones, and weather of the same kind. Of the first the level is all; the prior of the
# others varies it, unless its spread is 0.
FIXED = ("noise", "shot", "impulse", "speckle", "brightness", "contrast", "saturation")
VARIED = (
    *("defocus-blur", "glass-blur", "motion-blur", "zoom-blur", "gaussian-blur"),
    *("snow", "frost", "fog", "elastic-transform", "pixelate", "jpeg"),
    *("rain", "dust", "smog", "sandstorm"),
)
CORRUPTIONS = {name: f"{name}:level=1" for name in FIXED} | {name: f"{name}:level=1,spread=0" for name in VARIED}
GREY = {name: spec for name, spec in CORRUPTIONS.items() if name != "saturation"}
CONTRAST = (1, 2, 3, 4, 5, 6, 7)  # appendix A.4
FEW = 2  # corruptions, where only a few images are used
FEW_PHOTOGRAPHS = 3
Studies = Iterator[tuple[str, dict[str, Any]]]


def _measures(reference: str, line: bool = True) -> dict[str, Any]:
    found: dict[str, Any] = {
        "failure-points": {"kind": "failure-points"},
        "corruption-error": {"kind": "corruption-error", "reference": reference},
        "ranking": {"kind": "ranking"},
    }
    return found | ({"line": {"kind": "line", "covariates": ["parameters"]}} if line else {})


def some(corruptions: dict[str, str], small: bool) -> dict[str, str]:
    return dict(itertools.islice(corruptions.items(), FEW)) if small else corruptions


def parameters(facts: dict[str, Any]) -> int:
    return sum(each.numel() for each in brittle.classifier(facts["classifier"]).module.parameters())


def trained(settings: training.Settings) -> dict[str, plan.Network]:
    there = networks.planned(settings.small)
    return {each.name: each for each in there if training.weights_of(settings, each).exists()}


def told(settings: training.Settings) -> list[dict[str, Any]]:
    """A row per network."""
    return [
        {
            "name": name,
            "group": each.group,
            "seed": each.seed,
            "network": each.network,
            "epochs": each.epochs,
            "parameters": parameters(facts := training.facts_of(settings, each)),
            "test_error": facts["test_error"],
        }
        for name, each in trained(settings).items()
    ]


def fashion(settings: training.Settings, rows: Sequence[dict[str, Any]]) -> Studies:
    """One network of each kind under every corruption, and five sizes of one architecture with three runs each."""
    there, numbers = trained(settings), {row["name"]: row["parameters"] for row in rows}
    images = {"test": {"spec": data.fashion(settings.data, "t10k"), "count": 30 if settings.small else 2000}}
    spaces = some(GREY, settings.small)

    def study(chosen: dict[str, plan.Network], reference: str) -> dict[str, Any]:
        classifiers = {
            name: {
                "spec": training.facts_of(settings, each)["classifier"],
                "group": each.group,
                "architecture": networks.architecture(each),
                "parameters": numbers[name],
            }
            for name, each in chosen.items()
        }
        return {
            "classifiers": classifiers,
            "images": images,
            "nuisances": spaces,
            "measures": _measures(reference),
        }

    yield "kinds", study({name: each for name, each in there.items() if each.seed == networks.FIRST}, "cnn-1-0")
    wide = {name: each for name, each in there.items() if each.group.startswith(networks.WIDTH)}
    yield "sizes", study(wide, f"{networks.WIDTH}{networks.WIDTHS[0]}-{networks.FIRST}")


def lite(options: argparse.Namespace) -> Studies:
    """EfficientNet-Lite 0, 1 and 2 on ImageNet's photographs: every corruption, and contrast at seven severities."""
    folder = options.photographs or options.data / "imagenet-sample"
    spec, names = photographs.written(folder, options.work, FEW_PHOTOGRAPHS if options.small else None)
    classifiers = {name: photographs.classifier(name, options.packed, names) for name in LITES}
    about = {"classifiers": classifiers, "images": {"photographs": {"spec": spec}}}
    every = some(CORRUPTIONS, options.small)
    yield "corruptions", about | {"nuisances": every, "measures": _measures(LITES[0], line=False)}
    seven = {"failure-points": {"kind": "failure-points", "severities": list(CONTRAST)}, "ranking": {"kind": "ranking"}}
    yield "contrast", about | {"nuisances": {"contrast": "contrast:level=1"}, "measures": seven}


def carried_out(part: str, rows: Sequence[dict[str, Any]], studies: Studies, options: argparse.Namespace) -> None:
    runs: dict[str, Any] = {}
    for name, study in studies:
        begun = time.monotonic()
        folder = options.work / "runs" / f"cns-{part}-{name}"
        runs[name] = brittle.run(study, out=folder, device=options.device, batch=options.batch)
        gather.write(part, list(rows), runs, environment(), options.out)
        print(f"{part}: {name} measured in {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)


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
        training.train_all(networks.planned(options.small), settings, options.workers, end)
        rows = told(settings)
        carried_out("fashion", rows, fashion(settings, rows), options)
    if "lite" in options.only:
        carried_out("lite", (), lite(options), options)


if __name__ == "__main__":
    main()
