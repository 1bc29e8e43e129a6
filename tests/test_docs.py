import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from brittle.nuisances import nuisances
from brittle.registry import options_of
from brittle.registry.options import is_required

DOCS = Path(__file__).parents[1] / "docs"


def test_the_reference_is_what_the_code_says():
    """Otherwise: `make docs`. In a process of its own, in which no other test has registered anything."""
    said = subprocess.run(
        [sys.executable, str(DOCS / "make.py"), "--check"], capture_output=True, text=True, check=False
    )
    assert said.returncode == 0, said.stderr


def test_every_nuisance_has_its_picture():
    page = (DOCS / "nuisances.md").read_text(encoding="utf-8")
    kinds = {name: nuisances.get(name) for name in nuisances.names()}
    ours = [name for name, kind in kinds.items() if kind.__module__.startswith("brittle.")]
    own = [name for name in ours if not any(map(is_required, options_of(kinds[name]).values()))]  # not `function`
    assert re.findall(r"^## `(.+)`$", page, re.MULTILINE) == own
    for name in own:
        assert (DOCS / "images" / "nuisances" / f"{name}.jpg").is_file(), name
    for index in (DOCS.parent / "README.md", DOCS / "README.md"):
        assert f"each of the {len(own)} at five severities" in index.read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_python_page_shows_what_its_code_shows(tmp_path):
    """Otherwise: `make docs`. Numbers may differ in their last digits from machine to machine."""
    loaded = importlib.util.spec_from_file_location("python_page", DOCS / "python.py")
    script = importlib.util.module_from_spec(loaded)
    loaded.loader.exec_module(script)
    page = (DOCS / "python.md").read_text(encoding="utf-8")
    assert without_numbers(script.made(page, tmp_path)) == without_numbers(page)
    figures = [path.name for path in tmp_path.iterdir()]
    assert figures == re.findall(r"images/(python-\d+\.png)", page)


def without_numbers(page):
    return re.sub(r" +", " ", re.sub(r"[−+]?\d+(\.\d+)?", "0", page))
