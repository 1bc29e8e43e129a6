"""Runs over classifiers behind a service: the rows of the same classifier in this process, whatever happens to the
service meanwhile."""

import threading
import time

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pytest
import tomli_w
import toy_service
from engine_runs import run, run_study
from services import served

from brittle.engine.run import FinishedRun
from brittle.errors import Failure, ForeignError
from brittle.study import Study

__all__ = ["served"]

HERE = f"python:{toy_service.__file__}:scores"
OUTCOMES = ("log_p_label", "log_p_other", "log_p_predicted")


@pytest.fixture
def study(things):
    """`study(spec)`: a study of robustness and of two searches, over one classifier."""

    def made(spec, **changed):
        return (
            things.study(classifiers={"toy": spec}, nuisances=["affine:alpha=20"])
            | {
                "robustness": {"samples": 20},
                "breaking-points": {"repeats": 1, "limit": 3.0},
                "weak-points": {"count": 4, "budget": 200},
            }
            | changed
        )

    return made


def tables(done: FinishedRun) -> dict[tuple[str, ...], pa.Table]:
    """All rows of a run, by cell and table."""
    return {
        (*cell, name): pa.concat_tables([part for _, part in done.store.read(cell, table=name)])
        for assignment in done.job.assignments.values()
        for cell in assignment.cells()
        for name in done.store.tables(cell)
    }


def assert_same_rows(one: FinishedRun, other: FinishedRun) -> None:
    first, second = tables(one), tables(other)
    assert first.keys() == second.keys()
    for key, table in first.items():
        assert table.schema == second[key].schema
        for column in table.column_names:
            assert alike(numbers(table[column]), numbers(second[key][column]), key[-1]), (key, column)


def alike(here: np.ndarray, there: np.ndarray, table: str) -> bool:
    if here.dtype.kind != "f":
        return np.array_equal(here, there)
    near = 1e-5 if table == "images" else 1e-6  # a sampler's diagnostics are ratios of small differences
    return np.allclose(here, there, rtol=near, atol=near, equal_nan=True)


def numbers(column: pa.ChunkedArray) -> np.ndarray:
    return (pa.compute.list_flatten(column) if pa.types.is_list(column.type) else column).to_numpy()


@pytest.mark.parametrize("troubles", [("slow",), ("json", "batch=7"), ("500=3", "429=4")])
def test_rows_are_those_of_the_classifier_in_this_process(served, study, tmp_path, small_units, troubles):
    small_units(200)
    here = run_study(study(f"{HERE},labels=ant/bee/cat/dog"), tmp_path / "here", batch=64)
    service = served(*troubles)
    there = run_study(study(service.url), tmp_path / "there", batch=64)
    assert_same_rows(here, there)
    assert service.seen["most"] > 1


def test_rows_are_the_same_with_workers_on_ray(served, things, tmp_path):
    pytest.importorskip("ray")
    service = served("slow")
    plain = things.study(classifiers={"toy": service.url}, nuisances=["affine:alpha=20"])
    here = run_study(plain, tmp_path / "here", batch=64)
    there = run_study(Study.of(plain), tmp_path / "there", engine="ray", workers=2, batch=64)
    assert_same_rows(here, there)


def test_requests_of_several_units_overlap(served, things, tmp_path, small_units):
    """Units have one batch each, so without the next unit's there would be one request at a time."""
    small_units(64)
    seen = {}
    for concurrency in (1, 4):
        service = served("wait=0.04")
        run(things.study(classifiers={"toy": f"{service.url},concurrency={concurrency}"}), batch=64)
        seen[concurrency] = service.seen["most"]
    assert seen[1] == 1
    assert seen[4] > 1


def test_a_service_that_dies_leaves_a_run_that_goes_on_once_it_is_back(served, study, things, tmp_path, small_units):
    small_units(100)
    here = run_study(study(f"{HERE},labels=ant/bee/cat/dog"), tmp_path / "here", batch=64)
    service = served("die=12")
    spec = f"{service.url},retries=1"
    with pytest.raises(Failure, match="What is finished is kept: the same command goes on"):
        run(study(spec), tmp_path / "there", batch=64)
    kept = list((tmp_path / "there" / "units").rglob("*.parquet"))
    assert kept
    back = served(port=service.port)
    there = run_study(study(spec), tmp_path / "there", batch=64)
    assert_same_rows(here, there)
    assert sum(back.seen["sizes"]) < sum(served_whole(served, study, tmp_path).seen["sizes"])


def served_whole(served, study, tmp_path):
    """What a service sees of a run that nothing interrupts."""
    service = served()
    run(study(service.url), tmp_path / "whole", batch=64)
    return service


@pytest.mark.warned("it is asked again")
def test_a_service_that_is_back_in_time_is_not_noticed(served, study, tmp_path):
    here = run_study(study(f"{HERE},labels=ant/bee/cat/dog"), tmp_path / "here", batch=64)
    service = served("die=5")

    def restart() -> None:
        service.process.wait(60)
        time.sleep(0.5)
        served(port=service.port)

    thread = threading.Thread(target=restart)
    thread.start()
    there = run_study(study(service.url), tmp_path / "there", batch=64)
    thread.join()
    assert_same_rows(here, there)


def test_the_secret_is_in_no_file_and_no_message(served, study, things, tmp_path, cli, monkeypatch):
    monkeypatch.setenv("BRITTLE_TOKEN", "s3cret-0f-the-service")
    service = served()
    spec = f"{service.url},token-env=BRITTLE_TOKEN"
    file = tmp_path / "study.toml"
    file.write_text(tomli_w.dumps(things.study(classifiers={"toy": spec}, nuisances=["affine:alpha=20"])))
    said = [cli("run", file, "--out", tmp_path / "run"), cli("report", tmp_path / "run", "--format", "json")]
    assert [each.status for each in said] == [0, 0]
    service.kill()
    echo = served("echo", port=service.port)
    spec = f"{echo.url},token-env=BRITTLE_TOKEN"
    said.append(cli("measure", spec, f"npz:{things.folder}/images.npz", "--nuisance=affine", "--count=3"))
    assert "answers 401 (no access for Bearer …)" in said[-1].complaint(2)
    assert set(service.seen["authorization"]) == {"Bearer s3cret-0f-the-service"}
    written = [path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()]
    assert len(written) > 5
    assert b"BRITTLE_TOKEN" in b"".join(written)  # the name is what a study says
    for text in (*written, *(f"{each.out}{each.err}".encode() for each in said)):
        assert b"s3cret" not in text


@pytest.mark.warned("is not deterministic")
def test_one_that_answers_differently_the_second_time_is_reported(served, things):
    found = run(things.study(classifiers={"toy": served("moody").url}))
    assert any("'toy' is not deterministic: asked again" in each for each in found["warnings"])


def test_nan_is_reported_with_its_image(served, things, tmp_path):
    with pytest.raises(Failure, match=r"classifier 'toy' gave NaN or infinite outputs for the image .*id \d+"):
        run(things.study(classifiers={"toy": served("nan").url}), tmp_path / "run")


def test_the_wrong_shape_stops_a_run_with_one_line(served, things, tmp_path):
    with pytest.raises(Failure, match=r"gave outputs of \d+×3 for \d+ images, not \d+×4"):
        run(things.study(classifiers={"toy": served("shape").url}), tmp_path / "run")


def test_another_model_at_the_same_address_is_noticed_when_a_run_goes_on(served, things, tmp_path):
    service = served()
    study = things.study(classifiers={"toy": service.url}, nuisances=["affine:alpha=20"])
    run(study, tmp_path / "run")
    service.kill()
    served("moody", port=service.port)
    more = study | {"nuisances": ["affine:alpha=20", "rotation:sigma=20"]}
    with pytest.raises(Failure.__base__, match=r"no longer answers as it did|other classes"):
        run(more, tmp_path / "run")


class Later:
    """Somebody's classifier that answers later, and does not derive from anything."""

    labels = ("ant", "bee", "cat", "dog")
    can = frozenset()

    def __init__(self) -> None:
        self.waiting = self.most = 0
        self.broken = False

    def log_probs(self, images):
        import torch

        return torch.from_numpy(toy_service.scores(images.numpy())).log_softmax(1)

    def submit(self, images):
        self.waiting += 1
        self.most = max(self.most, self.waiting)
        answer = self.log_probs(images)

        def wait():
            self.waiting -= 1
            if self.broken and self.waiting < 2:
                raise ValueError("the line is dead")
            return answer

        return wait


def test_somebodys_classifier_may_answer_later_too(study, tmp_path, small_units):
    small_units(100)
    here = run_study(study(f"{HERE},labels=ant/bee/cat/dog"), tmp_path / "here", batch=64)
    later = Later()
    there = run_study(study(later), tmp_path / "there", batch=64)
    assert_same_rows(here, there)
    assert later.most > 1


def test_what_goes_wrong_later_is_that_classifiers(things):
    later = Later()
    later.broken = True
    with pytest.raises(ForeignError, match=r"classifier 'toy' raised ValueError: the line is dead"):
        run(things.study(classifiers={"toy": later}))
