"""Makes docs/images/weak-points.png: the picture that docs/weak-points.md and the README show."""

from __future__ import annotations

from pathlib import Path

import brittle

HERE = Path(__file__).parent


def main() -> None:
    found = brittle.sample("bundled:plain", "sample", "affine:alpha=100", count=20, device="cpu")
    found.picture(HERE / "images" / "weak-points.png", images=6)


if __name__ == "__main__":
    main()
