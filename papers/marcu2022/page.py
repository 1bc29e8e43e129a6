"""Tables and figures of the page, from what redo.py wrote.

python papers/marcu2022/page.py [--found FOLDER --out FOLDER]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import figures
import tables

HERE = Path(__file__).parent


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--found", type=Path, default=HERE, help="where redo.py wrote its tables")
    parser.add_argument("--out", type=Path, default=HERE)
    options = parser.parse_args()
    text = "\n".join(
        [
            "# Marcu & Prügel-Bennett redone: every figure",
            "",
            "Written by page.py.",
            "",
            *tables.sections(options.found),
        ]
    )
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "results.md").write_text(text, encoding="utf-8")
    figures.draw(options.found, options.out)
    print(text)


if __name__ == "__main__":
    main()
