"""Trains the networks of a part, several processes at once; what is trained already is only read."""

from __future__ import annotations

import json
import multiprocessing
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import data
import deep
import plan
import torch

from brittle.progress import ProgressBar
from brittle.training import train
from brittle.training.data import TrainingImages
from brittle.training.weights import read_facts


@dataclass(frozen=True)
class Settings:
    """What all networks share."""

    data: Path
    work: Path  # where weights and made images lie
    device: str
    small: bool = False  # a few images and one epoch, to see that it works

    @property
    def half(self) -> bool:
        return self.device.startswith("cuda")


def specs(settings: Settings, network: plan.Network) -> tuple[str, str]:
    """Training and test images of a network."""
    pair = []
    for split in ("train", "t10k"):
        if network.images == plan.SMALL:
            spec = data.small_objects(settings.data, split, settings.work)
        elif network.images == plan.MNIST:
            spec = data.mnist(settings.data, split)
        else:
            spec = data.fashion(settings.data, split)
        spec = spec if network.without < 0 else data.without(spec, network.without)
        spec = data.part(spec, network.share, network.seed) if split == "train" and network.share < 1 else spec
        pair.append(data.part(spec, 0.005) if settings.small else spec)
    return pair[0], pair[1]


@cache
def held(spec: str, device: str) -> TrainingImages:
    return TrainingImages(data.load(spec), device)


def weights_of(settings: Settings, network: plan.Network) -> Path:
    return settings.work / "weights" / f"{network.name}.safetensors"


def facts_of(settings: Settings, network: plan.Network) -> dict[str, Any]:
    """What the training of a network said."""
    found: dict[str, Any] = json.loads(weights_of(settings, network).with_suffix(".json").read_text(encoding="utf-8"))
    return found


def trained(network: plan.Network, settings: Settings) -> dict[str, Any]:
    out = weights_of(settings, network)
    said = out.with_suffix(".json")
    if said.exists():
        return facts_of(settings, network)
    training, testing = (held(spec, settings.device) for spec in specs(settings, network))
    options = dict(network.options)
    if "mix_with" in options:
        of = data.fashion if options["mix_with"] == plan.FASHION else data.mnist
        other = of(settings.data, "train")
        options["mix_with"] = held(data.part(other, 0.005) if settings.small else other, settings.device)
    kind = network.network
    if network.without >= 0:
        kind += f"{',' if ':' in kind else ':'}classes={len(data.FASHION_LABELS) - 1}"
    if network.network != "small-plain":
        options["batch_size"] = network.batch
    found = train(
        deep.Deep(kind) if kind in deep.MADE else kind,
        training,
        out,
        test=testing,
        seed=network.seed,
        device=settings.device,
        epochs=network.epochs,
        precision="bfloat16" if settings.half else "float32",
        checkpoints=network.checkpoints,
        progress=ProgressBar(),
        **options,
    )
    losses = read_facts(out, "training")["losses"]
    found |= {"group": network.group, "name": network.name, "losses": losses}
    said.write_text(json.dumps(found), encoding="utf-8")
    return found


def _some(networks: Sequence[plan.Network], settings: Settings, end: float) -> int:
    """Some networks one after the other; none is begun once the time is up."""
    torch.set_num_threads(2)
    done = 0
    for network in networks:
        if time.time() >= end:
            break
        begun = time.time()
        try:
            found = trained(network, settings)
        except Exception as error:  # one network's failure must not cost the others
            print(f"{network.name} failed: {error!r}", file=sys.stderr, flush=True)
            continue
        done += 1
        said = f"{network.name}: error {found['test_error']:.4f}, loss {found['loss']:.4f}, {time.time() - begun:.1f} s"
        print(said, file=sys.stderr, flush=True)
    return done


def train_all(networks: Sequence[plan.Network], settings: Settings, workers: int, end: float) -> int:
    """Trains what is missing until the time is up; returns how many networks are there."""
    (settings.work / "weights").mkdir(parents=True, exist_ok=True)
    for network in networks:
        specs(settings, network)  # made images are made once, before there are several processes
    if workers == 1:
        return _some(networks, settings, end)
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
        parts = [pool.submit(_some, networks[place::workers], settings, end) for place in range(workers)]
        return sum(each.result() for each in parts)
