"""Tiny encoders and a benchmark in CNS-Bench's layout, made once."""

from __future__ import annotations

from pathlib import Path

import pytest
from cns_folder import make
from tiny_encoders import tiny_clip, tiny_dino
from tiny_pipeline import tiny_pipeline


@pytest.fixture(scope="session")
def clip(tmp_path_factory: pytest.TempPathFactory, torchvision: object) -> Path:
    return tiny_clip(tmp_path_factory.mktemp("encoders") / "clip")


@pytest.fixture(scope="session")
def dino(tmp_path_factory: pytest.TempPathFactory, torchvision: object) -> Path:
    return tiny_dino(tmp_path_factory.mktemp("encoders") / "dino")


@pytest.fixture
def benchmark(tmp_path: Path) -> Path:
    return make(tmp_path / "generated", annotations=True)


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory, torchvision: object) -> Path:
    return tiny_pipeline(tmp_path_factory.mktemp("tiny"))
