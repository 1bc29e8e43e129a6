"""Files of weights that also say how they were made."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from brittle.classifiers.base import first_line
from brittle.errors import BrittleError
from brittle.files import write_durably

State = dict[str, Tensor]


def state_of(module: nn.Module) -> State:
    """A copy of the weights, on the CPU; tied ones are several."""
    return {key: value.detach().cpu().clone().contiguous() for key, value in module.state_dict().items()}


def fingerprint(weights: State) -> str:
    """Tells weights apart."""
    digest = hashlib.blake2b(digest_size=16)
    for key, value in sorted(weights.items()):
        digest.update(f"{key} {value.dtype} {tuple(value.shape)}".encode())
        digest.update(value.reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def save_weights(path: Path, weights: State, kind: str, facts: Mapping[str, Any]) -> None:
    """Weights and, under `kind`, how they came about."""
    # One entry, since safetensors writes several in any order and the same training would give other bytes.
    write_durably(path, lambda to: to.write_bytes(save(weights, {kind: json.dumps(facts)})))


def read_facts(path: Path, kind: str) -> dict[str, Any]:
    """What `save_weights` was told of."""
    try:
        with safe_open(path, framework="pt") as file:
            known: dict[str, Any] = json.loads((file.metadata() or {})[kind])
    except (SafetensorError, OSError, ValueError) as error:
        raise BrittleError(
            f"{path} can't be read: {first_line(error)}", "Delete it to do it again, or choose another --out."
        ) from error
    except KeyError:
        raise BrittleError(f"{path} is there and was not written by this command", "Choose another --out.") from None
    return known
