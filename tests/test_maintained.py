"""What a maintained project has, and whether it is true: links, commands, paths and pages are there."""

import ast
import importlib
import importlib.util
import re
import shlex
import tomllib
from itertools import chain
from pathlib import Path

import pytest
import typer
from without_classifiers import MAKING

import brittle
from brittle.cli.assemble import make_app
from brittle.engine.job import FORMAT, SUMMARY_VERSION
from brittle.measures import measures
from brittle.measures.commands import built_in
from brittle.report import blocks
from brittle.study import Study

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PACKAGE = ROOT / "src" / "brittle"
PAGES = sorted(
    chain(
        ROOT.glob("*.md"),
        *(ROOT.joinpath(name).rglob("*.md") for name in ("docs", "benchmarks", "papers", "tests", "src")),
    )
)
USED = [
    page for page in PAGES if page.parent in (ROOT, DOCS) and page.name != "CHANGELOG.md"
]  # which shows the past too
GROUPS = ("start", "measure", "understand", "extend")
FENCE = re.compile(r"^ *```(\w*)\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")


def text_of(page):
    return page.read_text(encoding="utf-8")


def prose_of(page):
    return re.sub(r"`[^`]*`", "`", FENCE.sub("", text_of(page)))


def anchors(page):
    """Of the headings, as GitHub makes them."""
    found = []
    for title in re.findall(r"^#+ (.+)$", FENCE.sub("", text_of(page)), re.MULTILINE):
        plain = LINK.sub("", title).replace("[", "").replace("`", "").replace("*", "")
        anchor = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        found.append(f"{anchor}-{found.count(anchor)}" if anchor in found else anchor)
    return found


def fenced(language):
    """(page, code) of every block in a language; "" is what people type, and what they then see."""
    return [(page, code) for page in USED for said, code in FENCE.findall(text_of(page)) if said == language]


def commands_typed():
    """(page, words) of every line of ours that people are told to type."""
    for page, code in fenced(""):
        for line in code.replace("\\\n", " ").splitlines():
            if line.startswith("brittle "):
                yield page, shlex.split(line, comments=True)[1:]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target in LINK.findall(prose_of(page)):
        if target.startswith(("https://", "http://")):
            continue
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        assert there.exists(), target
        assert not anchor or anchor in anchors(there), target


def test_every_page_is_in_the_index_under_the_group_that_it_names():
    listed = {}
    for part in re.split(r"^## ", text_of(DOCS / "README.md"), flags=re.MULTILINE)[1:]:
        title, _, lines = part.partition("\n")
        for name in re.findall(r"^- \[[^]]+\]\(([\w-]+\.md)\): ", lines, re.MULTILINE):
            assert listed.setdefault(name, title.lower()) == title.lower(), name
    assert set(listed.values()) == set(GROUPS)
    assert listed.keys() == {page.name for page in DOCS.glob("*.md")} - {"README.md"}
    for name, group in listed.items():
        assert text_of(DOCS / name).startswith(f"[Documentation](README.md) › {group}\n\n# "), name


def test_the_readme_has_every_page_in_the_same_groups():
    readme = text_of(ROOT / "README.md").partition("## Where to go")[2].partition("\n## ")[0]
    parts = re.split(r"^\*\*(\w+)\*\*$", readme, flags=re.MULTILINE)
    assert [title.lower() for title in parts[1::2]] == list(GROUPS)
    for group, part in zip(GROUPS, parts[2::2], strict=True):
        pages = {Path(target).name for target in LINK.findall(part) if target.startswith("docs/")} - {"README.md"}
        assert pages == {page.name for page in DOCS.glob("*.md") if f"› {group}\n" in text_of(page)}


def test_every_measure_has_a_command_a_function_and_a_page_of_its_name():
    commands = {command.measure: command for command in built_in()}
    own = {name for name, kind in measures.loaded().items() if kind.__module__.startswith("brittle.measures.")}
    assert own == commands.keys() | {"before-after", *MAKING}  # the first is what `brittle harden` asks for
    for name, command in commands.items():
        assert command.function == name.replace("-", "_")
        assert command.function in brittle.__all__
        assert (DOCS / f"{name}.md").is_file(), name


def test_commands_that_people_are_told_to_type_exist():
    group = typer.main.get_command(make_app())
    names = set(group.commands)
    for command in group.commands.values():
        names.update(re.findall(r"[\w-]+", (command.help or "").partition("Short: ")[2]))
    for page in USED:
        said = set(re.findall(r"`brittle ([a-z][a-z-]*)", FENCE.sub("", text_of(page))))
        assert said <= names | {"doubt"}, f"{page.name}: {said - names}"  # the command that extending.md makes
    typed = list(commands_typed())
    assert len(typed) > 30
    for page, (name, *words) in typed:
        assert name in names, f"{page.name}: brittle {name}"
        offered = {flag for each in group.get_command(None, name).params for flag in (*each.opts, *each.secondary_opts)}
        asked = {word.partition("=")[0] for word in words if word.startswith("--")}
        assert asked <= offered, f"{page.name}: brittle {name} has no {asked - offered}"


def test_functions_that_examples_call_exist():
    for page, code in fenced("python"):
        for name in re.findall(r"\bbrittle\.([a-zA-Z_]\w*)", code):
            there = hasattr(brittle, name) or importlib.util.find_spec(f"brittle.{name}") is not None
            assert there, f"{page.name}: brittle.{name}"


def test_tables_of_studies_exist():
    known = {*Study.model_fields, *measures.names(), "project"}
    for page, code in fenced("toml"):
        for name in re.findall(r"^\[([\w-]+)", code, re.MULTILINE):
            assert name in known, f"{page.name}: [{name}]"


def test_examples_can_be_parsed():
    for page, code in fenced("toml"):
        assert tomllib.loads(code), page.name
    for page, code in fenced("python"):
        assert ast.parse(code).body, page.name


def test_paths_in_the_walk_exist():
    """Below the repository, or below the package."""
    said = re.findall(r"`([\w./-]+(?:/|\.(?:py|md|toml|cff|json|html)))`", text_of(ROOT / "CONTRIBUTING.md"))
    paths = {path for path in said if "NAME" not in path} - {"summary.json", "options.py", "measure.py"}
    assert len(paths) > 60
    missing = [path for path in paths if not any((home / path).exists() for home in (ROOT, ROOT / "src", PACKAGE))]
    assert not missing


def test_files_that_pages_name_exist():
    for page in USED:
        text = text_of(page)
        named = re.findall(r"`((?:src|tests|docs|benchmarks|papers)/[\w./-]+)`", text)
        named += re.findall(r"python ((?:docs|benchmarks|papers)/[\w./-]+\.py)", text)
        missing = [name for name in named if "NAME" not in name and not (ROOT / name).exists()]
        assert not missing, f"{page.name}: {missing}"


def test_targets_of_make_exist():
    known = set(re.findall(r"^([\w-]+):", text_of(ROOT / "Makefile").replace("idx:", ""), re.MULTILINE))
    for page in USED:
        for line in re.findall(r"`?\bmake ((?:[a-z-]+ ?)+)", "\n".join(re.findall(r"`(make [^`]*)`", text_of(page)))):
            assert set(line.split()) <= known, f"{page.name}: make {line}"


def test_the_changelog_begins_with_what_is_not_yet_released():
    page = text_of(ROOT / "CHANGELOG.md")
    first = page.partition("\n## Unreleased\n")[2].partition("\n## ")[0]
    assert re.findall(r"^### (\w+)$", first, re.MULTILINE) == ["Added", "Changed", "Fixed"]
    versions = (
        f"Run folders have format {FORMAT}, summaries version {SUMMARY_VERSION} and blocks version {blocks.VERSION}."
    )
    assert versions in " ".join(first.split())
    assert f"This will be {brittle.__version__}" in first


def test_the_package_links_what_the_citation_names():
    urls = tomllib.loads(text_of(ROOT / "pyproject.toml"))["project"]["urls"]
    citation = text_of(ROOT / "CITATION.cff")
    assert f"version: {brittle.__version__}\n" in citation
    assert set(urls.values()) <= set(re.findall(r"^ *(?:url|repository-code): (\S+)$", citation, re.MULTILINE))
    assert all(len(label) <= 32 and "," not in label for label in urls)  # which metadata allow


def test_benchmarks_and_scripts_of_the_docs_import_names_that_there_are():
    """They run by hand, and a name that has changed would be found by whoever wants a table renewed."""
    missing = []
    for path in sorted(chain((ROOT / "benchmarks").rglob("*.py"), DOCS.glob("*.py"))):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "brittle":
                module = importlib.import_module(node.module)
                missing += [
                    f"{path.relative_to(ROOT)}: {node.module}.{each.name}"
                    for each in node.names
                    if not hasattr(module, each.name)
                    and not (hasattr(module, "__path__") and importlib.util.find_spec(f"{node.module}.{each.name}"))
                ]
    assert missing == []
