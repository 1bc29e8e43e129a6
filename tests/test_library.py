"""Brittle as a library: what a call leaves behind in the process, and what it offers to an editor."""

import ctypes
from types import SimpleNamespace

import brittle
from brittle.allocator import keep_mapped


def test_only_public_names_are_offered():
    brittle.measure("bundled:plain", "sample", "affine", samples=1, count=2)
    assert "api" in vars(brittle), "imported, and not public"
    assert dir(brittle) == sorted(brittle.__all__)


def test_a_library_call_leaves_the_allocator_alone(monkeypatch):
    loaded = []
    monkeypatch.setattr(ctypes, "CDLL", lambda name: loaded.append(name) or SimpleNamespace(mallopt=None))
    keep_mapped.cache_clear()
    brittle.measure("bundled:plain", "sample", "affine", samples=1, count=4, device="cpu")
    assert loaded == []
