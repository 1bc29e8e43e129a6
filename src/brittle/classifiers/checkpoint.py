"""Weights from a file, without running any code that the file might contain."""

from __future__ import annotations

import json
import math
import pickle
import warnings
import zipfile
from collections.abc import Container, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from brittle.classifiers.base import no_file
from brittle.classifiers.model_files import not_weights, program_in
from brittle.errors import BrittleError
from brittle.files import read_whole, real_path
from brittle.libraries import first_line

LOSSES = ("diversity", "mix_diversity")
MOST_HEADER = 10**8
WRAPPERS = ("state_dict", "model_state_dict", "model", "net")  # the keys under which training scripts keep weights
PICKLED = (".pt", ".pth", ".bin", ".ckpt")


def load_weights(module: nn.Module, path: str | Path) -> None:
    """Loads a checkpoint into `module`; it must hold every weight, and nothing else."""
    wanted = module.state_dict()
    weights = read_weights(path, wanted)
    missing, unexpected = [k for k in wanted if k not in weights], [k for k in weights if k not in wanted]
    if missing or unexpected:
        said = [
            f"{what} {_few(names)}" for what, names in (("it lacks", missing), ("it also holds", unexpected)) if names
        ]
        raise BrittleError(
            f"{path} doesn't fit the network: {' and '.join(said)}", "Give weights of exactly this network."
        )
    for key, value in weights.items():
        there, here = tuple(value.shape), tuple(wanted[key].shape)
        if there != here:
            raise BrittleError(
                f"{path} doesn't fit the network: {key} is {there} there and {here} here",
                "Give weights of exactly this network.",
            )
        if value.is_complex() != wanted[key].is_complex() or value.layout != wanted[key].layout or value.is_quantized:
            kind = "complex" if value.is_complex() else "sparse or quantised"
            raise BrittleError(f"{path} doesn't fit the network: {key} is {kind} there", "Save plain dense weights.")
    try:
        module.load_state_dict(weights)
    except RuntimeError as error:
        raise BrittleError(
            f"{path} doesn't fit the network: {first_line(error)}", "Give weights of exactly this network."
        ) from error


def read_weights(path: str | Path, wanted: Container[str] = ()) -> dict[str, Tensor]:
    """Name → tensor, from .safetensors or a torch checkpoint. Wrappers' prefixes are stripped, except from names that
    are wanted with them."""
    path = Path(real_path(str(path)))
    if not path.is_file():
        raise no_file(path, f"*{path.suffix}")
    program = program_in(str(path))
    if program:
        raise not_weights(str(path), program)
    if path.suffix == ".safetensors":
        return _bare(_safetensors(path), wanted)
    if path.suffix in PICKLED:
        return _bare(_torch(path), wanted)
    raise BrittleError(f"{path} is not a kind of weights file that Brittle reads", "Give .safetensors, .pt or .pth.")


def trained_with(path: str | Path) -> dict[str, float | str]:
    """What a file that `brittle train` wrote says of the training: its mix, and the losses it ended with."""
    file = Path(real_path(str(path)))
    if file.suffix != ".safetensors" or not file.is_file():
        return {}
    with file.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        header = stream.read(length) if length < MOST_HEADER else b""
    try:
        facts = json.loads(json.loads(header)["__metadata__"]["training"])
        said = {"mix": facts["about"].get("mix", ""), **{key: facts.get(key) for key in LOSSES}}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}  # somebody else's weights
    return {
        key: value
        for key, value in said.items()
        if (isinstance(value, str) and value) or (isinstance(value, float) and math.isfinite(value))
    }


def _safetensors(path: Path) -> Mapping[str, Any]:
    from safetensors import SafetensorError
    from safetensors.torch import load

    content = read_whole(path)  # what the library reads by itself fails in ways that don't say whose fault it is
    try:
        return load(content)
    except (SafetensorError, ValueError, KeyError, TypeError, OverflowError, RuntimeError) as error:
        raise BrittleError(f"{path} can't be read: {first_line(error)}", "Save or download it again.") from error


def _torch(path: Path) -> Any:
    _refuse_packed(path)
    try:
        with warnings.catch_warnings():  # torch warns about pickles before refusing them; our error says enough
            warnings.simplefilter("ignore")
            return torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        with path.open("rb") as file:
            is_pickle = file.read(2).startswith((b"PK", b"\x80"))
        if not is_pickle:
            raise BrittleError(f"{path} is not a torch checkpoint", "Save or download it again.") from error
        raise BrittleError(
            f"{path} holds more than weights and would run code when loaded, so it is refused",
            "If you trust it, save the weights alone:"
            " safetensors.torch.save_file(model.state_dict(), 'weights.safetensors').",
        ) from error
    except MemoryError:
        raise
    except Exception as error:  # damaged pickles raise many kinds: TypeError, IndexError, AttributeError, …
        raise BrittleError(f"{path} can't be read: {first_line(error)}", "Save or download it again.") from error


def _refuse_packed(path: Path) -> None:
    """torch writes weights as they are: an archive that holds more than its own size would unpack to any size."""
    try:
        with zipfile.ZipFile(path) as archive:
            held = sum(entry.file_size for entry in archive.infolist())
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return  # an older format, or no checkpoint at all, which torch finds out
    if held > path.stat().st_size:
        raise BrittleError(
            f"{path} is compressed and unpacks to {held} bytes, which torch never writes",
            "Save it again with torch.save.",
        )


def _bare(found: Any, wanted: Container[str]) -> dict[str, Tensor]:
    """The state dict itself, without what is kept beside it, and without the prefixes of DataParallel and compile."""
    for key in WRAPPERS:
        if isinstance(found, Mapping) and isinstance(found.get(key), Mapping):
            found = found[key]
    plain = isinstance(found, Mapping) and all(isinstance(each, Tensor) for each in found.values())
    if not plain or not found or not all(isinstance(key, str) for key in found):
        beside = f": only {', '.join(map(repr, list(found)[:5]))}" if isinstance(found, Mapping) and found else ""
        raise BrittleError(
            f"the checkpoint holds no state dict{beside}",
            "Save model.state_dict(), alone or under the key 'state_dict'.",
        )
    weights = dict(found)
    for prefix in ("module.", "_orig_mod."):
        if all(key.startswith(prefix) and key not in wanted for key in weights):
            weights = {key.removeprefix(prefix): value for key, value in weights.items()}
    return weights


def _few(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
