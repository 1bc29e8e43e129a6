"""The files of `tests/third_party`, written as somebody else would, as a package that pip has installed."""

import shutil
from pathlib import Path

FILES = sorted((Path(__file__).parents[1] / "third_party").glob("*.py"))
POINTS = """[brittle.measures]
breaking-severity = third_search:BreakingSeverity
doubt = third_doubt:Doubt
group-difference = third_groups:GroupDifference
accuracy-gap = third_gap:AccuracyGap

[brittle.sections]
doubt = third_doubt_section:DoubtSection

[brittle.nuisances]
exposure = third_exposure:Exposure

[brittle.images]
greys = third_greys:Greys

[brittle.classifiers]
grey-level = third_grey_level:GreyLevel
"""


def install(folder):
    """The package in a new folder, which is to be put on the path."""
    about = folder / "third-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: third\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(POINTS)
    for file in FILES:
        shutil.copy(file, folder / f"third_{file.name}")
