"""Optional packages: none is listed that nothing uses, and what installs one is a command that works."""

import importlib.metadata
import json
import re
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest

from brittle.errors import install_command

ROOT = Path(__file__).parents[1]
MODULES = {"mlflow-skinny": "mlflow", "scikit-learn": "sklearn", "scikit-sundae": "sksundae"}


def test_every_extra_is_used_by_something():
    """Each package that an extra lists is named by some import, but for tests, documentation and benchmarks."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    source = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    for name, packages in extras.items():
        for package in packages if name not in ("dev", "docs", "bench") else ():
            plain = re.split(r"[<>=\[]", package)[0]
            module = MODULES.get(plain, plain)
            used = rf"(import|from) {module}\b|(import_module|library|find_spec)\(\s*\"{module}\b"
            assert re.search(used, source), f"nothing uses {plain}, of the extra {name}"


@pytest.mark.parametrize(
    ("origin", "command"),
    [
        (None, "pip install 'brittle[timm]'"),
        ({"url": "https://example.org/brittle.whl", "archive_info": {}}, "pip install 'brittle[timm]'"),
        (
            {"url": "file://{}", "dir_info": {"editable": True}},
            "pip install -c '{0}/constraints.txt' -e '{0}[timm]'",
        ),
        ({"url": "file://{}", "dir_info": {}}, "pip install -c '{0}/constraints.txt' '{0}[timm]'"),
        ({"url": "file:///gone", "dir_info": {}}, "pip install '/gone[timm]'"),
    ],
)
def test_a_clone_is_told_to_install_from_its_folder(origin, command, monkeypatch, tmp_path):
    clone = tmp_path / "my clone"
    clone.mkdir()
    (clone / "constraints.txt").touch()
    text = None if origin is None else json.dumps(origin).replace('{}"', str(clone).replace(" ", "%20") + '"')
    here = SimpleNamespace(read_text={"direct_url.json": text}.get)
    monkeypatch.setattr(importlib.metadata, "distribution", lambda name: here)
    assert install_command("timm") == command.format(clone)


def test_documents_say_how_to_install_from_a_clone():
    """Brittle is on no registry: its name alone installs nothing, or somebody else's package."""
    pages = [ROOT / "README.md", *ROOT.glob("docs/*.md"), *ROOT.glob("papers/*/*.md"), ROOT / "benchmarks/README.md"]
    assert not [
        page.name for page in pages if re.search(r"pip install[^`\n]*brittle", page.read_text(encoding="utf-8"))
    ]
    said = " ".join(page.read_text(encoding="utf-8") for page in pages)
    named = set(re.findall(r"'\.\[([a-z]+)\]'", said))
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert {"timm", "ray", "captum"} <= named <= set(extras)


@pytest.mark.parametrize("page", ["README.md", "docs/tutorial.md"])
def test_a_newcomer_is_told_which_python_and_where_the_command_is(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    assert re.findall(r"Python 3\.11.{9}", text) == ["Python 3.11 or newer"]
    assert ".venv/bin/brittle" in text
    assert "source .venv/bin/activate" in text
