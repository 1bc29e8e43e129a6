"""What papers/cns2025 keeps of its runs, and accuracy over some of the classes, worked out a second time."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

import brittle

pytestmark = pytest.mark.warned("nothing is said of an effect")

HERE = Path(__file__).parents[2] / "papers" / "cns2025"
MODULES = ("gather", "subsets", "figures", "page", "photographs", "efficientnet", "table2")


@pytest.fixture
def modules(monkeypatch):
    """The page's own modules, whose names other pages use too."""
    monkeypatch.syspath_prepend(str(HERE))
    before = {name: sys.modules.pop(name, None) for name in MODULES}
    yield importlib.import_module
    for name, module in before.items():
        sys.modules.pop(name, None)
        sys.modules.update({name: module} if module else {})


@pytest.fixture(scope="module")
def summary():
    study = {
        "classifiers": {
            f"net-{place}": {"spec": f"bundled:{name}", "parameters": float(place + 1)}
            for place, name in enumerate(("plain", "augmented", "plain", "augmented", "plain"))
        },
        "images": {"test": {"spec": "sample", "count": 20}},
        "nuisances": {"noise": "noise:level=1", "fog": "fog:level=1"},
        "measures": {kind: {"kind": kind} for kind in ("failure-points", "corruption-error", "ranking", "line")},
    }
    return brittle.run(study)


def test_tables_say_what_the_summary_says_and_the_page_shows_them(modules, summary, tmp_path):
    gather, page, figures = (modules(name) for name in ("gather", "page", "figures"))
    gather.write("fashion", [], {"kinds": summary}, {"python": "3"}, tmp_path)
    points = gather.read(tmp_path, "fashion", "points", "kinds")
    results = summary["measures"]["failure-points"]["results"]
    assert [row["mean"] for row in points] == [row["mean"] for row in results]
    assert len(gather.read(tmp_path, "fashion", "severities")) == 5 * 2 * 6
    mce = summary["measures"]["corruption-error"]["results"][1]["mce"]
    text = "\n".join(page.sections(tmp_path))
    assert f"| net-1 | {mce:.3f} [" in text
    assert "Few classes against all" in text
    figures.draw(tmp_path, tmp_path)
    drawn = {file.name for file in tmp_path.glob("*.png")}
    assert drawn == {"fashion-drops.png", "fashion-ranks.png", "fashion-failures.png", "line.png"}


def test_accuracy_and_drop_over_some_classes_are_those_of_their_images(modules):
    """Two classes of 3 and 1 images, under two shifts: accuracy at 0 is (3·1 + 0)/4, and above (3·a + b)/4."""
    subsets = modules("subsets")
    rows = [
        {"classifier": "n", "class": "a", "images": 3, "accuracy": [1.0, 2 / 3, 1 / 3]},
        {"classifier": "n", "class": "b", "images": 1, "accuracy": [0.0, 1.0, 0.0]},
        {"classifier": "n", "class": "a", "images": 3, "accuracy": [1.0, 1.0, 1.0]},
        {"classifier": "n", "class": "b", "images": 1, "accuracy": [0.0, 0.0, 0.0]},
    ]
    accuracy, drop = subsets.over(subsets.curves(rows), np.array([0, 1]))
    assert accuracy == pytest.approx([3 / 4])
    assert drop == pytest.approx([3 / 4 - np.mean([(2 + 1) / 4, 1 / 4, 3 / 4, 3 / 4])])
    accuracy, drop = subsets.over(subsets.curves(rows), np.array([0]))
    assert (accuracy[0], drop[0]) == pytest.approx((1, 1 - np.mean([2 / 3, 1 / 3, 1, 1])))


def test_packed_photographs_keep_the_numbers_of_their_classes(modules):
    photographs = modules("photographs")
    packed = [Path("0004-n0_b.jpg"), Path("0517-n1_crane.jpg")]
    assert photographs.labelled(packed) == [(4, packed[0]), (517, packed[1])]
    with pytest.raises(SystemExit, match="there are 2 photographs"):
        photographs.labelled([Path("n0_b.jpg"), Path("n1_c.jpg")])
