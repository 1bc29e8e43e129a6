"""Entry points are looked for once, and again where packages have come or gone."""

import importlib.metadata
import shutil

from brittle.registry.entry_points import entry_points


def install(folder, name):
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[brittle.tests]\n{name} = {name}:Thing\n")


def test_packages_are_found_as_they_come_and_go(tmp_path, monkeypatch):
    assert not entry_points("brittle.tests")
    install(tmp_path, "first")
    monkeypatch.syspath_prepend(tmp_path)
    assert entry_points("brittle.tests").names == {"first"}
    install(tmp_path, "second")
    assert entry_points("brittle.tests").names == {"first", "second"}
    assert [entry.value for entry in entry_points("brittle.tests", name="second")] == ["second:Thing"]
    shutil.rmtree(tmp_path / "first-1.0.dist-info")
    assert entry_points("brittle.tests").names == {"second"}


def test_where_nothing_has_changed_nothing_is_searched(monkeypatch):
    entry_points("brittle.tests")
    monkeypatch.setattr(importlib.metadata, "entry_points", None)
    assert not entry_points("brittle.tests")
