"""Files of models that are named without a word about what they are: the spec of one that is a classifier by itself,
and for all others what to type instead. Nothing is loaded: some would run code."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

from brittle.errors import BrittleError
from brittle.files import real_path
from brittle.registry.spec import write_spec
from brittle.registry.values import nearest

TORCH = (".pt", ".pth", ".ckpt", ".bin", ".safetensors", ".pt2")
PICKLED = (".pkl", ".pickle", ".joblib")
FOREIGN = (".h5", ".keras", ".tflite", ".pb", ".mlmodel", ".engine")
MODELS = (".onnx", ".skops", *TORCH, *PICKLED, *FOREIGN)
PROGRAMS = {  # what torch calls a whole network in a file, and how it is loaded
    "TorchScript": "torch.jit.load({!r})",
    "an exported program": "torch.export.load({!r}).module()",
}


def is_model(path: str) -> bool:
    """Whether this is the name of a model's file; one with a colon may as well be a spec, if there is no such file."""
    return path.lower().endswith(MODELS) and (":" not in path or os.path.isfile(real_path(path)))


def path_spec(path: str) -> str:
    """The spec of the classifier in an .onnx or .skops file; what to type for another is the remedy of the refusal."""
    suffix = Path(path).suffix.lower()
    if suffix in (".onnx", ".skops"):
        return write_spec({".onnx": "onnx", ".skops": "sklearn"}[suffix], path, {})
    place = Path(real_path(path))
    if not place.is_file():
        near = place.parent.glob(f"*{place.suffix}") if place.parent.is_dir() else ()
        raise BrittleError(f"there is no file {path}", nearest(path, near) or "Check the path.")
    raise refusal(path)


def refusal(path: str) -> BrittleError:
    """What a file holds that is not a classifier by itself, and what to type."""
    suffix, program = Path(path).suffix.lower(), program_in(path)
    if program:
        return not_weights(path, program)
    if suffix in TORCH:
        return BrittleError(
            f"{path} holds weights, not the network that they belong to",
            f"Name a function that makes the network too: torch:net.py:make,weights={path}.",
        )
    if suffix in PICKLED:
        return BrittleError(
            f"{path} is a pickle and would run code when loaded, so it is refused",
            "Name a function that returns the estimator: sklearn:file.py:function.",
        )
    if suffix in FOREIGN:
        return BrittleError(
            f"{path} is not a kind of model file that Brittle reads", "Export it to ONNX: onnx:model.onnx."
        )
    return BrittleError(
        f"{path} is not a classifier",
        "Name an .onnx file, or say what it is: torch:net.py:make, python:file.py:function, sklearn:file.py:function.",
    )


def not_weights(path: str, program: str) -> BrittleError:
    """The refusal of a file that holds a program."""
    return BrittleError(
        f"{path} is {program}, a program that would run when loaded",
        f"If you trust it, name a function that returns {PROGRAMS[program].format(path)}: torch:file.py:function.",
    )


def program_in(path: str) -> str:
    """ "TorchScript" or "an exported program", told by the names in the archive; "" for weights and all else."""
    try:
        with zipfile.ZipFile(real_path(path)) as archive:
            inside = {name.partition("/")[2] for name in archive.namelist()}
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        inside = set()
    if "constants.pkl" in inside and any(name.startswith("code/") for name in inside):
        return "TorchScript"
    exported = "archive_format" in inside or "serialized_exported_program.json" in inside
    return "an exported program" if exported or path.lower().endswith(".pt2") else ""
