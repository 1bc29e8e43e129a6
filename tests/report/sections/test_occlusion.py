"""Occlusion as it is shown: on the console, in the report, as a table, by command, study and function alike."""

import numpy as np
import pytest

import brittle
from brittle.errors import BrittleWarning
from brittle.report.html import write_report

BOTH = {"plain": "bundled:plain", "augmented": "bundled:augmented"}


@pytest.fixture(scope="module")
def sets(tmp_path_factory):
    """Training images that are easy for the bundled classifiers, and test images whose labels are partly wrong: a gap
    that is large enough to divide by."""
    folder = tmp_path_factory.mktemp("sets")
    sample = brittle.image_set("sample").choose(120, 0)
    batch = sample.batch(range(120))
    pixels, labels = (batch.images[:, 0].numpy() * 255).round().astype(np.uint8), batch.labels.numpy()
    classes = np.array(list(sample.classes))
    np.savez(folder / "train.npz", images=pixels[:60], labels=labels[:60], classes=classes)
    wrong = np.where(np.arange(60) % 2, labels[60:], (labels[60:] + 1) % 10)
    np.savez(folder / "test.npz", images=pixels[60:], labels=wrong, classes=classes)
    return f"npz:{folder}/test.npz", f"npz:{folder}/train.npz"


def study(sets, **changed):
    test, train = sets
    return {
        "classifiers": BOTH,
        "images": {"test": {"spec": test, "train": "train"}, "train": train},
        "nuisances": {"patch": "patch", "salient": "salient", "textured": "patch:texture=sample"},
        "occlusion": {"shares": [0.2, 0.5]},
    } | changed


@pytest.fixture(scope="module")
def run(sets, tmp_path_factory):
    out = tmp_path_factory.mktemp("run") / "out"
    return brittle.run(study(sets), out=out), out


def test_the_console_shows_all_four_accuracies_and_the_ratio(run):
    text = str(run[0])
    assert "patch on 60 images of test, 60 images of train, filled with black: accuracy" in text
    first = run[0]["measures"]["occlusion"]["results"][0]
    point = first["points"][1]
    for value in (first["accuracy_clean"], first["train_accuracy_clean"], point["accuracy"], point["train_accuracy"]):
        assert f"{value:.3f}" in text
    assert f"{point['iocclusion']:.2f}" in text
    assert "plain: from black (patch) to pieces of other images (textured) accuracy changes by up to" in text


def test_the_training_set_has_no_result_of_its_own(run):
    said = run[0]["measures"]["occlusion"]
    assert {each["image_set"] for each in said["results"]} == {"test"}
    assert len(said["results"]) == 6


def test_the_report_has_curves_tables_and_pictures(run):
    page = write_report(run[1]).read_text()
    assert "accuracy and iOcclusion of plain, augmented against the hidden share: patch, textured, salient" in page
    assert page.count("these are the pictures that the classifiers saw") == 1
    assert page[page.index('<section id="measured">') :].count(": 50 % hidden") == 9  # three images under each nuisance
    assert "as plain sees them: what this nuisance hides differs by classifier" in page
    assert "Fieller" in page
    assert "over all hidden shares" in page


def test_a_report_without_anything_loaded_still_shows_the_numbers(run):
    page = write_report(run[1], nothing_loaded=True).read_text()
    assert "iOcclusion" in page
    assert "there are no pictures" in page
    write_report(run[1])


def test_the_table_has_a_row_per_share(run):
    table = run[0].table()
    assert table.num_rows == 12
    columns = {"share", "hidden", "accuracy", "accuracy_low", "train_accuracy", "gap", "gap_clean", "iocclusion_high"}
    assert columns <= set(table.column_names)
    assert table["share"].to_pylist()[:2] == [0.2, 0.5]


def test_command_study_and_function_say_the_same(run, sets, cli):
    said = run[0]["measures"]["occlusion"]
    found = brittle.occlusion(BOTH, sets[0], ["patch", "salient"], train=sets[1], shares=(0.2, 0.5))
    wanted = [row for row in said["results"] if row["nuisance"] != "textured"]
    names = {"image_set": "test", "train_set": "train"}
    assert [row | names for row in found["results"]] == wanted
    assert found.curve("iocclusion", "augmented", "patch") == (
        [0.2, 0.5],
        [point["iocclusion"] for point in wanted[1]["points"]],
    )
    told = cli(
        "occlusion", "plain=bundled:plain", f"test={sets[0]}", "--train", f"train={sets[1]}", "--nuisance", "patch",
        "--nuisance", "salient", "--against", "augmented=bundled:augmented", "--shares", "0.2/0.5", "--json",
    ).json  # fmt: skip
    assert told["results"] == wanted


def test_groups_are_told_by_both_ratios(sets, tmp_path):
    entries = {name: {"spec": spec, "group": "small"} for name, spec in BOTH.items()}
    found = brittle.run(study(sets, classifiers=entries, nuisances=["patch"]), out=tmp_path / "out")
    (group,) = found["measures"]["occlusion"]["groups"]
    assert (group["group"], group["runs"]) == ("small", 2)
    assert "small (2 runs)" in str(found)
    page = write_report(tmp_path / "out").read_text()
    assert "iOcclusion, ratio of means" in page
    assert f"{group['points'][0]['mean_of_ratios']:.2f} ± {group['points'][0]['spread_of_ratios']:.2f}" in page


def test_without_training_images_nothing_is_said_of_a_gap(tmp_path):
    asked = {
        "classifiers": BOTH,
        "images": {"sample": {"spec": "sample", "count": 30}},
        "occlusion": {"shares": [0.3]},
    }
    found = brittle.run(asked, out=tmp_path / "out")
    assert [row["nuisance"] for row in found["measures"]["occlusion"]["results"]][::2] == [
        "patch", "fourier-mask", "tiles",
    ]  # fmt: skip
    page = write_report(tmp_path / "out").read_text()
    assert "iOcclusion" not in str(found)
    assert "accuracy of plain, augmented against the hidden share" in page


@pytest.mark.warned("are also among its training images")
def test_without_a_gap_to_divide_by_no_empty_figure_of_iocclusion_is_drawn(tmp_path):
    images = {"test": {"spec": "sample", "count": 40, "train": "train"}, "train": {"spec": "sample", "count": 60}}
    with pytest.warns(BrittleWarning, match="'plain' has no iOcclusion"):
        brittle.run(
            study(("", ""), classifiers={"plain": "bundled:plain"}, images=images, nuisances=["patch"]),
            out=tmp_path / "run",
        )
    page = write_report(tmp_path / "run").read_text()
    assert "accuracy of plain against the hidden share" in page
    assert "bands are Fieller" not in page


def test_what_shares_are_of_is_said_of_each_nuisance_where_they_differ():
    found = brittle.occlusion("bundled:plain", "sample", ["patch", "patch:of=side", "patch:law=beta"], count=5)
    text = " ".join(str(found).split())
    assert "patch on 5 images of sample, filled with black; shares are of the pixels: accuracy" in text
    assert "patch:of=side on 5 images of sample, filled with black; shares are of each side: accuracy" in text
    assert "filled with black; the share is drawn by the nuisance: accuracy" in text
    assert "Shares are" not in text
