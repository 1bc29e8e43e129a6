"""Runs the code of docs/python.md, cell by cell as a notebook would, and writes beneath each what it shows."""

from __future__ import annotations

import ast
import contextlib
import io
import os
import re
import tempfile
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

HERE = Path(__file__).parent
PAGE = HERE / "python.md"
CELL = re.compile(r"```python\n(.*?)```\n(?:```text\n.*?```\n|!\[[^\n]*\n)?", re.DOTALL)


def made(page: str, images: Path) -> str:
    """The page with every cell's output as it is now; figures go to the folder `images`."""
    names: dict[str, Any] = {"__name__": "python_page"}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):  # runs are kept where nobody has to look
        return CELL.sub(lambda cell: _cell(cell[1], names, images), page)


def _cell(code: str, names: dict[str, Any], images: Path) -> str:
    *before, last = ast.parse(code).body
    shown = io.StringIO()
    value = None
    with contextlib.redirect_stdout(shown):
        exec(compile(ast.Module(before, []), str(PAGE), "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), str(PAGE), "eval"), names)
        else:
            exec(compile(ast.Module([last], []), str(PAGE), "exec"), names)
    written = f"```python\n{code}```\n"
    if isinstance(value, Figure):
        name = f"python-{len(list(images.glob('python-*.png')))}.png"
        value.savefig(images / name, dpi=80)
        return f"{written}![what the cell shows](images/{name})\n"
    text = shown.getvalue() + ("" if value is None else f"{value!r}\n")
    text = "\n".join(line.rstrip() for line in text.splitlines())
    return f"{written}```text\n{text}\n```\n" if text else written


if __name__ == "__main__":
    os.environ.setdefault("COLUMNS", "110")
    for old in (HERE / "images").glob("python-*.png"):
        old.unlink()
    PAGE.write_text(made(PAGE.read_text(encoding="utf-8"), HERE / "images"), encoding="utf-8")
    print(f"wrote {PAGE}")
