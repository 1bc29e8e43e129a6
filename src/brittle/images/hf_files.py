"""Where the files of a Hugging Face dataset may lie: a dataset on disk names some, and so may each of its rows."""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet

from brittle.contained_files import ContainedFiles
from brittle.errors import BrittleError
from brittle.files import real_path, size_of
from brittle.images.base import MOST_CLASSES

STATE, SPLITS, INFO = "state.json", "dataset_dict.json", "dataset_info.json"  # what save_to_disk writes

FEATURES = b"huggingface"  # where a table says what its columns are


def own_files(name: str, outside: str) -> ContainedFiles:
    """What rows may name: files beside them or, of a dataset of the hub, those that were fetched with it."""
    path = Path(real_path(name))
    folder = path if path.is_dir() else path.parent
    caches = _caches()
    on_disk = path.exists() or bool(_matching(path))
    if not on_disk or ContainedFiles(*caches).holds(folder):
        return ContainedFiles(*caches, outside=outside)
    return ContainedFiles(folder, outside=outside)


def parquet_files(path: Path, own: ContainedFiles) -> list[str]:
    """The Parquet files of a folder or a pattern, or the one that is named, which may be a link to anywhere."""
    found = _matching(path)
    for file in found:
        if not path.is_file():
            own.path(os.path.abspath(file))
        size_of(file)
        _refuse_many_classes(pyarrow.parquet.read_schema(file).metadata or {}, file)
    return list(map(str, found))


def refuse_named_outside(own: ContainedFiles) -> None:
    """A folder that save_to_disk wrote names its files, and its splits' folders."""
    splits = [str(split) for split in _json(own.path(SPLITS)).get("splits") or []]
    for below in ("", *splits):
        state = _json(own.path(os.path.join(below, STATE)))
        for key in ("_data_files", "_indices_data_files"):
            for entry in state.get(key) or []:
                file = own.path(os.path.join(below, str(entry["filename"])))
                size_of(file)
                with pa.memory_map(str(file)) as content:
                    _refuse_many_classes(pa.ipc.open_stream(content).schema.metadata or {}, file)
        info = own.path(os.path.join(below, INFO))
        _refuse_number(_json(info), info)


def _refuse_many_classes(metadata: Mapping[bytes, bytes], file: Path) -> None:
    """Of classes without names, the library makes a name for each, however many a file declares."""
    _refuse_number(json.loads(metadata.get(FEATURES, b"{}")), file)


def _refuse_number(about: Any, file: Path) -> None:
    for value in about.values() if isinstance(about, dict) else about:
        if isinstance(value, dict | list):
            _refuse_number(value, file)
    number = about.get("num_classes") if isinstance(about, dict) else None
    if isinstance(number, int | float) and number > MOST_CLASSES:
        raise BrittleError(f"{file} declares {number:.0f} classes", "Name them, or leave out the labels.")


def _json(file: Path) -> dict[str, Any]:
    """A table; empty where there is none."""
    found = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    return found if isinstance(found, dict) else {}


def _caches() -> list[Path]:
    """Where the libraries keep what they fetch; not the folder above, which holds a token."""
    config = importlib.import_module("datasets").config
    hub_cache = importlib.import_module("huggingface_hub.constants").HF_HUB_CACHE
    return [Path(each) for each in (config.HF_DATASETS_CACHE, config.DOWNLOADED_DATASETS_PATH, hub_cache)]


def _matching(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(path.glob("*.parquet"))
    if path.suffix != ".parquet":
        return []
    return [path] if path.is_file() else sorted(path.parent.glob(path.name))
