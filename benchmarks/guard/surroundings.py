"""Where and under what conditions something was measured: what a ratio must be read beside."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGES = (
    *("torch", "numpy", "scipy", "pyarrow", "onnxruntime", "torchvision", "timm"),
    *("kornia", "albumentations", "opencv-python-headless", "captum"),
)


def environment(**more: Any) -> dict[str, Any]:
    """Versions, machine and commit; `more` is the caller's, such as threads and a GPU's name."""
    return {
        "python": platform.python_version(),
        "packages": {name: version for name in PACKAGES if (version := installed(name))},
        "processor": processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "commit": commit(),
        **more,
    }


def installed(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def processor() -> str:
    """The model, as the system calls it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor())


def commit() -> str:
    """The commit that was measured, and whether the source differed from it; "" outside a repository."""
    try:
        head = _git("rev-parse", "--short=12", "HEAD")
        return f"{head}, changed" if _git("status", "--porcelain", "--", "src") else head
    except (OSError, subprocess.CalledProcessError):
        return ""


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def load() -> float:
    """Processes that wanted to run in the last minute, on average; this one among them."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else float("nan")


def same_machine(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether ratios of two runs may be held against each other: what they ran on, and with how many threads."""
    keys = ("processor", "cores", "threads", "device")
    return all(one.get(key) == other.get(key) for key in keys)
