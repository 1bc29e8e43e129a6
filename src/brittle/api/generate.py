"""Writes the functions per measure, and `train` and `harden`, from the options that command lines are made from.

`python -m brittle.api.generate` writes `api/generated/`, one module per panel of `brittle --help`; with `--check` it
only compares. An option is described in one place, its dataclass, and editors see plain functions with keywords.
"""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
import types
import typing
from collections.abc import Iterable, Iterator
from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import Any, Literal

from brittle.commands import BETTER, PANELS, Command, Device, ExecutionOptions, Selection
from brittle.hardening.options import HardeningInputs, HardeningOptions
from brittle.measures.commands import built_in
from brittle.registry.options import hints_of, limits_of, options_of
from brittle.registry.values import Limits
from brittle.results.run import KINDS
from brittle.training.options import TrainingInputs, TrainingOptions

HERE = Path(__file__).parent / "generated"
WIDTH = 120
ANY = "Any"  # a spec or an object


@dataclass(frozen=True)
class Parameter:
    """One parameter of a function."""

    name: str
    annotation: str
    default: str  # as source; "" where there is none
    help: str

    @property
    def source(self) -> str:
        return f"{self.name}: {self.annotation}" + (f" = {self.default}" if self.default else "")


@dataclass(frozen=True)
class Function:
    """One function: its parameters, the first `positional` of which may be given by place."""

    name: str
    about: str
    more: str  # a paragraph of its own
    parameters: tuple[Parameter, ...]
    positional: int
    returns: str
    body: str

    @property
    def source(self) -> str:
        first = [each.source for each in self.parameters[: self.positional]]
        rest = [each.source for each in self.parameters[self.positional :]]
        listed = "".join(f"    {each},\n" for each in [*first, "*", *rest])
        paragraphs = [
            _wrapped(self.about, 4),
            _wrapped(self.more, 4),
            "    Parameters\n    ----------\n"
            + "\n".join(_wrapped(f"{each.name}: {each.help}", 8)[4:] for each in self.parameters),
        ]
        text = "\n\n".join(filter(None, paragraphs)).lstrip()
        return f'def {self.name}(\n{listed}) -> {self.returns}:\n    """{text}\n    """\n    {self.body}\n'


def functions() -> dict[str, list[Function]]:
    """By panel."""
    found: dict[str, list[Function]] = {}
    for command in built_in():
        found.setdefault(command.panel, []).append(_of_measure(command))
    found[BETTER] = [_training(), _hardening()]
    return found


def _of_measure(command: Command) -> Function:
    count = command.images if command.costly else None
    subject = [
        Parameter(
            "classifiers", ANY, "", "a spec or an object (a module, a function …), or several by name in a dictionary"
        ),
        Parameter("images", ANY, "", "an image set: a spec, a folder, arrays (images, labels), a Dataset …"),
    ]
    if command.nuisance != "none":
        about = "a spec or an object, a suite, a list, or a dictionary by name; image sets in scales bring their own"
        subject.append(Parameter("nuisances", ANY, "None", about))
    own = list(_parameters(command.options, without=[command.images_option or ""]))
    own = [Parameter(each.name, ANY, "None", each.help) if each.name == command.other_images else each for each in own]
    read = [each for kind in command.reads.values() for each in _parameters(kind, without=command.unread)]
    selected = {
        "count": Parameter(
            "count", "int | None", repr(count), "how many images, drawn by the seed; all with None" if count else
            "how many images, drawn by the seed; all by default"
        ),
        "where": Parameter("where", "str | Sequence[str]", "()", "only images with column=value, or column>0.5"),
        "columns": Parameter(
            "columns", "str | Path | None", "None", "a CSV or Parquet file with id or name, and columns for `where`"
        ),
        "ids": Parameter("ids", "str | Sequence[int]", "()", "only images with these ids, or those in this text file"),
        "out": Parameter("out", "str | Path | None", "None", f"{command.out}; the same call again resumes it"),
    }  # fmt: skip
    trained = [
        Parameter("train", ANY, "None", "the image set that the classifiers were trained on"),
        Parameter("train_count", "int | None", "None", "how many of its images; as many as `count` by default"),
    ]
    said = [
        Parameter(
            "groups", "Mapping[str, str] | None", "None", "classifier → its group: several trainings of one model"
        ),
        Parameter(
            "attributes",
            "Mapping[str, Mapping[str, Any]] | None",
            "None",
            "classifier → attributes, as in a study's entry",
        ),
    ]
    parameters = [
        *subject,
        *own,
        *read,
        *(trained if command.train else []),
        *said,
        *(selected.get(each.name, each) for each in _parameters(Selection)),
        *_parameters(ExecutionOptions),
        _PROGRESS,
    ]
    result = KINDS[command.measure]
    shorter = " or ".join(f"`brittle.{each}`" for each in command.short if each != "break")
    more = f"{shorter} is the same function. " if shorter else ""
    values = (result.__doc__ or "").split(": ", 1)[-1].strip().rstrip(".")
    more += f"Gives what `brittle {command.measure} --json` prints: {values}. Where there are several `results`, "
    more += '`found.of("mine", nuisance="fog")` is one of them.'
    return Function(
        command.function,
        command.about,
        more,
        tuple(parameters),
        len(subject),
        result.__name__,
        f'found: {result.__name__} = run_measure(COMMANDS["{command.measure}"], locals())\n    return found',
    )


_PROGRESS = Parameter("progress", "Shown", "None", "shown in a terminal and a notebook; never with False")


def _training() -> Function:
    places = {"network": "str | Network", "images": ANY, "out": "str | Path", "test": ANY, "mix_with": ANY}
    return Function(
        "train",
        "Train a network by its own recipe into the file `out`, or resume its training.",
        "Gives what `brittle train --json` prints. `TrainingImages` may stand for images, and be shared.",
        (*_typed(_parameters(TrainingInputs), places), *_typed(_parameters(TrainingOptions), places),
         *_parameters(Device), _PROGRESS),
        3,
        "dict[str, Any]",
        "return train_network(locals())",
    )  # fmt: skip


def _hardening() -> Function:
    places = {"classifier": ANY, "images": ANY, "nuisance": ANY, "test": ANY, "out": "str | Path | None"}
    inputs = [
        Parameter(each.name, each.annotation, "None" if each.name == "out" else each.default, each.help)
        for each in _typed(_parameters(HardeningInputs), places)
    ]
    return Function(
        "harden",
        "Fine-tune a classifier on its weak points under a nuisance, in rounds; the classifier given stays as it is.",
        "`out` gets the weights, what happened in every round, and a run folder of before and after with its report; "
        "the same call resumes after its last finished round.",
        (*inputs, *_parameters(HardeningOptions), *_parameters(Device), _PROGRESS),
        4,
        "Hardened",
        "return harden_classifier(locals())",
    )


def _parameters(kind: type, without: Iterable[str] = ()) -> Iterator[Parameter]:
    hints = hints_of(kind)
    for field in options_of(kind).values():
        if field.name not in without:
            limits = limits_of(field)
            about = field.metadata["help"].replace("; may be repeated", "").replace("--", "")
            about += f" [{limits.range}]" if limits.range else ""
            default = "" if field.default is MISSING else _literal(field.default)
            yield Parameter(field.name, annotation(hints[field.name], limits), default, about)


def _typed(parameters: Iterable[Parameter], others: dict[str, str]) -> list[Parameter]:
    """With annotations for what may be an object, too."""
    return [
        Parameter(each.name, others.get(each.name, each.annotation), each.default, each.help) for each in parameters
    ]


def annotation(hint: Any, limits: Limits) -> str:
    """A hint as source: a tuple may be any sequence, and one word stands for a list of one."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return " | ".join(annotation(each, limits) for each in inner)
    if origin is Literal:
        return f"Literal[{', '.join(map(_literal, inner))}]"
    if origin is tuple:
        one = annotation(inner[0], limits)
        return f"str | Sequence[{one}]" if inner[0] is str else f"Sequence[{one}]"
    return {type(None): "None", Any: ANY}.get(hint) or str(hint.__name__)


def _literal(value: Any) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_literal, value))}{',' if len(value) == 1 else ''})"
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _wrapped(text: str, indent: int) -> str:
    return textwrap.fill(text, WIDTH, initial_indent=" " * indent, subsequent_indent=" " * indent)


def module_name(panel: str) -> str:
    """`Where does it break?` → where_does_it_break."""
    return re.sub(r"\W+", "_", panel.lower()).strip("_")


def _module(panel: str, wanted: list[Function]) -> str:
    source = "\n\n".join(each.source for each in wanted)
    results = sorted({each.returns for each in wanted} - {"dict[str, Any]"})
    used = {word for word in ("Mapping", "Sequence") if word in source}
    lines = [
        f'"""{panel}',
        "",
        "Made by `python -m brittle.api.generate`: change options where they are declared, not here.",
        '"""',
        "",
        "from __future__ import annotations",
        "",
        *([f"from collections.abc import {', '.join(sorted(used))}"] if used else []),
        "from pathlib import Path",
        f"from typing import TYPE_CHECKING, Any{', Literal' if 'Literal[' in source else ''}",
        "",
        "from brittle.api.shown import Shown",
    ]
    if panel == BETTER:
        lines.insert(-1, "from brittle.api.better import harden_classifier, train_network")
    else:
        lines.insert(-1, "from brittle.api.running import COMMANDS, run_measure")
    lines += ["", "if TYPE_CHECKING:", f"    from brittle.results import {', '.join(results)}"]
    lines += ["    from brittle.training import Network"] if panel == BETTER else []
    return "\n".join(lines) + f"\n\n\n{source}"


def _package(found: dict[str, list[Function]]) -> str:
    short = {name: command.function for command in built_in() for name in command.short if name != "break"}
    names = sorted([*short, *(each.name for several in found.values() for each in several)])
    homes = {module_name(panel): sorted(each.name for each in several) for panel, several in found.items()}
    return "\n".join(
        [
            '"""A function per measure, `train` and `harden`. Made by `python -m brittle.api.generate`."""',
            "",
            *(f"from brittle.api.generated.{home} import {', '.join(there)}" for home, there in sorted(homes.items())),
            "",
            *(f"{name} = {function}" for name, function in short.items()),
            "",
            f"__all__ = [{', '.join(map(_literal, names))}]",
            "",
        ]
    )


def files() -> dict[Path, str]:
    """What stands in every generated file."""
    found = functions()
    made = {HERE / f"{module_name(panel)}.py": _module(panel, found[panel]) for panel in PANELS if panel in found}
    made[HERE / "__init__.py"] = _package(found)
    return {path: _formatted(text, path) for path, text in made.items()}


def _formatted(text: str, path: Path) -> str:
    """As the repository's formatter writes it."""
    ruff = [sys.executable, "-m", "ruff"]
    for step in (["check", "--select", "I", "--fix", "--quiet"], ["format", "--quiet"]):
        command = [*ruff, *step, "--stdin-filename", str(path), "-"]
        text = subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout
    return text


def main() -> None:
    made = files()
    old = [path for path, text in made.items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    extra = sorted(set(HERE.glob("*.py")) - made.keys())
    if "--check" in sys.argv:
        sys.exit(
            f"out of date: {', '.join(path.name for path in [*old, *extra])}; run `make api`" if old or extra else 0
        )
    HERE.mkdir(exist_ok=True)
    for path in extra:
        path.unlink()
    for path, text in made.items():
        path.write_text(text, encoding="utf-8")
    print(f"wrote {len(made)} files into {HERE}")


if __name__ == "__main__":
    main()
