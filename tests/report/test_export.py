"""Rows as people use them: names and θ beside what was found, and the files that `brittle export` writes."""

import csv
import json
import shutil

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from PIL import Image

import brittle
from brittle.classifiers.bundled import FASHION_LABELS
from brittle.engine.store.folder_names import UNSAFE_BEFORE, safe_name
from brittle.errors import BrittleError
from brittle.report.csv_file import as_text, write_csv

pytestmark = pytest.mark.warned("can't be trusted", "no draw has another label")

STUDY = {
    "classifiers": {"plain": "bundled:plain", "augmented": "bundled:augmented"},
    "images": {"sample": {"spec": "sample", "count": 12}},
    "nuisances": ["rotation:sigma=30", "elastic"],
    "robustness": {"samples": 5},
    "weak-points": {"count": 2, "budget": 60, "nuisances": ["rotation:sigma=30"]},
}


@pytest.fixture
def photos(tmp_path):
    for number in (1, 2, 3):
        (tmp_path / "photos" / FASHION_LABELS[number]).mkdir(parents=True)
        pixels = np.random.default_rng(number).integers(0, 256, (28, 28), dtype=np.uint8)
        Image.fromarray(pixels).save(tmp_path / "photos" / FASHION_LABELS[number] / "a.png")
    return tmp_path / "photos"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("export") / "run"
    brittle.run(STUDY, out=folder)
    return folder


def test_rows_tell_what_a_classifier_said_of_which_image_at_which_angle(run):
    """Every row is asked again: its image turned by its angle, by hand."""
    rows = brittle.rows(run, "robustness").to_pandas()
    images, space = brittle.image_set("sample"), brittle.nuisance("rotation:sigma=30")
    classifiers = {name: brittle.classifier(spec) for name, spec in STUDY["classifiers"].items()}
    turned = rows[rows["nuisance"] == "rotation:sigma=30"]
    assert len(turned) == 2 * 12 * 5
    places = {int(id): place for place, id in enumerate(images.ids)}
    for row in turned.iloc[::7].to_dict("records"):
        batch = images.batch([places[row["image"]]])
        seen = space.apply(batch, torch.tensor([[row["theta_angle"]]]))
        said = classifiers[row["classifier"]].log_probs(seen)[0].detach()
        label = int(batch.labels[0])
        assert row["log_p_label"] == pytest.approx(float(said[label]), abs=1e-3)
        assert row["class"] == FASHION_LABELS[label] == FASHION_LABELS[row["label"]]
        assert row["predicted_class"] == FASHION_LABELS[int(said.argmax())]
        assert row["right"] == (int(said.argmax()) == label)
        assert row["name"] == f"index {row['image']}"


def test_accuracy_against_the_angle_is_three_lines(run):
    rows = brittle.rows(run, "robustness").to_pandas()
    turned = rows[rows["theta_angle"].notna()]
    curve = turned.groupby(pd.cut(turned["theta_angle"].abs(), [0, 20, 180]), observed=True)["right"].mean()
    near = turned[turned["theta_angle"].abs() <= 20]
    assert curve.iloc[0] == pytest.approx((near["rank"] == 0).mean())
    assert curve.iloc[0] > curve.iloc[1]


def test_a_result_has_its_rows_with_names_and_angles():
    found = brittle.compare({"plain": "bundled:plain"}, "sample", "rotation:sigma=30", samples=3, count=4)
    assert found.rows.equals(brittle.rows(found))
    assert {"name", "class", "theta_angle", "right"} <= set(found.rows.column_names)
    rows = found.rows.to_pandas()
    assert rows["right"].mean() == pytest.approx(found["results"][0]["accuracy_nuisance"])
    one = brittle.measure("bundled:plain", "sample", "rotation:sigma=30", samples=3, count=4)
    assert one.rows.drop_columns("classifier").equals(found.rows.drop_columns("classifier"))


def test_rows_along_a_path_have_its_theta():
    """Every row is asked again: its image turned by its path's angle times its severity, by hand."""
    found = brittle.failure_points("bundled:plain", "sample", "rotation", severities=(1, 2), count=6, repeats=2)
    rows = brittle.rows(found).to_pandas()
    images, classifier = brittle.image_set("sample"), brittle.classifier("bundled:plain")
    places = {int(id): place for place, id in enumerate(images.ids)}
    batch = images.batch([places[each] for each in rows["image"]])
    angles = torch.tensor((rows["theta_angle"] * rows["severity"]).to_numpy(), dtype=torch.float32)[:, None]
    said = classifier.log_probs(brittle.nuisance("rotation").apply(batch, angles)).detach()
    assert len(rows) == 6 * 2 * 2
    assert rows["log_p_label"].to_numpy() == pytest.approx(
        said.gather(1, batch.labels[:, None])[:, 0].numpy(), abs=1e-3
    )


@pytest.mark.parametrize(("noise", "there"), [("path", True), ("fresh", False)])
def test_breaking_points_have_the_theta_of_paths_that_keep_one(noise, there):
    found = brittle.breaking_points("bundled:plain", "sample", "rotation", noise=noise, count=3, limit=2)
    assert ("theta_angle" in brittle.rows(found).column_names) is there


def test_a_derived_measure_is_exported_without_rows(tmp_path):
    both = {"plain": "bundled:plain", "augmented": "bundled:augmented"}
    found = brittle.ranking(both, "sample", "rotation", severities=(1, 2), count=5)
    names = [path.name for path in brittle.export(found, tmp_path / "out")]
    assert names == ["failure-points.csv", "failure-points-rows.csv", "ranking.csv"]
    assert brittle.rows(found, "failure-points").num_rows == 2 * 5 * 2
    with pytest.raises(BrittleError, match="the measure 'ranking' has no rows"):
        brittle.rows(found, "ranking")


def test_a_long_theta_is_told_by_its_key(run):
    rows = brittle.rows(run, "robustness").to_pandas()
    bent = rows[rows["nuisance"] == "elastic"]
    assert bent["theta_angle"].isna().all()
    assert bent[bent["classifier"] == "plain"]["theta_key"].nunique() == 12 * 5
    assert rows[rows["nuisance"] != "elastic"]["theta_key"].isna().all()


@pytest.mark.parametrize("nuisance", ["noise", "fourier-mask", "rotation+noise"])
def test_a_theta_with_a_number_per_pixel_is_not_told_by_its_first(nuisance):
    """Such a θ has one name in all."""
    found = brittle.measure("bundled:plain", "sample", nuisance, samples=2, count=2)
    rows = brittle.rows(found)
    assert [name for name in rows.column_names if name.startswith("theta")] == ["theta_key"]
    weak = brittle.sample("bundled:plain", "sample", nuisance, count=2, budget=40)
    rows = brittle.rows(weak)
    assert rows["theta"].to_pylist() == weak.rows["theta"].to_pylist()
    assert len(rows["theta"][0]) > 16


def test_weak_points_are_told_with_their_angles(run):
    rows = brittle.rows(run, "weak-points").to_pandas()
    stored = pq.read_table(next((run / "units" / "weak-points" / "plain").rglob("*.rows.parquet")))
    ours = rows[rows["classifier"] == "plain"]
    np.testing.assert_array_equal(ours["theta_angle"], stored["theta"].combine_chunks().flatten().to_numpy())


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_export_writes_what_python_gives(format, run, cli, tmp_path):
    files = cli("export", run, "--format", format, "--out", tmp_path, "--json").json["files"]
    assert [file.rpartition("/")[2].partition(".")[0] for file in files] == [
        *("robustness", "robustness-rows", "weak-points", "weak-points-images", "weak-points-rows"),
    ]
    read = {"csv": pd.read_csv, "parquet": pd.read_parquet}[format]
    found, wanted = read(files[1]), brittle.rows(run, "robustness").to_pandas()
    pd.testing.assert_frame_equal(found[list(wanted)], wanted, check_dtype=False, rtol=1e-6)
    assert len(read(files[0])) == 4
    assert len(read(files[3])) == 2 * 2


def test_markdown_has_what_the_measures_say(run, cli, tmp_path):
    said = cli("export", run, "--format", "markdown", "--out", tmp_path)
    assert said.out.split() == [str(tmp_path / "robustness.md"), str(tmp_path / "weak-points.md")]
    lines = (tmp_path / "robustness.md").read_text().splitlines()
    assert len(lines) == 2 + 4
    assert lines[0].startswith("| classifier | image_set | nuisance |")
    assert len({line.count("|") for line in lines}) == 1


def test_what_can_not_be_exported_is_told(run, cli, tmp_path):
    assert "Did you mean 'csv'?" in cli("export", run, "--format", "csw").complaint(2)
    assert "is not a run folder" in cli("export", tmp_path).complaint(2)
    with pytest.raises(BrittleError, match="the run holds several measures"):
        brittle.rows(run)


def test_a_whole_run_is_read_as_one_data_set(run):
    """Folder names are not taken for columns."""
    found = pd.read_parquet(run / "units" / "robustness", columns=["image", "draw", "rank"])
    assert len(found) == 2 * 2 * 12 * 5
    assert not [path for path in (run / "units").rglob("*") if "=" in path.name]


def test_runs_with_earlier_folder_names_are_read(run, tmp_path, cli):
    shutil.copytree(run, tmp_path / "run")
    for folder in sorted((tmp_path / "run" / "units").rglob(safe_name("rotation:sigma=30"))):
        folder.rename(folder.with_name(safe_name("rotation:sigma=30", UNSAFE_BEFORE)))
    before = sorted((tmp_path / "run" / "units").rglob("*"))
    assert brittle.rows(tmp_path / "run", "robustness").equals(brittle.rows(run, "robustness"))
    brittle.run(STUDY, out=tmp_path / "run")
    assert sorted((tmp_path / "run" / "units").rglob("*")) == before


def test_ids_survive_json(tmp_path, cli, photos):
    """Those of a folder's images are hashes; a reader that has doubles only would round them."""
    arguments = ("sample", "bundled:plain", f"folder:{photos},size=28,channels=grey", "--nuisance", "rotation")
    said = cli(*arguments, "--count", 2, "--budget", 50, "--json", "--out", tmp_path / "run")
    found = json.loads(said.out, parse_int=float)
    ids = [row["id"] for row in found["per_image"]]
    kept = pq.read_table(next((tmp_path / "run" / "units" / "weak-points").rglob("*.images.parquet")))
    assert [int(each) for each in ids] == kept["image"].to_pylist()
    assert all(int(each) >= 2**53 for each in ids)
    again = cli(*arguments, "--ids", "/".join(map(str, ids)), "--budget", 50, "--json").json
    assert [row["id"] for row in again["per_image"]] == ids
    assert (tmp_path / "run" / "report.html").is_file()


@pytest.mark.warned("has a mean confidence of")
def test_names_are_no_formulas_in_a_spreadsheet(tmp_path):
    """A folder, a file, a classifier and a measure that somebody else named."""
    for place, name in enumerate(("@SUM(A1)", "dog")):
        (tmp_path / "photos" / name).mkdir(parents=True)
        Image.new("L", (28, 28), 90 * place).save(tmp_path / "photos" / name / f"{place}.png")
    labels = ["@SUM(A1)", "dog", "-2+3", "=1+1", "+1", "-0.5", "a", "b", "c", "d"]
    study = {
        "classifiers": {"=HYPERLINK(0)": f"bundled:plain,classes={tmp_path}/classes.json"},
        "images": {"-photos+": f"folder:{tmp_path}/photos"},
        "nuisances": {"+dim": "brightness"},
        "measures": {"../=evil": {"kind": "robustness", "samples": 3}},
    }
    (tmp_path / "classes.json").write_text(json.dumps({label: [place] for place, label in enumerate(labels)}))
    done = brittle.run(study, out=tmp_path / "run")
    for format in ("csv", "parquet", "markdown"):
        files = brittle.export(tmp_path / "run", tmp_path / "out" / format, format=format)
        assert {file.parent for file in files} == {tmp_path / "out" / format}
    rows = brittle.rows(done).to_pydict()
    for file in (tmp_path / "out" / "csv").iterdir():
        with file.open(newline="") as stream:
            cells = [cell for row in csv.reader(stream) for cell in row]
        assert not [cell for cell in cells if cell.startswith(("=", "@", "+")) or cell in ("-photos+", "-2+3")]
    (told,) = (tmp_path / "out" / "csv").glob("*-rows.csv")
    found = pd.read_csv(told)
    assert set(found["classifier"]) == {"'=HYPERLINK(0)"}
    assert set(found["class"]) == {"'@SUM(A1)", "dog"}
    assert {name.removeprefix("'") for name in found["name"]} == set(rows["name"])
    (kept,) = (tmp_path / "out" / "parquet").glob("*-rows.parquet")
    assert set(pd.read_parquet(kept)["classifier"]) == {"=HYPERLINK(0)"}


@pytest.mark.parametrize("text", ["=1", "+a", "-a", "@a", "\t=1", "\r=1", "\n=1", "-1+1", "＝1"])
def test_what_would_be_computed_is_text(text):
    assert as_text(text) == f"'{text}"


@pytest.mark.parametrize("text", [None, "", "a=1", "-1", "+0.5", "-1e-3", "1-1", "'=1", " =1"])
def test_what_would_not_be_computed_stays(text):
    assert as_text(text) == text


def test_a_column_s_name_is_no_formula_either(tmp_path):
    table = pa.table({"=a": [1], "@b": ["=x"], "-c": pa.array([None], pa.string())})
    write_csv(tmp_path / "a.csv", [table, table])
    assert (tmp_path / "a.csv").read_text().splitlines() == ['"\'=a","\'@b","\'-c"', *['1,"\'=x",'] * 2]
