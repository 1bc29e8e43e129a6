"""EfficientNet-Lite 0, 1 and 2 on the cue-conflict stimuli of Geirhos et al.: table 2 in kind, and error consistency.

    PYTHONPATH=build/efficientnet python papers/marcu2022/cue_conflict.py --stimuli FOLDER

needs the packages that papers/fawzi2016/efficientnet.py names, and the stimuli as published, `cat/cat7-elephant1.png`.
Writes cue-conflict.parquet, a row per network and stimulus in the columns of model-vs-human, and prints what it found.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import pyarrow.parquet as pq

import brittle

sys.path.append(str(Path(__file__).resolve().parents[1] / "fawzi2016"))

import efficientnet

HERE = Path(__file__).resolve().parent


def classifiers(within: str) -> dict[str, str]:
    """The networks' specs: the shorter side is resized and a square cut out of its middle, as for photographs."""
    file = HERE.parent / "fawzi2016" / "efficientnet.py"
    seen = f"interpolation=bicubic,range={efficientnet.RANGE},mean={efficientnet.MEAN},std={efficientnet.STD}"
    return {
        name: f"torch:{file}:{name},size={side + efficientnet.MARGIN},crop={side},{seen},"
        f"classes=imagenet-16,within={within}"
        for name, side in efficientnet.SIDES.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stimuli", required=True, help="folder of the stimuli")
    parser.add_argument("--within", choices=("mean", "sum"), default="mean", help="how a class's probabilities join")
    parser.add_argument("--out", type=Path, default=HERE / "cue-conflict.parquet")
    asked = parser.parse_args()
    networks, stimuli = classifiers(asked.within), f"cue-conflict:{asked.stimuli}"
    found = brittle.cue_conflict(networks, stimuli, batch=64)
    pq.write_table(found.decisions, asked.out, compression="zstd")
    print(found)
    print(brittle.error_consistency(networks, stimuli, batch=64))


if __name__ == "__main__":
    main()
