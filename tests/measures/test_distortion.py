"""The DI index beside every measure that distorts images, whether a study asks for it or not."""

import re

import numpy as np
import pytest

import brittle
from brittle.measures.distortion import INTERFERENCE_KEY
from brittle.report.blocks.wording import plain
from brittle.report.console import as_text
from brittle.report.html import write_report
from brittle.report.sections.distortion import MOST_ROWS, distortion_blocks, distortion_line, errors_gather, points

pytestmark = pytest.mark.warned("this prior may destroy the label")

# Class 2 of what is noisy, or by the image's own bits any class alike; right on what is smooth.
CLASSIFIERS = """
import torch
from torch import nn

class Drawn(nn.Module):
    def forward(self, images):
        level = (4 * images.mean((1, 2, 3))).long().clamp(max=3)
        noisy = images.std((1, 2, 3)) > 0.05
        return 9 * nn.functional.one_hot(torch.where(noisy, self.said(images, level), level), 4).float()

    def said(self, images, level):
        return torch.full_like(level, 2)

class Even(Drawn):
    def said(self, images, level):
        return (1e6 * images.var((1, 2, 3))).long() % 4

drawn, even = Drawn(), Even()
"""


def study(folder, **measures):
    (folder / "mine.py").write_text(CLASSIFIERS)
    labels = np.arange(160) % 4
    levels = np.array([0.125, 0.375, 0.625, 0.875], np.float32)[labels]
    np.savez(
        folder / "levels.npz",
        images=np.broadcast_to(levels[:, None, None, None], (160, 1, 8, 8)),
        labels=labels,
        classes=np.array(["night", "dusk", "dawn", "noon"]),
    )
    return {
        "classifiers": {name: f"torch:{folder / 'mine.py'}:{name}" for name in ("drawn", "even")},
        "images": {"levels": f"npz:{folder / 'levels.npz'}"},
        "nuisances": ["noise:sigma=0.12"],
    } | (measures or {"robustness": {"samples": 2}})


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("beside")
    return brittle.run(study(folder), out=folder / "run"), folder / "run"


def test_it_is_told_without_being_asked_for_and_names_the_class(run):
    """Three of four classes, 75 points, go to class 2, which the image set calls dawn. At random, an image of another
    class is given it once in three times: 25 points, and a little more for being the class that gains most."""
    drawn, even = run[0]["measures"]["robustness"][INTERFERENCE_KEY]
    assert (drawn["group"], drawn["top_class"], drawn["nuisance"]) == ("drawn", "dawn", "noise:sigma=0.12")
    assert drawn["di"] == pytest.approx(3.0)
    assert drawn["points_lost"] == drawn["points_to_top"] == pytest.approx(75)
    others = np.random.default_rng(0).choice(4, (2000, 120), p=[2 / 9, 2 / 9, 1 / 3, 2 / 9])
    most = np.mean([np.bincount(each, minlength=4).max() for each in others])
    assert drawn["points_by_chance"] == pytest.approx(100 * most / 160, rel=0.02)
    assert drawn["chance_spread"]["p_value"] < 0.01
    assert even["chance_spread"]["p_value"] > 0.01
    assert "per_class" not in drawn


def test_the_console_has_one_line_and_only_where_it_is_telling(run):
    text = " ".join(as_text(run[0]).split())
    assert text.count("gather in one class") == 1
    drawn, even = run[0]["measures"]["robustness"][INTERFERENCE_KEY]
    assert f"of 75.0 points lost, 75.0 go to dawn; chance would be {drawn['points_by_chance']:.1f}" in text
    assert distortion_line({INTERFERENCE_KEY: [even]}) == []


def test_the_report_shows_it_beside_robustness(run):
    summary, folder = run
    chance = summary["measures"]["robustness"][INTERFERENCE_KEY][0]["points_by_chance"]
    page = write_report(folder).read_text()
    assert page.count("What the distortion itself adds") == 1
    told = f"drawn under Gaussian noise, σ 0.12: of 75.0 points lost, 75.0 go to dawn; chance would be {chance:.1f}"
    assert told in re.sub("<[^>]+>", "", page).replace("\N{NO-BREAK SPACE}", " ")


def test_breaking_points_have_it_of_what_is_said_at_the_break(tmp_path):
    found = brittle.run(study(tmp_path, **{"breaking-points": {"step": 4.0}}), out=tmp_path / "run")
    drawn, _ = found["measures"]["breaking-points"][INTERFERENCE_KEY]
    assert (drawn["where"], drawn["top_class"]) == ("at the break", "dawn")
    assert drawn["points_to_top"] == pytest.approx(75)
    page = write_report(tmp_path / "run").read_text()
    assert "of 75.0 points lost at the break, 75.0 go to dawn" in page


def test_early_stopping_counts_the_images_that_were_seen(tmp_path):
    measures = {"robustness": {"tolerance": 0.2}}
    found = brittle.run(study(tmp_path, **measures))["measures"]["robustness"]
    seen = {row["classifier"]: row["images"] for row in found["results"]}
    assert min(seen.values()) < 160
    for row in found[INTERFERENCE_KEY]:
        assert row["images"] == seen[row["group"]]
        assert row["points_lost"] == pytest.approx(
            100
            * next(
                each["accuracy_clean"] - each["accuracy_nuisance"]
                for each in found["results"]
                if each["classifier"] == row["group"]
            )
        )


def test_images_without_labels_have_none(tmp_path):
    plain = study(tmp_path)
    with np.load(tmp_path / "levels.npz") as arrays:
        np.savez(tmp_path / "unlabelled.npz", images=arrays["images"])
    found = brittle.run(plain | {"images": {"levels": f"npz:{tmp_path / 'unlabelled.npz'}"}})
    assert found["measures"]["robustness"][INTERFERENCE_KEY] == []


def test_members_of_a_group_with_other_classes_are_a_model_of_their_own(tmp_path):
    plain = study(tmp_path)
    named = "torch:" + str(tmp_path / "mine.py") + ":drawn"
    plain["classifiers"] = {
        "a": {"spec": named, "group": "g"},
        "b": {"spec": f"{named},labels=night/dusk/dawn/noon", "group": "g"},
    }
    rows = brittle.run(plain)["measures"]["robustness"][INTERFERENCE_KEY]
    assert [(row["group"], row["classifiers"]) for row in rows] == [("g (a)", ["a"]), ("g (b)", ["b"])]


ROW = {
    "group": "net",
    "runs": 1,
    "classes": 10,
    "image_set": "i",
    "nuisance": "n",
    "top_class": "t",
    "points_lost": 20.0,
    "points_to_top": 12.0,
    "points_by_chance": 2.0,
    "di": 1.0,
    "agreeing_runs": 1,
    "chance_spread": {"mean": 0.2, "p_value": 0.001},
}


def test_of_many_models_those_that_gather_most_are_shown():
    rows = [ROW | {"group": f"net-{place}", "points_to_top": place / 10} for place in range(100)]
    ((title, (_, table, more)),) = (
        (plain(group.title), group.blocks) for group in distortion_blocks({INTERFERENCE_KEY: rows})
    )
    assert len(table.rows) == MOST_ROWS
    assert more.text.startswith("40 more")
    assert "net-99" in title
    assert distortion_line({INTERFERENCE_KEY: rows[:60]}) == []  # below three times what chance sends there


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"points_lost": 0.4, "points_to_top": 4.0, "points_by_chance": 0.04}, "0.4 points lost; wrong predictions of"),
        ({"points_lost": -6.0, "points_to_top": 4.0, "points_by_chance": 0.0}, "no points lost; wrong predictions of"),
        ({"classes": 2}, "of 20.0 points lost, 12.0 go to t"),
        ({"chance_spread": {"mean": 0.2, "p_value": 0.2}}, "of 20.0 points lost, 12.0 go to t"),
        ({"points_to_top": 5.0}, "of 20.0 points lost, 5.0 go to t"),
        ({"di": None, "top_class": None}, "no class gains"),
    ],
)
def test_errors_do_not_gather_where_none_are_added_or_chance_gives_as_many(changed, said):
    assert errors_gather(ROW)
    assert not errors_gather(ROW | changed)
    assert distortion_line({INTERFERENCE_KEY: [ROW | changed]}) == []
    assert points(ROW | changed).startswith(said)


def test_of_few_classes_nearly_all_errors_gather_though_chance_sends_a_third_of_them():
    few = ROW | {"classes": 4, "points_by_chance": 7.0}
    assert not errors_gather(few)
    assert errors_gather(few | {"points_to_top": 19.0})


def test_a_tie_is_told():
    assert "12.0 go to t (as many to u); chance" in points(ROW | {"tied_classes": ["u"]})
    assert "12.0 go to t (as many to u and 2 more); chance" in points(ROW | {"tied_classes": ["u", "v", "w"]})
    ((_, table),) = (group.blocks for group in distortion_blocks({INTERFERENCE_KEY: [ROW | {"tied_classes": ["u"]}]}))
    assert "t (as many to u)" in table.rows[0]


def test_a_class_that_gains_more_than_is_lost_is_not_given_a_part_of_it():
    said = points(ROW | {"points_to_top": 21.5})
    assert said == "20.0 points lost; wrong predictions of t rise by 21.5; chance would be 2.0"


def test_with_unequal_classes_errors_spread_evenly_are_no_more_than_chance(tmp_path):
    """Of 160 images 130 are night, so that hardly an error can be night: the other three share them evenly."""
    plain = study(tmp_path)
    labels = np.repeat([0, 1, 2, 3], [130, 10, 10, 10])
    levels = np.array([0.125, 0.375, 0.625, 0.875], np.float32)[labels]
    np.savez(
        tmp_path / "levels.npz", images=np.broadcast_to(levels[:, None, None, None], (160, 1, 8, 8)), labels=labels
    )
    _, even = brittle.run(plain | {"robustness": {"samples": 8}})["measures"]["robustness"][INTERFERENCE_KEY]
    assert even["top_class"] != "0"
    assert even["chance_spread"]["p_value"] > 0.3
