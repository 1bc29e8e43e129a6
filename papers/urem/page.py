"""Tables and figures of the page, from what redo.py wrote.

    python papers/urem/page.py [--found FOLDER --out FOLDER]

Writes results.md, grid.png, skips.png, matrices.png, bubbles.png and layers.png into --out; what redo.py has not
written is left out.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import figures
import skips
import tables

HERE = Path(__file__).parent


def sections(found: Path) -> Iterator[str]:
    """Every part of results.md whose data is there."""
    yield tables.searches(found)
    if (found / "lite-networks.parquet").exists():
        yield tables.lite(found)
    if (found / "grid-networks.parquet").exists():
        yield tables.grid(found)
    if (found / "skips-networks.parquet").exists():
        yield skips.section(found)
    if (found / "variants-networks.parquet").exists():
        yield tables.variants(found)
    if (found / "grid-networks.parquet").exists():
        yield tables.matrices(found)
    disturbed = figures.layer_tables(found)
    if disturbed:
        yield tables.layers(disturbed)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--found", type=Path, default=HERE, help="where redo.py wrote its tables")
    parser.add_argument("--out", type=Path, default=HERE)
    options = parser.parse_args()
    text = "\n".join(["# UREM redone: every figure", "", "Written by page.py.", "", *sections(options.found)])
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "results.md").write_text(text, encoding="utf-8")
    figures.draw(options.found, options.out)
    print(text)


if __name__ == "__main__":
    main()
