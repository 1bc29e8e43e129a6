"""The documentation as a site: every page, no link that leads nowhere, nothing fetched from elsewhere."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    target = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, str(DOCS / "build_site.py"), str(target)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return target


@pytest.fixture
def script(tmp_path, monkeypatch):
    """The script, as it is for a documentation of two pages."""
    loaded = importlib.util.spec_from_file_location("build_site", DOCS / "build_site.py")
    module = importlib.util.module_from_spec(loaded)
    loaded.loader.exec_module(module)
    root = tmp_path / "repository"
    (root / "docs").mkdir(parents=True)
    (root / "README.md").write_text("# Here\n\n[All](docs/README.md)\n")
    (root / "docs" / "README.md").write_text("# All\n\n## Start\n- [One](one.md): a page.\n")
    monkeypatch.setattr(module, "ROOT", root)
    return module


def test_every_page_of_the_documentation_is_in_the_site(built):
    pages = {path.stem for path in DOCS.glob("*.md")} - {"README"}
    assert pages == {path.stem for path in (built / "docs").glob("*.html")} - {"index"}
    assert (built / "docs" / "images" / "report.png").is_file()


def test_nothing_is_fetched_from_elsewhere(built):
    pages = [path.read_text(encoding="utf-8") for path in built.rglob("*.html")]
    assert len(pages) > 40
    fetched = [
        found
        for page in pages
        for found in re.findall(r"<(?:script|img|iframe|link)[^>]*(?:src|href)=.https?:[^>]*", page)
    ]
    assert [each for each in fetched if 'rel="canonical"' not in each] == []


def test_lists_and_tables_are_lists_and_tables_there(built):
    changelog = (built / "CHANGELOG.html").read_text(encoding="utf-8")
    assert "<li>" in changelog
    assert re.search(r"<li>\s*<p>One name per measure.*?<table>.*?</table>.*?</li>", changelog, re.DOTALL)
    assert not re.search(r"<p>[^<]*\n- ", "".join(path.read_text(encoding="utf-8") for path in built.rglob("*.html")))


@pytest.mark.parametrize("link", ["nowhere.md", "one.md#nowhere", "../nowhere.py"])
def test_a_link_that_leads_nowhere_is_an_error(script, tmp_path, link):
    page = script.ROOT / "docs" / "one.md"
    page.write_text("# One\n\n## A part\n[Itself](one.md#a-part)\n")
    assert script.main(tmp_path / "site") == 0
    page.write_text(f"# One\n\n[A page]({link})\n")
    assert script.main(tmp_path / "site") == 1
