"""Logging, with the real clients and local stores: what is logged is what is read back."""

import json
from pathlib import Path

import numpy as np
import pytest

import brittle
from brittle.errors import BrittleError
from brittle.tracking.log import metric_names

pytestmark = pytest.mark.warned("matched by number", "near chance", "mean confidence")


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    out = tmp_path_factory.mktemp("log") / "run"
    return brittle.measure(
        {"mine": "bundled:plain"}, "sample", "affine:alpha=50", samples=3, count=12, out=out, progress=False
    )


RHO = "brittle/robustness.mine.sample.affine:alpha=50.rho"


def test_mlflow_keeps_numbers_and_report(found, tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # mlflow-skinny has no database
    mlflow.set_tracking_uri((tmp_path / "store").as_uri())
    with mlflow.start_run() as run:
        brittle.log(found, to="mlflow", step=3)
    client = mlflow.tracking.MlflowClient()
    (metric,) = client.get_metric_history(run.info.run_id, RHO.replace("=", "_"))
    assert (metric.value, metric.step) == (found["rho"], 3)
    assert [each.path for each in client.list_artifacts(run.info.run_id, "brittle")] == ["brittle/report.html"]


def test_wandb_keeps_numbers_and_report_offline(found, tmp_path, monkeypatch):
    wandb = pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    with pytest.raises(BrittleError, match=r"wandb.init"):
        brittle.log(found, to="wandb")
    with wandb.init(project="brittle", dir=tmp_path, mode="offline") as run:
        logged = brittle.log(found, to="wandb", step=2)
        run.log({"further": 1}, step=3)  # what was logged at a step is kept when the next begins
        assert run.summary[RHO] == found["rho"]
        assert run.summary["_step"] == 2
    assert len(logged) == len(found.scalars())
    media = list(Path(tmp_path).rglob("*.html"))
    assert any("ρ" in each.read_text(encoding="utf-8") for each in media)


def test_tensorboard_keeps_numbers(found, tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    brittle.log(found, to=f"tensorboard:{tmp_path}", step=5)
    events = EventAccumulator(str(tmp_path)).Reload()
    assert set(events.Tags()["scalars"]) == {f"brittle/{name}" for name in found.scalars()}
    (event,) = events.Scalars(RHO)
    assert event.step == 5
    assert event.value == pytest.approx(found["rho"], abs=1e-6)


def test_objects_are_logged_to_by_what_they_can_do(found):
    class Logger:
        def log_metrics(self, numbers, step):
            self.had = numbers, step

    class Run:
        def log(self, numbers, step=None):
            self.had = numbers, step

    had = []
    for to in (Logger(), Run(), lambda *all: had.append(all)):
        logged = brittle.log(found, to=to, step=1, prefix="x/")
        assert (getattr(to, "had", None) or had[0]) == (logged, 1)
        assert logged["x/robustness.mine.sample.affine:alpha=50.rho"] == found["rho"]
    with pytest.raises(BrittleError, match="type int is not a tracker"):
        brittle.log(found, to=3)
    with pytest.raises(BrittleError, match="Did you mean 'wandb'"):
        brittle.log(found, to="wandbb")


def test_names_stay_apart_where_mlflow_allows_less():
    made = metric_names({"a=1": 1.0, "a_1": 2.0, "a/1": 3.0, "ρ": 4.0, "x" * 300: 5.0})
    assert len(made) == 5
    assert {"a_1", "a_1_2", "a/1", "ρ"} < made.keys()
    assert max(map(len, made)) == 250


def test_every_measure_has_scalars_that_are_numbers(found):
    several = brittle.run(
        "bundled:plain",
        "sample",
        "affine:alpha=50",
        measures=["breaking-points", "failure-points"],
        count=5,
        progress=False,
    )
    scalars = several.scalars()
    assert {name.split(".")[0] for name in scalars} >= {"breaking-points", "failure-points"}
    assert all(isinstance(value, float) and np.isfinite(value) for value in scalars.values())
    assert json.dumps(scalars)


def test_a_model_card_has_results_that_the_hub_reads(found, tmp_path):
    hub = pytest.importorskip("huggingface_hub")
    card = tmp_path / "net" / "README.md"
    card.parent.mkdir()
    card.write_text("---\nlicense: mit\ntags:\n- vision\n---\n\n# Net\n\nMine.\n", encoding="utf-8")
    brittle.log(found, to=f"model-card:{card}")
    first = card.read_text(encoding="utf-8")
    read = hub.ModelCard(first)
    assert (read.data.license, read.data.tags, read.data.model_name) == ("mit", ["vision"], "net")
    numbers = {each.metric_name: each for each in read.data.eval_results}
    rho = numbers["ρ under affine:alpha=50 (mean probability of the label)"]
    assert rho.metric_value == round(found["rho"], 4)
    assert rho.metric_args["low"] == round(found["interval"][0], 4)
    assert rho.task_type == "image-classification"
    assert "# Net\n\nMine." in first
    brittle.log(found, to=f"model-card:{card}")
    assert card.read_text(encoding="utf-8") == first, "writing it again replaces it"


def test_a_model_card_keeps_results_of_others_and_is_made_where_there_is_none(found, tmp_path):
    hub = pytest.importorskip("huggingface_hub")
    card = tmp_path / "README.md"
    brittle.log(found, to=f"model-card:{card}")
    read = hub.ModelCard(card.read_text(encoding="utf-8"))
    other = hub.EvalResult("image-classification", "beans", "Beans", "accuracy", 0.7)
    read.data.eval_results.append(other)
    card.write_text(str(read), encoding="utf-8")
    brittle.log(found, to=f"model-card:{card}")
    again = hub.ModelCard(card.read_text(encoding="utf-8"))
    assert sum(each.dataset_name == "Beans" for each in again.data.eval_results) == 1
    assert len(again.data.eval_results) == len(read.data.eval_results)
