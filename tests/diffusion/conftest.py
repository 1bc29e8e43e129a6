"""A tiny pipeline, made once."""

from __future__ import annotations

from pathlib import Path

import pytest
from tiny_pipeline import tiny_pipeline


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory, torchvision: object) -> Path:
    return tiny_pipeline(tmp_path_factory.mktemp("tiny"))
