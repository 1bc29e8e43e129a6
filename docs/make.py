"""Writes docs/reference.md from the options of every kind, so that an option is described in one place: its code."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path

import brittle
from brittle.cli.assemble import make_app
from brittle.report.listing import listing

HERE = Path(__file__).parent
TITLES = {
    "classifiers": "Classifiers",
    "images": "Image sets",
    "nuisances": "Nuisances",
    "measures": "Measures",
    "samplers": "Samplers",
    "networks": "Networks that `brittle train` trains",
    "suites": "Suites of nuisances",
    "mixes": "Mixes of training images, for `brittle train --mix`",
}


def reference() -> str:
    """The page as Markdown."""
    lines = [
        "[Documentation](README.md) › measure",
        "",
        "# Reference",
        "",
        "Made by `make docs` from the code. A thing is named by a spec, `kind:what,option=value,…`; values that are",
        "lists are written `a/b/c`, and a comma inside a value `\\,`.",
        "",
    ]
    for sort, kinds in listing().items():
        lines += [f"## {TITLES[sort]}", ""]
        for kind in kinds:
            lines += [f"### `{kind['name']}`", "", kind["about"], ""]
            if kind.get("parameters"):
                lines += ["θ: " + ", ".join(kind["parameters"]) + ".", ""]
            if kind.get("members"):
                lines += [", ".join(f"`{name}`" for name in kind["members"]) + ".", ""]
            if kind["options"]:
                lines += ["| option | may be | default | meaning |", "| --- | --- | --- | --- |"]
                lines += [
                    f"| `{key}`{' (the spec’s *what*)' if option['positional'] else ''} | {option['allowed']} "
                    f"| {_shown(option['default'])} | {option['help'].replace('|', chr(92) + '|')} |"
                    for key, option in kind["options"].items()
                ]
                lines.append("")
    lines += ["## Python", "", "`import brittle` gives:", ""]
    for name in brittle.__all__:
        thing = getattr(brittle, name)
        if callable(thing) or inspect.isclass(thing):
            about = (inspect.getdoc(thing) or "").split("\n\n")[0].replace("\n", " ")
            lines.append(f"- `{name}{_signature(thing)}`: {about}")
    lines += ["", "## Command line", "", *_commands()]
    return "\n".join(lines) + "\n"


def _commands() -> list[str]:
    return [f"- `brittle {command.name}`: {command.help}" for command in make_app().registered_commands] + [
        "",
        "`brittle COMMAND --help` lists the options of each.",
    ]


def _signature(thing: object) -> str:
    return str(inspect.signature(thing)).split(" ->")[0] if inspect.isfunction(thing) else ""


def _shown(value: object) -> str:
    if value is None or value == ():
        return ""
    return f"`{'/'.join(map(str, value)) if isinstance(value, (tuple, list)) else value}`"


if __name__ == "__main__":
    page = HERE / "reference.md"
    if "--check" in sys.argv:
        sys.exit(
            page.read_text(encoding="utf-8") != reference() and "docs/reference.md is out of date: run `make docs`"
        )
    page.write_text(reference(), encoding="utf-8")
    print(f"wrote {page}")
