"""The executor on Ray: workers in processes of their own, on this machine or on a cluster, that commit to the run
folder themselves. The driver hands out pieces of work and never touches rows but to see where a measure may stop.
"""

from __future__ import annotations

from pathlib import Path

from brittle.engine.execute.cluster import cluster, import_ray
from brittle.engine.execute.remote_worker import WorkerSetup, fetch
from brittle.engine.execute.room import nodes_of, resources
from brittle.engine.execute.shipped_images import shipped
from brittle.engine.execute.shipping import paths_in, refuse_node, report_of
from brittle.engine.execute.time_limits import ResponseTimes
from brittle.engine.execute.worker_pool import WorkerPool
from brittle.engine.job import Job
from brittle.engine.plan.missing import start_counting
from brittle.engine.plan.queue import WorkQueue
from brittle.engine.store.unit_store import FolderStore, Store
from brittle.errors import BrittleError, Failure
from brittle.progress import Progress
from brittle.study import ClusterEntry, Study

LOOKING = 120.0  # seconds that a node has to say what it has


class RayExecutor:
    """Carries a study out on a cluster: that at an address, that which this process is connected to, or one of its
    own."""

    def __init__(self, study: Study, wanted: ClusterEntry = ClusterEntry(), address: str | None = None) -> None:
        if wanted.workers is not None and wanted.workers < 1:
            raise BrittleError(f"{wanted.workers} workers can't do anything", "Ask for one at least.")
        self.study, self.wanted, self.response_times = study, wanted, ResponseTimes(wanted.time_limit)
        self.ray, self.address = import_ray(), address

    def __call__(self, job: Job, store: Store, progress: Progress) -> None:
        assert isinstance(store, FolderStore), "workers commit to a run folder"
        start_counting(job, progress)
        queue = WorkQueue(job, store, progress)
        if not queue.exhausted:
            elsewhere = self.address is not None and not self.ray.is_initialized()
            with cluster(self.ray, self.address, self.study):
                try:
                    if elsewhere:
                        self._look_at_nodes(store)
                    self._employ(queue, job, store, progress, elsewhere=elsewhere)
                except ConnectionError as error:
                    raise Failure(
                        f"the Ray cluster is gone: {next(iter(str(error).splitlines()), '')}",
                        "Give the same command again, on another cluster if need be: what is finished is kept.",
                    ) from error
        queue.finish()

    def _employ(self, queue: WorkQueue, job: Job, store: FolderStore, progress: Progress, *, elsewhere: bool) -> None:
        share = resources(nodes_of(self.ray), self.wanted, job.device)
        images = shipped(job, self.ray.put, fetch)
        setup = WorkerSetup.of(job, self.study, store, share.threads, images, elsewhere=elsewhere)
        pool = WorkerPool(self.ray, queue, job, setup, share, progress, self.response_times)
        try:
            pool.work()
        finally:
            pool.stop_all()

    def _look_at_nodes(self, store: FolderStore) -> None:
        """Refuses nodes on which workers would fail, before work begins."""
        in_a_store = "://" in str(store.folder)
        marker = None if in_a_store else Path(store.folder).resolve().parent / ".lock"
        paths = sorted({str(path) for path in paths_in(self.study) if path.is_absolute()})
        look = self.ray.remote(report_of)
        for node in nodes_of(self.ray):
            answer = look.options(num_cpus=0, max_retries=0, scheduling_strategy=node.only).remote(paths, marker)
            try:
                found = self.ray.get(answer, timeout=LOOKING)
            except self.ray.exceptions.RayError as error:
                why = next((line for line in reversed(str(error).splitlines()) if line.strip()), "")
                raise Failure(
                    f"the node {node.name} can't run Brittle: {why}", "Install what it needs there."
                ) from error
            refuse_node(node.name, found, marker)
