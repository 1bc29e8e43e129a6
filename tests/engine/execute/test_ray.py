"""Workers on Ray: the same rows as one process gives, whatever dies or fails on the way."""

import builtins
import contextlib
import ipaddress
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from engine_runs import run_study

from brittle.commands import ExecutionOptions
from brittle.engine.assemble import assemble
from brittle.engine.check.before_work import check_job
from brittle.engine.execute.cluster import cluster, import_ray
from brittle.engine.inputs import Inputs
from brittle.engine.run import FinishedRun, executor
from brittle.errors import BrittleError, Failure, MissingPackage
from brittle.measures.base import Cell
from brittle.measures.plan import covering
from brittle.progress import Progress
from brittle.study import Study

BATCH = 128
TROUBLE = """
import os
import pathlib
import signal
import time

from things import second

HERE = pathlib.Path(__file__).parent


def deadly(images):
    if len(images) > 8 and not (HERE / "died").exists():
        (HERE / "died").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return second(images)


def stopped(images):
    if len(images) > 8 and not (HERE / "stopped").exists():
        (HERE / "stopped").write_text(str(os.getpid()))
        os.kill(os.getpid(), signal.SIGSTOP)
    return second(images)


def silent(images):
    if len(images) > 8 and not (HERE / "spoke").exists():
        (HERE / "spoke").touch()
        time.sleep(600)
    return second(images)


def mute(images):
    if len(images) > 8:
        time.sleep(600)
    return second(images)


def picky(images):
    if len(images) > 8 and (images.flatten(1).amax(1) == 0).any() and not (HERE / "lenient").exists():
        raise ValueError("an image is black")
    return second(images)
"""


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    """One cluster for the tests that don't care whose it is."""
    found = import_ray()
    with cluster(found):
        yield found


@pytest.fixture
def troubled(things):
    """Classifiers that cause trouble, once more than the 8 images of the first check are shown."""
    (things.folder / "trouble.py").write_text(TROUBLE)
    specs = {
        name: f"python:{things.folder}/trouble.py:{name}" for name in ("deadly", "picky", "stopped", "silent", "mute")
    }
    return lambda *names, **changed: things.study(
        classifiers={name: specs.get(name, f"python:{things.folder}/things.py:{name}") for name in names},
        nuisances=["affine:alpha=20"],
        **changed,
    )


class Watched(Progress):
    """Counts what it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.total = self.advanced = 0

    def start(self, total: int) -> None:
        self.total = total

    def advance(self, rows: int) -> None:
        assert rows >= 0
        self.advanced += rows


def on_ray(
    study: dict[str, Any], out: Path, progress: Progress | None = None, limit: float | None = None
) -> FinishedRun:
    return run_study(Study.of(study), out, engine="ray", workers=2, batch=BATCH, time_limit=limit, progress=progress)


def locally(study: dict[str, Any], out: Path) -> FinishedRun:
    return run_study(Study.of(study), out, batch=BATCH)


def tables(done: FinishedRun, cell: Cell) -> dict[str, pa.Table]:
    """All finished rows of a cell."""
    return {
        name: pa.concat_tables([part for _, part in done.store.read(cell, table=name)])
        for name in sorted(done.store.tables(cell))
    }


def assert_same_rows(one: FinishedRun, other: FinishedRun) -> None:
    for assignment in one.job.assignments.values():
        for cell in assignment.cells():
            first, second = tables(one, cell), tables(other, cell)
            assert first.keys() == second.keys(), cell
            for name, table in first.items():
                assert table.schema == second[name].schema
                close = [column for column in table.column_names if column.startswith("log_p")]
                assert table.drop_columns(close).equals(second[name].drop_columns(close)), (cell, name)
                for column in close:
                    here, there = table[column].to_numpy(), second[name][column].to_numpy()
                    assert np.allclose(here, there, rtol=0, atol=1e-6), (cell, column)


def numbers(value: Any) -> Any:
    """A summary with its numbers rounded to what two devices agree on."""
    if isinstance(value, dict):
        return {key: numbers(each) for key, each in value.items()}
    if isinstance(value, list):
        return [numbers(each) for each in value]
    return pytest.approx(value, abs=1e-6) if isinstance(value, float) else value


def test_workers_give_the_rows_that_one_process_gives_on_a_cluster_of_their_own(things):
    things.write_images(count=300)
    measures = {"robustness": {"samples": 20}, "clean": {}, "weak-points": {"count": 20, "budget": 200}}
    study = things.study("first", "second", nuisances=["affine:alpha=20", "rotation:sigma=20"], **measures)
    alone = locally(study, things.folder / "alone")
    watched = Watched()
    many = on_ray(study, things.out, watched)
    assert not import_ray().is_initialized()
    assert_same_rows(alone, many)
    assert many.summary == numbers(alone.summary)
    assert watched.advanced == watched.total > 0
    assert {path.relative_to(things.out) for path in things.out.rglob("*.parquet")} == {
        path.relative_to(things.folder / "alone") for path in (things.folder / "alone").rglob("*.parquet")
    }
    before = {name: things.rows(name) for name in ("first", "second")}
    assert min(before.values()) > 0
    on_ray(study, things.out)
    assert not import_ray().is_initialized(), "a finished run needs no cluster"
    assert {name: things.rows(name) for name in before} == dict.fromkeys(before, things.CHECKED)


def test_workers_apply_functions_as_one_process_does(ray, things):
    """A random one and one that draws nothing, from a file that the workers load by its name."""
    (things.folder / "filters.py").write_text(
        "import torch\n\n"
        "def noisy(image):\n    return (image + 0.2 * torch.randn_like(image)).clamp(0, 1)\n\n"
        "def mirrored(images):\n    return images.flip(-1)\n"
    )
    study = things.study(
        "first",
        nuisances=[f"function:{things.folder}/filters.py:{name}" for name in ("noisy", "mirrored")],
        robustness={"samples": 5},
    )
    assert_same_rows(locally(study, things.folder / "alone"), on_ray(study, things.out))


@pytest.mark.slow
def test_what_a_killed_worker_was_doing_is_done_by_another(ray, things, troubled):
    things.write_images(count=200)
    study = troubled("first", "deadly", robustness={"samples": 10})
    watched = Watched()
    done = on_ray(study, things.out, watched)
    assert (things.folder / "died").exists(), "nobody died: the test tests nothing"
    assert watched.notes == ["a worker process died; what it was doing is done again"]
    assert watched.advanced == watched.total
    assert_same_rows(locally(study, things.folder / "alone"), done)
    assert not list(things.out.rglob("*.tmp"))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "trace"), [("stopped", "stopped"), ("silent", "spoke")])
def test_what_a_worker_does_not_answer_is_tried_by_another(ray, things, troubled, monkeypatch, name, trace):
    """One whose process is stopped by a signal, and one whose classifier does not come back."""
    monkeypatch.setattr("brittle.engine.execute.time_limits.FIRST_NOTE", 1.0)
    things.write_images(count=200)
    study = troubled("first", name, robustness={"samples": 10})
    watched = Watched()
    done = on_ray(study, things.out, watched, limit=2)
    assert (things.folder / trace).exists(), "everybody answered: the test tests nothing"
    notes = "\n".join(watched.notes)
    assert re.search(rf"a worker has not answered for \d+ s: .* · .*{name} · toy.*, units? \d+", notes)
    assert re.search(
        rf"a worker did not answer within \d+ s and is replaced: .*{name} · toy.* is tried by another", notes
    )
    assert watched.advanced == watched.total
    assert_same_rows(locally(study, things.folder / "alone"), done)


@pytest.mark.slow
def test_a_classifier_that_never_answers_fails_in_one_line_after_three_trials(ray, things, troubled):
    things.write_images(count=20)
    study = troubled("first", "mute", robustness={"samples": 10})
    with pytest.raises(Failure) as failure:
        on_ray(study, things.out, limit=1)
    said = str(failure.value)
    assert re.search(r"clean · mute · toy: unit 0 failed 3 times \(no answer within \d+ s: --time-limit 1 may be", said)
    assert "\n" not in said
    assert list((things.out / "units" / "robustness" / "first").rglob("*.parquet")), "the other classifier is done"


def listening(processes: set[int]) -> set[str]:
    """Addresses that some processes accept connections on, from /proc."""
    inodes = set()
    for process in processes:
        for place in Path(f"/proc/{process}/fd").iterdir():
            with contextlib.suppress(OSError):
                inodes.add(re.sub(r"\D", "", place.readlink().name))
    found = set()
    for family, size in (("tcp", 4), ("tcp6", 16)):
        for line in Path(f"/proc/net/{family}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in inodes:
                words = bytes.fromhex(fields[1].partition(":")[0])  # in groups of four, the last byte first
                address = b"".join(words[place : place + 4][::-1] for place in range(0, size, 4))
                parsed = ipaddress.ip_address(address)
                found.add(str(getattr(parsed, "ipv4_mapped", None) or parsed))
    return found


def family(root: int) -> set[int]:
    """A process and all that descend from it."""
    parents = {}
    for each in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parents[int(each.name)] = int((each / "stat").read_text().rpartition(")")[2].split()[1])
    found = {root}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="needs Linux's /proc")
def test_a_cluster_listens_on_this_machine_alone(ray):
    """Each of its processes: the driver's own, those of Ray, and a worker."""

    class Idle:
        pass  # known here alone, so that a worker is told what it is and imports nothing of the tests

    worker = ray.remote(Idle).remote()
    ray.get(worker.__ray_ready__.remote())
    assert listening(family(os.getpid())) == {"127.0.0.1"}
    ray.kill(worker)


@pytest.mark.parametrize("token", [{}, {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "guessed" * 10}])
def test_a_cluster_asks_for_its_token(ray, token):
    address = ray.get_runtime_context().gcs_address
    code = f"from ray._raylet import GcsClient; GcsClient(address={address!r}).internal_kv_keys(b'', None, timeout=20)"
    environment = {key: value for key, value in os.environ.items() if key != "RAY_AUTH_MODE"} | token
    said = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert said.returncode == 1
    assert "AuthenticationError" in said.stderr


@pytest.mark.slow
def test_a_unit_that_always_fails_is_named_after_everything_else_is_done(ray, things, troubled):
    pixels = np.random.default_rng(0).integers(1, 256, (320, 8, 8), dtype=np.uint8)
    pixels[300] = 0
    things.write_images(count=320, images=pixels)
    study = troubled("first", "picky", robustness={"samples": 500}, clean={})
    with pytest.raises(Failure) as failure:
        on_ray(study, things.out)
    job = check_job(assemble(Inputs(Study.of(study)))).job
    place = job.subject("toy").ids.tolist().index(300)
    unit = covering(job.plan(Cell("clean", "picky", "toy")), place, place + 1)[0].first
    said = str(failure.value)
    assert failure.value.exit_status == 1
    assert (
        f"clean · picky · toy: unit {unit} failed 3 times (classifier 'picky' raised ValueError: an image is black"
        in said
    )
    assert "left out because of that: robustness · picky · toy · affine:alpha=20" in said
    assert "\n" not in said
    units = things.out / "units"
    assert len(list((units / "clean" / "first").rglob("*.parquet"))) == 1
    assert len(list((units / "robustness" / "first").rglob("*.parquet"))) == 1
    assert list((units / "clean" / "picky").rglob("*.parquet"))
    assert list((units / "robustness" / "picky").rglob("*.parquet"))
    (things.folder / "lenient").touch()
    assert_same_rows(locally(study, things.out), locally(study, things.folder / "alone"))


def test_workers_stop_at_the_unit_where_one_process_stops(ray, things):
    things.write_images(count=700)
    study = things.study("first", "second", nuisances=["affine:alpha=20"], robustness={"samples": 5, "tolerance": 0.06})
    alone, many = locally(study, things.folder / "alone"), on_ray(study, things.out)
    assert many.summary == numbers(alone.summary)
    images = [result["images"] for result in many.summary["measures"]["robustness"]["results"]]
    assert len(set(images)) == 2, "both stop at once"
    assert max(images) < 700, "nothing stopped"


@pytest.mark.slow
def test_workers_extend_a_run_as_one_process_does(ray, things):
    def study(samples, count):
        images = {"toy": {"spec": f"npz:{things.folder}/images.npz", "count": count}}
        return things.study("first", "second", images=images, robustness={"samples": samples})

    locally(study(5, 30), things.out)
    things.rows()
    many = on_ray(study(12, 50), things.out)
    assert things.rows() < 50 * (1 + 3 * 12)
    assert_same_rows(many, locally(study(12, 50), things.folder / "alone"))
    assert not list(things.out.rglob("*.earlier"))


def test_live_objects_are_refused_in_one_line():
    study = {
        "classifiers": {"mine": lambda images: images.flatten(1)[:, :4]},
        "images": {"images": {"spec": "sample", "count": 8}},
        "nuisances": ["affine"],
    }
    with pytest.raises(BrittleError, match=r"'ray' needs specs.* 'mine' is a live Python object") as refused:
        run_study(study, engine="ray")
    assert refused.value.exit_status == 2
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"engine": "rya"}, "unknown engine 'rya'. Did you mean 'ray'"),
        ({"engine": "local", "workers": 2}, "has no workers"),
        ({"engine": "local", "time_limit": 5}, "no other worker that could try again"),
        ({"engine": "ray", "workers": 0}, "Ask for one at least"),
        ({"engine": "ray", "time_limit": 0}, "leaves no time"),
        ({"engine": "ray"}, "keeps its rows in a run folder"),
    ],
)
def test_what_can_not_be_carried_out_is_refused_before_anything_is_loaded(things, asked, words):
    with pytest.raises(BrittleError, match=words):
        run_study(Study.of(things.study()), None, **asked)
    assert things.rows() == 0


def test_without_ray_its_extra_is_named(things, monkeypatch):
    importing = builtins.__import__

    def refuse(name: str, *arguments: Any, **options: Any) -> Any:
        if name == "ray":
            raise ImportError(name)
        return importing(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(MissingPackage, match=r"pip install .*\[ray\]'"):
        executor(ExecutionOptions(engine="ray"), Inputs(Study.of(things.study())), kept=True)


def test_nobody_pays_for_importing_ray_who_does_not_use_it():
    code = "import sys, brittle.engine.run; sys.exit('ray' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.slow
def test_eight_writers_leave_no_more_than_twice_the_files_of_one(tmp_path):
    script = Path(__file__).with_name("many_writers.py")
    said = subprocess.run([sys.executable, script, tmp_path], stdout=subprocess.PIPE, check=True)
    one, *others = json.loads(said.stdout).values()
    assert one["before"] < 30
    for several in others:
        assert several["most"] < 100
        assert several["before"] <= 2 * one["before"]
        assert several["after"] <= 2 * one["after"]
