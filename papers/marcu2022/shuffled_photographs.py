"""EfficientNet-Lite 0, 1 and 2 on shuffled photographs of ImageNet: figure 7 in kind.

    PYTHONPATH=build/efficientnet python papers/marcu2022/shuffled_photographs.py --photographs FOLDER

needs the packages that papers/fawzi2016/efficientnet.py names, and a photograph of each of the 1,000 classes. Writes
shuffled-photographs.md, a row per grid and network and the classes that gain most, and shuffled-photographs.png.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

import brittle

sys.path.append(str(Path(__file__).resolve().parents[1] / "cns2025"))

import photographs
from cells import table

HERE = Path(__file__).resolve().parent
GRIDS = (2, 4, 8)
NAMES = ("lite0", "lite1", "lite2")
GAINING = 5  # classes named of each
SHOWN = 25  # bars
SIMULATIONS = 500  # of chance: there are a thousand classes


def gains(row: dict[str, Any]) -> list[tuple[str, float]]:
    """Classes and the points of images that they gain, the greatest gain first."""
    found = [(each["class"], each["increases"][0]) for each in row["per_class"]]
    return sorted(found, key=lambda each: -each[1])


def line(row: dict[str, Any]) -> list[str]:
    most = ", ".join(f"{name} {points:.1f}" for name, points in gains(row)[:GAINING])
    chance = row["chance_spread"]["high"]
    return [
        str(row["nuisance"]).removeprefix("shuffle-"),
        str(row["group"]),
        f"{row['points_lost']:.1f}",
        f"{row['di']:.2f}",
        f"{chance:.2f}",
        most,
    ]


def draw(rows: list[dict[str, Any]], out: Path) -> None:
    figure, panels = plt.subplots(1, len(rows), figsize=(4.6 * len(rows), 3.6), sharey=True)
    for axes, row in zip(panels, rows, strict=True):
        names, points = zip(*gains(row)[:SHOWN], strict=True)
        axes.bar(range(len(points)), points, color="#0072B2")
        short = [name.partition(" (n")[0] for name in names]
        axes.set_xticks(range(len(points)), short, rotation=90, fontsize=7)
        grid = row["nuisance"].removeprefix("shuffle-")
        axes.set_title(f"{row['group']}, {grid}×{grid}", fontsize=10)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("points of images gained")
    figure.tight_layout()
    figure.savefig(out, dpi=110)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--photographs", type=Path, required=True, help="folder of the photographs")
    parser.add_argument("--work", type=Path, default=Path("build/shuffled-photographs"))
    parser.add_argument("--count", type=int, help="photographs; all")
    parser.add_argument("--out", type=Path, default=HERE)
    asked = parser.parse_args()
    images, names = photographs.written(asked.photographs, asked.work, asked.count)
    classifiers = {name: photographs.classifier(name, None, names) for name in NAMES}
    spaces = {f"shuffle-{grid}": f"shuffle:grid={grid},moves=permutation" for grid in GRIDS}
    found = brittle.interference(
        classifiers, images, spaces, samples=1, simulations=SIMULATIONS, batch=64, out=asked.work / "run"
    )
    rows = list(found["results"])
    head = ("grid", "network", "points lost", "DI", "95 % of chance", "classes that gain most, points")
    text = table(head, [line(row) for row in rows])
    (asked.out / "shuffled-photographs.md").write_text(
        f"# Shuffled photographs\n\nWritten by shuffled_photographs.py: {rows[0]['images']:,} photographs, one run of "
        f"each network, so nothing is said of consistency.\n\n{text}",
        encoding="utf-8",
    )
    draw([row for row in rows if row["nuisance"] == f"shuffle-{GRIDS[-1]}"], asked.out / "shuffled-photographs.png")
    print(text)


if __name__ == "__main__":
    main()
