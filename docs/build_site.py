"""The documentation as a site: `make site`. A link that leads nowhere is an error.

Pages stay as they are, to be read where the code is. The site has them at the same places as the repository, so that
the links between them hold, and its contents are those of docs/README.md. It fetches nothing from elsewhere.
"""

from __future__ import annotations

import logging
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pymdownx.slugs import slugify

ROOT = Path(__file__).parents[1]
PAGES = ("*.md", "docs/*.md", "benchmarks/**/*.md", "papers/**/*.md", "tests/fuzz/*.md", "src/brittle/**/data/*.md")
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)|<img[^>]+src=\"([^\"]+)\"")
ITEM = re.compile(r"(?:[-*]|\d+\.) ")


def main(target: Path) -> int:
    """Builds the site into a folder, which is emptied first; the exit status."""
    from mkdocs.commands.build import build
    from mkdocs.config import load_config
    from mkdocs.exceptions import Abort

    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(message)s")
    with tempfile.TemporaryDirectory() as folder:
        pages, file = Path(folder, "pages"), Path(folder, "mkdocs.yml")
        gather(pages)
        file.write_text("site_name: Brittle\n", encoding="utf-8")
        config = load_config(str(file), **settings(pages, target))
        try:
            build(config)
        except Abort:
            return 1
    print(f"wrote {target}/index.html")
    return 0


def settings(pages: Path, target: Path) -> dict[str, Any]:
    return {
        "docs_dir": str(pages),
        "site_dir": str(target.resolve()),
        "strict": True,
        "use_directory_urls": False,
        "exclude_docs": "",
        "validation": {
            "nav": {"omitted_files": "ignore", "not_found": "warn"},
            "links": {"not_found": "warn", "anchors": "warn", "unrecognized_links": "warn", "absolute_links": "warn"},
        },
        "theme": {
            "name": "material",
            "font": False,  # which would be fetched
            "features": ["navigation.sections", "navigation.top", "search.highlight", "content.code.copy"],
            "palette": [
                {"media": "(prefers-color-scheme: light)", "scheme": "default"},
                {"media": "(prefers-color-scheme: dark)", "scheme": "slate"},
            ],
        },
        "plugins": ["search"],
        "markdown_extensions": [
            {"toc": {"slugify": slugify(case="lower"), "permalink": True, "toc_depth": "2-3"}},
            {"pymdownx.highlight": {"guess_lang": False}},
            "pymdownx.superfences",
            "tables",
            "md_in_html",
        ],
        "nav": contents(),
    }


def contents() -> list[dict[str, Any]]:
    """The groups of docs/README.md, with the page of each line, or those that it lists."""
    groups: list[dict[str, Any]] = [{"Brittle": "README.md"}, {"All pages": "docs/README.md"}]
    for part in re.split(r"^## ", (ROOT / "docs" / "README.md").read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        title, _, text = part.partition("\n")
        pages: dict[str, str] = {}
        for item in re.split(r"^- ", text, flags=re.MULTILINE)[1:]:
            links = re.findall(r"\[([^\]]+)\]\(([^)#]+\.md)\)", item)
            for name, link in links[:1] if item.startswith("[") else links:
                pages[" ".join(name.split())] = inside("docs", link)
        groups.append({title.strip(): [{name: page} for name, page in pages.items()]})
    return groups


def inside(folder: str, link: str) -> str:
    """A link from a folder, from the root."""
    return (ROOT / folder / link).resolve().relative_to(ROOT.resolve()).as_posix()


def gather(target: Path) -> None:
    """The pages, as the site's Markdown has them, and what they show or link to, at the same places."""
    for pattern in PAGES:
        for page in sorted(ROOT.glob(pattern)):
            if any(part.startswith(".") or part == "build" for part in page.relative_to(ROOT).parts):
                continue
            text = page.read_text(encoding="utf-8")
            written = target / page.relative_to(ROOT)
            written.parent.mkdir(parents=True, exist_ok=True)
            written.write_text("\n".join(spaced(text.splitlines())) + "\n", encoding="utf-8")
            for found in LINK.finditer(text):
                linked = page.parent / (found[1] or found[2])
                if linked.is_file() and linked.suffix != ".md":
                    beside = target / linked.resolve().relative_to(ROOT.resolve())
                    beside.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(linked, beside)


def spaced(lines: list[str]) -> Iterator[str]:
    """GitHub's Markdown as Python's: lists and tables stand after an empty line, and what belongs to an item of a list
    is four spaces in."""
    before, fenced, listed = "", False, False
    for line in lines:
        plain = line.lstrip()
        fence = plain.startswith("```")
        if not fenced:
            listed = bool(ITEM.match(plain)) or (listed and (line.startswith(" ") or not plain))
            begins = (ITEM.match(plain) and not listed_line(before)) or (
                plain[:1] == "|" and before.lstrip()[:1] != "|"
            )
            if begins and before.strip():
                yield ""
        yield " " * (len(line) - len(plain)) + line if listed and plain else line
        fenced, before = fenced != fence, line


def listed_line(line: str) -> bool:
    return bool(ITEM.match(line.lstrip())) or line.startswith("  ")


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build" / "site")))
