"""Files of weights that also record how they were made."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor, nn

from brittle.errors import BrittleError
from brittle.files import read_whole, write_durably
from brittle.libraries import first_line

State = dict[str, Tensor]
CHECKSUM = "checksum"


def state_of(module: nn.Module) -> State:
    """A copy of the weights, on the CPU; tied weights are copied separately."""
    return {key: value.detach().cpu().clone().contiguous() for key, value in module.state_dict().items()}


def fingerprint(weights: State) -> str:
    """Identifies weights."""
    digest = hashlib.blake2b(digest_size=16)
    for key, value in sorted(weights.items()):
        digest.update(f"{key} {value.dtype} {tuple(value.shape)}".encode())
        digest.update(value.reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def save_weights(path: Path, weights: State, kind: str, facts: Mapping[str, Any]) -> None:
    """Saves weights and, under `kind`, how they were made, with a checksum of both."""
    # One entry, since safetensors writes several in arbitrary order, and the same training must give the same bytes.
    text = json.dumps({**facts, CHECKSUM: _checksum(facts, weights)})
    write_durably(path, lambda to: to.write_bytes(save(weights, {kind: text})))


def read_facts(path: Path, kind: str) -> dict[str, Any]:
    """The facts that `save_weights` stored, beside the same weights."""
    content, remedy = read_whole(path), "Delete it to start over, or choose another --out."
    try:
        weights = load(content)
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
        known = json.loads(header.get("__metadata__", {})[kind])
    except (SafetensorError, ValueError, RecursionError) as error:
        raise BrittleError(f"{path} can't be read: {first_line(error)}", remedy) from error
    except KeyError:
        raise BrittleError(f"{path} exists and was not written by this command", "Choose another --out.") from None
    if not isinstance(known, dict) or known.pop(CHECKSUM, None) != _checksum(known, weights):
        raise BrittleError(f"{path} is damaged: its checksum is wrong", remedy)
    return known


def _checksum(facts: Mapping[str, Any], weights: State) -> str:
    text = f"{json.dumps(facts, sort_keys=True)} {fingerprint(weights)}"
    return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()
