import re
import subprocess
import sys
from pathlib import Path

from brittle.nuisances import nuisances

DOCS = Path(__file__).parents[1] / "docs"


def test_the_reference_is_what_the_code_says():
    """Otherwise: `make docs`. In a process of its own, in which no other test has registered anything."""
    said = subprocess.run(
        [sys.executable, str(DOCS / "make.py"), "--check"], capture_output=True, text=True, check=False
    )
    assert said.returncode == 0, said.stderr


def test_every_nuisance_has_its_picture():
    page = (DOCS / "nuisances.md").read_text(encoding="utf-8")
    own = [name for name in nuisances.names() if nuisances.get(name).__module__.startswith("brittle.")]
    assert re.findall(r"^## `(.+)`$", page, re.MULTILINE) == own
    for name in own:
        assert (DOCS / "images" / "nuisances" / f"{name}.jpg").is_file(), name


def test_links_between_pages_lead_somewhere():
    for page in [DOCS.parent / "README.md", DOCS.parent / "benchmarks" / "README.md", *DOCS.glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
