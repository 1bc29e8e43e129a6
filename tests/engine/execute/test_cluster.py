"""A cluster of two nodes that people have, on this machine: the same rows, whatever of it is killed on the way."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from brittle.engine.execute.room import Node, resources
from brittle.engine.execute.shipping import MOST_SENT, NodeReport, paths_in, refuse_node, stage, versions
from brittle.errors import BrittleError
from brittle.study import ClusterEntry, Study

NODES = Path(__file__).parents[2] / "shared" / "two_nodes.py"
WAIT = 240  # seconds
MODULE = """
import os
import pathlib
import time

import torch


def scores(images, seed):
    if len(images) > 8:
        (pathlib.Path("LOG") / str(os.getpid())).touch()
        time.sleep(0.5 if pathlib.Path("LOG/slowly").exists() else 0)
    weights = torch.randn(64, 4, generator=torch.Generator().manual_seed(seed))
    return images.flatten(1) @ weights


def first(images):
    return scores(images, 1)


def second(images):
    return scores(images, 2) / 10
"""
STUDY = """
nuisances = ["affine:alpha=20"]

[classifiers]
first = "python:nets/things.py:first"
second = "python:nets/things.py:second"

[images]
toy = "npz:images.npz"

[robustness]
samples = 1000
"""


class Nodes:
    """A cluster of two nodes, and what is killed of it."""

    def __init__(self, token: Path, *wanted: int) -> None:
        token.write_text("brittle" * 8)
        # A driver looks for a head that is gone for a minute, by default.
        self.environment = os.environ | {
            "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token), "RAY_gcs_rpc_server_reconnect_timeout_s": "5"
        }  # fmt: skip
        self.process = subprocess.Popen(
            [sys.executable, NODES, *map(str, wanted)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=self.environment,
            text=True,
        )
        assert self.process.stdout is not None
        self.about: dict[str, Any] = json.loads(self.process.stdout.readline())
        self.address: str = self.about["address"]

    def kill(self, node: str) -> None:
        """As a machine that loses its power: nothing of the node says good-bye."""
        for some in self.about[node].values():
            for each in some:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(each, signal.SIGKILL)

    def end(self) -> None:
        self.kill("second")
        self.kill("head")
        self.process.kill()
        self.process.wait()


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[Callable[..., Nodes]]:
    made: list[Nodes] = []

    def start(*wanted: int) -> Nodes:
        made.append(Nodes(tmp_path / "token", *(wanted or (1,))))
        return made[-1]

    yield start
    for each in made:
        each.end()


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a study that names everything by relative paths, in which commands are given."""
    folder = tmp_path / "here"
    (folder / "nets").mkdir(parents=True)
    log = tmp_path / "log"
    log.mkdir()
    (folder / "nets" / "things.py").write_text(MODULE.replace("LOG", str(log)))
    (folder / "study.toml").write_text(STUDY)
    random = np.random.default_rng(0)
    np.savez(
        folder / "images.npz",
        images=random.integers(0, 256, (640, 8, 8), dtype=np.uint8),
        labels=random.integers(0, 4, 640),
    )
    monkeypatch.chdir(folder)
    return folder


def started(out: str, nodes: Nodes | None = None, address: str = "", *more: str) -> subprocess.Popen[str]:
    line = [sys.executable, "-m", "brittle", "run", "study.toml", "--out", out, "--batch", "4000", *more]
    if nodes is not None:
        line += ["--engine", "ray", "--address", address or nodes.address]
    environment = os.environ | {"OMP_NUM_THREADS": "1"} | (nodes.environment if nodes is not None else {})
    return subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment, text=True)


def finished(process: subprocess.Popen[str]) -> str:
    said = process.communicate(timeout=WAIT)[1]
    assert process.returncode == 0, said
    return said


def wait_for(there: Callable[[], bool]) -> None:
    for _ in range(20 * WAIT):
        if there():
            return
        time.sleep(0.05)
    raise AssertionError("nothing is computed")


def wait_for_units(out: Path, count: int) -> None:
    """Until so many files of rows are there."""
    wait_for(lambda: len(list(out.glob("units/robustness/**/*.parquet"))) >= count)


def workers(here: Path) -> set[str]:
    """The processes that classified anything."""
    return {path.name for path in (here.parent / "log").iterdir()} - {"slowly"}


@contextlib.contextmanager
def slowly(here: Path) -> Iterator[None]:
    """Classifiers take their time, so that there is some to kill somebody in."""
    (here.parent / "log" / "slowly").touch()
    yield
    (here.parent / "log" / "slowly").unlink()


def rows(out: Path) -> dict[str, pa.Table]:
    """By cell, in planned order; each key once."""
    found: dict[str, list[pa.Table]] = {}
    for path in sorted(out.glob("units/**/*.parquet")):
        found.setdefault(str(path.parent.relative_to(out)), []).append(pq.read_table(path))
    tables = {cell: pa.concat_tables(parts) for cell, parts in found.items()}
    for table in tables.values():
        keys = [name for name in ("image", "draw") if name in table.column_names]
        assert table.group_by(keys).aggregate([]).num_rows == table.num_rows
    return tables


def assert_same(one: Path, other: Path) -> None:
    before, after = rows(one), rows(other)
    assert before.keys() == after.keys()
    for cell, table in before.items():
        close = [name for name in table.column_names if name.startswith("log_p")]
        assert table.drop_columns(close).equals(after[cell].drop_columns(close)), cell
        for name in close:
            assert np.allclose(table[name].to_numpy(), after[cell][name].to_numpy(), rtol=0, atol=1e-6)


@pytest.mark.slow
def test_a_cluster_is_sent_what_the_study_names_here_and_gives_the_same_rows(here, nodes):
    finished(started("alone"))
    client = 23456
    there = nodes(1, 0, client)
    finished(started("many", there))
    assert_same(here / "alone", here / "many")
    driver = started("remote", there, f"ray://127.0.0.1:{client}")
    if "the Ray cluster is gone" in driver.communicate(timeout=WAIT)[1]:  # Ray's client gives up on a busy machine
        driver = started("remote", there, f"ray://127.0.0.1:{client}")
    finished(driver)
    assert_same(here / "alone", here / "remote")


@pytest.mark.slow
def test_a_run_outlives_a_node_and_its_driver(here, nodes):
    """A driver is killed and started again, and then a node on which a worker was at work."""
    finished(started("alone"))
    there = nodes()
    with slowly(here):
        driver = started("many", there)
        wait_for_units(here / "many", 2)
        driver.kill()
        driver.wait()
        before = workers(here)
        driver = started("many", there)
        wait_for(lambda: len(workers(here) - before) == 2)
        at_work = workers(here) - before
        there.kill("second")
        wait_for(lambda: not all(Path("/proc", worker).exists() for worker in at_work))
    assert "a worker process died; what it was doing is done again" in finished(driver)
    assert_same(here / "alone", here / "many")


@pytest.mark.slow
def test_another_cluster_goes_on_where_the_head_of_one_was_killed(here, nodes):
    finished(started("alone"))
    there = nodes()
    with slowly(here):
        driver = started("many", there)
        wait_for_units(here / "many", 2)
        there.kill("head")
        said = driver.communicate(timeout=WAIT)[1]
    assert driver.returncode != 0
    assert "Traceback" not in said
    there.end()
    finished(started("many", nodes()))
    assert_same(here / "alone", here / "many")


@pytest.mark.slow
def test_no_cluster_is_told_in_one_line(here):
    driver = started("none", None, "", "--engine", "ray", "--address", "127.0.0.1:1")
    said = driver.communicate(timeout=WAIT)[1].strip()
    assert driver.returncode == 1
    assert said.startswith("brittle: there is no connection to the Ray cluster '127.0.0.1:1'")
    assert len(said.splitlines()) == 1


def test_what_is_named_by_relative_paths_is_sent_and_nothing_else(here, tmp_path):
    (here / "notes.txt").write_text("mine")
    data = Study.of({
        "classifiers": {"net": "python:nets/things.py:first"},
        "images": {"toy": f"npz:{here}/images.npz", "other": "npz:images.npz"},
        "nuisances": ["affine"],
    })  # fmt: skip
    assert set(map(str, paths_in(data))) == {"nets/things.py", f"{here}/images.npz", "images.npz"}
    sent = stage(data, tmp_path / "sent")
    assert {str(path.relative_to(sent)) for path in sent.rglob("*") if path.is_file()} == {
        "nets/things.py",
        "images.npz",
    }


def test_what_is_too_large_to_be_sent_is_refused(here, tmp_path):
    with (here / "large.npz").open("wb") as file:
        file.truncate(MOST_SENT + 1)
    study = Study.of({"classifiers": ["bundled:plain"], "images": ["npz:large.npz"], "nuisances": ["affine"]})
    with pytest.raises(BrittleError, match=r"large\.npz is part of it.*absolute paths, on storage that all nodes"):
        stage(study, tmp_path / "sent")


@pytest.mark.parametrize(
    ("report", "words"),
    [
        (NodeReport(["/data/photos"], versions(), "me"), r"node n has no /data/photos.*storage that all nodes share"),
        (NodeReport([], versions() | {"torch": "1.0"}, "me"), r"node n has torch 1\.0 \(here .*same versions"),
        (NodeReport([], versions(), None), r"node n does not see the run folder /"),
        (NodeReport([], versions(), "another"), r"node n does not see the run folder /"),
    ],
)
def test_a_node_that_lacks_something_is_refused_in_one_line(tmp_path, report, words):
    (tmp_path / ".lock").write_text("me")
    refuse_node("n", NodeReport([], versions(), "me"), tmp_path / ".lock")
    with pytest.raises(BrittleError, match=words) as refused:
        refuse_node("n", report, tmp_path / ".lock")
    assert "\n" not in str(refused.value)


def node(cores: float, gpus: float = 0) -> Node:
    return Node("n", cores, gpus, None)


@pytest.mark.parametrize(
    ("there", "wanted", "workers", "cores", "gpus"),
    [
        ([node(2)], {}, 2, 1, 0),
        ([node(64), node(64)], {}, 32, 4, 0),
        ([node(0), node(8)], {}, 2, 4, 0),  # a head that takes no work
        ([node(4), node(4)], {"workers": 3}, 3, 2, 0),
        ([node(16, 2), node(16, 2)], {"gpus": 0.5}, 8, 4, 0.5),
        ([node(16, 4), node(16)], {"gpus": 1}, 4, 4, 1),
        ([node(8), node(8)], {"cpus": 3}, 4, 3, 0),
    ],
)
def test_workers_fill_the_nodes_with_what_the_study_asks_for(there, wanted, workers, cores, gpus):
    import torch

    found = resources(there, ClusterEntry(**wanted), torch.device("cpu"))
    assert (found.room(there), found.cores, found.gpus) == (workers, cores, gpus)


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ({"cpus": 16}, "no node of the cluster has room for a worker with 16 cores"),
        ({"gpus": 1}, "GPUs were asked for, and Ray sees none"),
        ({"cpus": 1.5}, "cluster.cpus is 1.5"),
    ],
)
def test_what_no_node_can_give_is_refused(wanted, words):
    import torch

    with pytest.raises(BrittleError, match=words):
        resources([node(8), node(8)], ClusterEntry(**wanted), torch.device("cpu"))


def test_a_study_may_say_how_workers_carry_it_out():
    data = {"classifiers": ["bundled:plain"], "images": ["sample"], "nuisances": ["affine"]}
    study = Study.of(data | {"cluster": {"gpus": 0.25, "time-limit": 30}})
    assert study.resolved()["cluster"] == {"gpus": 0.25, "time-limit": 30}
    assert "cluster" not in Study.of(data).resolved()
    with pytest.raises(BrittleError, match=r"unknown key 'cluster.gpu'.*'gpus'"):
        Study.of(data | {"cluster": {"gpu": 1}})
