"""How many workers a cluster has room for, and what each of them gets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import torch

from brittle.errors import BrittleError
from brittle.study import ClusterEntry

CORES_PER_WORKER = 4  # on a CPU, where there are enough: every worker holds all classifiers


@dataclass(frozen=True)
class Node:
    """A machine of a cluster."""

    name: str
    cores: float
    gpus: float
    only: Any  # the scheduling strategy that places work here and nowhere else


@dataclass(frozen=True)
class WorkerResources:
    """What each worker takes up, and how many there are; None: as many as there is room for at the time."""

    workers: int | None
    cores: float
    gpus: float

    @property
    def threads(self) -> int:
        return max(1, int(self.cores))

    def room(self, nodes: Sequence[Node]) -> int:
        """How many workers fit."""
        return self.workers if self.workers is not None else sum(map(self._fits, nodes))

    def _fits(self, node: Node) -> int:
        least = [node.cores / self.cores] + ([node.gpus / self.gpus] if self.gpus else [])
        return math.floor(min(least) + 1e-6)


def nodes_of(ray: ModuleType) -> list[Node]:
    """The nodes that are alive."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    return [
        Node(
            node["NodeManagerAddress"],
            node["Resources"].get("CPU", 0),
            node["Resources"].get("GPU", 0),
            NodeAffinitySchedulingStrategy(node["NodeID"], soft=False),
        )
        for node in ray.nodes()
        if node["Alive"]
    ]


def resources(nodes: Sequence[Node], wanted: ClusterEntry, device: torch.device) -> WorkerResources:
    """What each worker gets: what the study asks for, or else a GPU or some of the cores."""
    cores, gpus = sum(node.cores for node in nodes), sum(node.gpus for node in nodes)
    on_gpu = device.type != "cpu" or wanted.gpus is not None
    if on_gpu and not gpus:
        raise BrittleError("GPUs were asked for, and Ray sees none", "Use --device cpu, and no gpus in [cluster].")
    for each, what in ((wanted.cpus, "cpus"), (wanted.gpus, "gpus")):
        if each is not None and each > 1 and each != int(each):
            raise BrittleError(f"cluster.{what} is {each:g}", "Give a whole number, or a part of one.")
    each_gpu = 0.0 if not on_gpu else wanted.gpus or (_part(gpus, wanted.workers) if wanted.workers else 1.0)
    if wanted.cpus is not None:
        each_core = wanted.cpus
    elif wanted.workers is not None:
        each_core = _part(cores, wanted.workers)
    else:
        each_core = min((_usual_cores(node, each_gpu) for node in nodes if node.cores >= 1), default=1.0)
    found = WorkerResources(wanted.workers, each_core, each_gpu)
    if not sum(map(found._fits, nodes)):
        on = f" and {each_gpu:g} GPUs" if each_gpu else ""
        raise BrittleError(
            f"no node of the cluster has room for a worker with {each_core:g} cores{on}", "Ask for less in [cluster]."
        )
    return found


def _usual_cores(node: Node, gpus: float) -> float:
    """One worker's cores: a machine has two workers, one for four cores, or as many as its GPUs take."""
    cores = int(node.cores)
    workers = int(node.gpus / gpus) if gpus and node.gpus >= gpus else max(min(2, cores), cores // CORES_PER_WORKER)
    return _part(cores, workers)


def _part(there: float, workers: int) -> float:
    """One worker's part of so many cores or GPUs, which Ray wants whole or less than one."""
    return there // workers or there / workers
