"""Sliders (Dünkel et al. 2025, section 3.2): θ* = θ + s · θ_LoRA, with a scale s for every image of a batch.

A layer with the weights W computes W x + s · B (A x), where A and B are of low rank; several sliders are added.
diffusers and peft give one scale to a whole batch, which would make a batch of every scale. Here each image has its
own, so that all scales and seeds share batches, and many sliders are trained at once. Files are those of peft, which
plain diffusers loads; alpha is the rank, so that s means the same there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from brittle.diffusion.pipeline import EXTRA
from brittle.errors import BrittleError
from brittle.files import real_path, size_of, write_durably
from brittle.libraries import first_line, library

PREFIX = "unet."
DOWN, UP = ".lora_A.weight", ".lora_B.weight"
CHANGED = ("to_q", "to_k", "to_v", "to_out.0", "conv1", "conv2")  # the ends of names of layers that a slider changes


class LowRank(NamedTuple):
    """What some sliders add to one layer."""

    down: Tensor  # A (J, rank, in) or (J, rank, in, k, k)
    up: Tensor  # B (J, out, rank)


@dataclass(frozen=True, eq=False)
class Sliders:
    """J sliders: by layer, what each of them adds."""

    names: tuple[str, ...]
    layers: Mapping[str, LowRank]

    def __len__(self) -> int:
        return len(self.names)

    def take(self, places: Sequence[int]) -> Sliders:
        chosen = torch.tensor(list(places))
        layers = {
            name: LowRank(each.down[chosen.to(each.down.device)], each.up[chosen.to(each.up.device)])
            for name, each in self.layers.items()
        }
        return Sliders(tuple(self.names[place] for place in places), layers)

    def to(self, device: torch.device, dtype: torch.dtype) -> Sliders:
        layers = {name: LowRank(*(part.to(device, dtype) for part in each)) for name, each in self.layers.items()}
        return Sliders(self.names, layers)


def joined(parts: Sequence[Sliders]) -> Sliders:
    """Several as one; they change the same layers, by the same rank."""
    first = parts[0]
    for each in parts[1:]:
        if {name: low.down.shape[1:] for name, low in each.layers.items()} != {
            name: low.down.shape[1:] for name, low in first.layers.items()
        }:
            raise BrittleError(
                f"the sliders {first.names[0]!r} and {each.names[0]!r} change other layers, or by another rank",
                "Use sliders that were trained alike.",
            )
    layers = {
        name: LowRank(
            torch.cat([each.layers[name].down for each in parts]), torch.cat([each.layers[name].up for each in parts])
        )
        for name in first.layers
    }
    return Sliders(tuple(name for each in parts for name in each.names), layers)


class Dial(NamedTuple):
    """Which images of a batch the sliders are put on, and how far."""

    rows: Tensor  # (J, n) places in the batch, the same number for each slider
    scales: Tensor  # (J, n)


@contextmanager
def applied(unet: nn.Module, sliders: Sliders, dial: Dial) -> Iterator[None]:
    """Within it, the U-Net computes with sliders. What they are not put on is computed as without them."""
    modules = dict(unet.named_modules())
    lacking = next((name for name in sliders.layers if name not in modules), None)
    if lacking is not None:
        raise BrittleError(
            f"the slider {sliders.names[0]!r} changes {lacking}, which the pipeline does not have",
            "Use sliders that were trained on this pipeline.",
        )
    hooks = [modules[name].register_forward_hook(_adding(low, dial)) for name, low in sliders.layers.items()]
    try:
        yield
    finally:
        for each in hooks:
            each.remove()


def _adding(low: LowRank, dial: Dial) -> Any:
    rows = dial.rows.flatten()

    def add(module: nn.Module, given: tuple[Tensor, ...], out: Tensor) -> Tensor:
        change = _change(module, low, given[0][rows])
        scales = dial.scales.flatten().to(change.dtype)
        return out.index_add(0, rows, (change * scales.view(-1, *[1] * (change.ndim - 1))).to(out.dtype))

    return add


def _change(module: nn.Module, low: LowRank, x: Tensor) -> Tensor:
    """B (A x) of J sliders, for x (J·n, …) in the order of the sliders."""
    count = len(low.down)
    if isinstance(module, nn.Conv2d):
        n, (_, channels, height, width) = len(x) // count, x.shape
        x = x.view(count, n, channels, height, width).transpose(0, 1).reshape(n, count * channels, height, width)
        down = F.conv2d(x, low.down.flatten(0, 1), None, module.stride, module.padding, groups=count)
        up = F.conv2d(down, low.up.flatten(0, 1)[:, :, None, None], groups=count)
        return up.view(n, count, -1, *up.shape[2:]).transpose(0, 1).flatten(0, 1)
    flat = x.reshape(count, -1, x.shape[-1])
    return torch.bmm(torch.bmm(flat, low.down.mT), low.up.mT).view(*x.shape[:-1], -1)


def write_slider(path: Path, sliders: Sliders, place: int, about: Mapping[str, str]) -> None:
    """One of the sliders as a file that `load_lora_weights` of diffusers loads; `about` says how it came about."""
    content = slider_bytes(sliders, place, about)
    write_durably(path, lambda file: file.write_bytes(content))


def slider_bytes(sliders: Sliders, place: int, about: Mapping[str, str]) -> bytes:
    """What such a file holds."""
    import safetensors.torch

    weights = {}
    for name, low in sliders.layers.items():
        up = low.up[place]
        weights[PREFIX + name + DOWN] = low.down[place].detach().cpu().contiguous()
        is_conv = low.down.ndim > 3
        weights[PREFIX + name + UP] = (up[:, :, None, None] if is_conv else up).detach().cpu().contiguous()
    return bytes(safetensors.torch.save(weights, dict(about)))


def read_slider(path: Path | str, name: str = "") -> Sliders:
    """A slider from a file of peft's, whoever wrote it."""
    import safetensors
    import safetensors.torch

    file = Path(real_path(str(path)))
    size_of(file)
    try:
        weights = safetensors.torch.load_file(file)
    except (safetensors.SafetensorError, OSError) as error:
        raise BrittleError(f"{file} is not a slider: {first_line(error)}", "Give a .safetensors file.") from error
    layers = {}
    for key, down in weights.items():
        if not key.endswith(DOWN):
            continue
        layer = key.removeprefix(PREFIX).removesuffix(DOWN)
        up = weights.get(key.removesuffix(DOWN) + UP)
        if up is None or up.shape[1] != down.shape[0]:
            raise BrittleError(f"{file} is not a slider: {layer} is incomplete", "Save it again.")
        layers[layer] = LowRank(down[None].float(), up.flatten(1)[None].float())
    if not layers or len(weights) != 2 * len(layers):
        raise BrittleError(
            f"{file} holds something else than the layers of a LoRA of a U-Net",
            "Give a file of save_lora_weights of diffusers, without alphas, or one that brittle wrote.",
        )
    return Sliders((name or file.stem,), layers)


def fresh_sliders(unet: nn.Module, names: Sequence[str], rank: int, seeds: Sequence[int]) -> Sliders:
    """Sliders that change nothing yet. peft chooses the layers by the ends of their names, and the first values."""
    peft = library("peft", EXTRA, "a slider")
    config = peft.LoraConfig(r=rank, lora_alpha=rank, target_modules=list(CHANGED))
    found = []
    for name, seed in zip(names, seeds, strict=True):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            unet.add_adapter(config, "slider")  # type: ignore[operator]
        weights = peft.utils.get_peft_model_state_dict(unet, adapter_name="slider")
        unet.unload_lora()  # type: ignore[operator]
        layers = {
            key.removesuffix(DOWN): LowRank(
                weights[key][None].detach().clone(), weights[key.removesuffix(DOWN) + UP].flatten(1)[None].clone()
            )
            for key in weights
            if key.endswith(DOWN)
        }
        found.append(Sliders((name,), layers))
    unet.requires_grad_(False)
    return joined(found)
