"""Writes `run`, the functions per measure, `train` and `harden` from the options that command lines are made from.

`python -m brittle.api.generate` writes `api/generated/`, one module per panel of `brittle --help`, and the public names
in `brittle/__init__.py`; with `--check` it only compares. An option is described in one place, its dataclass, and
editors see plain functions with keywords.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from brittle import api
from brittle.api.generating import OURS
from brittle.api.signatures import ANY, FunctionParameter, GeneratedFunction, literal, parameters
from brittle.commands import (
    BETTER,
    GENERATED,
    PANELS,
    START,
    TABLES,
    Command,
    DeviceOptions,
    ExecutionOptions,
    SelectionOptions,
    SubjectOptions,
)
from brittle.gate.options import GateInputs, GateOptions
from brittle.generation.filter.options import FilterInputs, FilterOptions
from brittle.generation.options import GenerationTarget, TrainingTarget
from brittle.hardening.options import HardeningInputs, HardeningOptions
from brittle.measures.commands import built_in
from brittle.measures.generate.options import GenerateOptions
from brittle.measures.train_sliders.options import TrainSlidersOptions
from brittle.measures.train_tokens.options import TrainTokensOptions
from brittle.results import KINDS
from brittle.training.options import TrainingInputs, TrainingOptions

HERE = Path(__file__).parent / "generated"
PUBLIC = HERE.parents[1] / "__init__.py"
MAY_BE_OBJECT = {"annotation": ANY}
PATH = {"annotation": "str | Path"}
PATH_OR_NONE = {"annotation": "str | Path | None", "default": "None"}

CLASSIFIERS = FunctionParameter(
    "classifiers", ANY, "", "a spec or an object (a module, a function …), or several by name in a dictionary"
)
IMAGES = FunctionParameter("images", ANY, "", "an image set: a spec, a folder, arrays (images, labels), a Dataset …")
NUISANCES = FunctionParameter(
    "nuisances",
    ANY,
    "None",
    "a spec or an object, a suite, a list, or a dictionary by name; image sets in scales bring their own",
)
MEASURES = FunctionParameter(
    "measures",
    ANY,
    "None",
    'dataclasses such as `brittle.measures.Robustness(samples=50)`, specs such as "weak-points:count=20", several in a '
    "list, or by name in a dictionary; robustness by default",
)
DESCRIPTIONS = [
    FunctionParameter(
        "groups", "Mapping[str, str] | None", "None", "classifier → its group: several trainings of one model"
    ),
    FunctionParameter(
        "attributes",
        "Mapping[str, Mapping[str, Any]] | None",
        "None",
        "classifier → attributes, as in a study's entry",
    ),
]
TRAINING_SET = parameters(SubjectOptions, without=("classifier", "images", "nuisances"), train=MAY_BE_OBJECT)
PROGRESS = FunctionParameter(
    "progress", "ProgressOption", "None", "shown in a terminal and a notebook; never with False"
)


def functions() -> dict[str, list[GeneratedFunction]]:
    """By panel."""
    found: dict[str, list[GeneratedFunction]] = {START: [_running()]}
    for command in built_in():
        found.setdefault(command.panel, []).append(_of_measure(command))
    found[BETTER] = [_training(), _hardening()]
    found[GENERATED] = [_filtering(), *_generating()]
    found[TABLES] = [_checking()]
    return found


def _running() -> GeneratedFunction:
    first = [
        replace(CLASSIFIERS, help=f"{CLASSIFIERS.help}; or a study alone"),
        replace(IMAGES, default="None", help=f"{IMAGES.help}, or several by name in a dictionary"),
        NUISANCES,
        MEASURES,
    ]
    return GeneratedFunction(
        "run",
        'Carry out measures of classifiers on images under nuisances, or a study alone: `brittle.run("study.toml")`.',
        "In place of things and measures there may be a study: a file, a `Study`, or a dictionary of what a study file "
        "holds, in which modules, functions, Datasets and the like may stand in place of specs. `found.of(measure)` is "
        "what one measure says, as the function of that name gives it.",
        (*first, *DESCRIPTIONS, *TRAINING_SET, *_selection(), *parameters(ExecutionOptions), PROGRESS),
        len(first),
        "StudyResult",
        "return run_asked(locals())",
    )


def _of_measure(command: Command) -> GeneratedFunction:
    first = [CLASSIFIERS, IMAGES, *([NUISANCES] if command.nuisance != "none" else [])]
    own = parameters(
        command.options,
        without=[command.images_option or ""],
        **({command.other_images: MAY_BE_OBJECT} if command.other_images else {}),
    )
    read = [each for kind in command.reads.values() for each in parameters(kind, without=command.unread)]
    count = {"default": repr(command.images), "help": "how many images, drawn by the seed; all with None"}
    selection = _selection(
        count=count if command.costly else {}, out={"help": f"{command.out}; the same again resumes it"}
    )
    result = KINDS[command.measure]
    shorter = " or ".join(f"`brittle.{each}`" for each in command.short if each != "break")
    more = f"{shorter} is the same function. " if shorter else ""
    values = (result.__doc__ or "").split(": ", 1)[-1].strip().rstrip(".")
    more += f"Gives what `brittle {command.measure} --json` prints: {values}. Where there are several `results`, "
    more += '`found.of("mine", nuisance="fog")` is one of them.'
    trained = TRAINING_SET if command.train else []
    return GeneratedFunction(
        command.function,
        command.about,
        more,
        (*first, *own, *read, *DESCRIPTIONS, *trained, *selection, *parameters(ExecutionOptions), PROGRESS),
        len(first),
        result.__name__,
        f'found: {result.__name__} = run_measure(COMMANDS["{command.measure}"], locals())\n    return found',
    )


def _selection(**changes: dict[str, str]) -> list[FunctionParameter]:
    """Which images, which draws, and where to, as Python may say it."""
    annotations = {"columns": "str | Path | None", "ids": "str | Sequence[int] | None", "out": "str | Path | None"}
    more = {name: {"annotation": text, **changes.get(name, {})} for name, text in annotations.items()}
    return parameters(SelectionOptions, **changes | more)


def _training() -> GeneratedFunction:
    things = {"network": {"annotation": "str | Network"}, "out": PATH}
    things |= dict.fromkeys(("images", "test"), MAY_BE_OBJECT)
    return GeneratedFunction(
        "train",
        "Train a network by its own recipe into the file `out`, or resume its training.",
        "Gives what `brittle train --json` prints. `TrainingImages` may stand for images, and be shared.",
        (
            *parameters(TrainingInputs, **things),
            *parameters(TrainingOptions),
            *parameters(DeviceOptions),
            PROGRESS,
        ),
        3,
        "dict[str, Any]",
        "return train_network(locals())",
    )


def _hardening() -> GeneratedFunction:
    things = dict.fromkeys(("classifier", "images", "nuisance", "test"), MAY_BE_OBJECT)
    return GeneratedFunction(
        "harden",
        "Fine-tune a classifier on its weak points under a nuisance, in rounds; the classifier given stays as it is.",
        "`out` gets the weights, what happened in every round, and a run folder of before and after with its report; "
        "the same call resumes after its last finished round.",
        (
            *parameters(HardeningInputs, **things, out=PATH_OR_NONE),
            *parameters(HardeningOptions),
            *parameters(DeviceOptions),
            PROGRESS,
        ),
        4,
        "HardenResult",
        "return harden_classifier(locals())",
    )


def _filtering() -> GeneratedFunction:
    paths = {"folder": PATH, **dict.fromkeys(("labels", "thresholds", "out"), PATH_OR_NONE)}
    return GeneratedFunction(
        "filter",
        "Keep the generated images that still show their class, by four scores and thresholds from labels.",
        "`found.annotations` is the file that `cns:FOLDER,annotations=…` reads; TPR, FPR and accuracy are judged on "
        "labels that chose no threshold; `found.values` are plain, as `brittle filter --json` prints them.",
        (*parameters(FilterInputs, **paths), *parameters(FilterOptions), *parameters(DeviceOptions), PROGRESS),
        1,
        "FilteredBenchmark",
        "return filter_asked(locals())",
    )


def _generating() -> list[GeneratedFunction]:
    """What makes images, and what is trained for that."""
    pipeline = {"annotation": "str | Path | None", "default": "None"}
    folders = dict.fromkeys(("sliders", "tokens"), PATH_OR_NONE)
    how = parameters(ExecutionOptions, without=("batch",))
    sliders = parameters(TrainSlidersOptions, without=OURS, pipeline=pipeline, tokens=PATH_OR_NONE)
    tokens = parameters(TrainTokensOptions, without=OURS, pipeline=pipeline)
    written = "Gives what the command prints with --json; `out` also holds the run, in `run`."
    return [
        GeneratedFunction(
            "generate",
            "Generate a benchmark in CNS-Bench's layout: every class and seed at scale 0, and under every shift.",
            f"`found.spec` names it as an image set, `cns:FOLDER`. {written}",
            (
                *parameters(GenerateOptions, without=OURS, pipeline=pipeline, **folders),
                *parameters(GenerationTarget, out=PATH_OR_NONE),
                *how,
                PROGRESS,
            ),
            1,
            "GenerateResult",
            "return generate_asked(locals())",
        ),
        GeneratedFunction(
            "train_sliders",
            "Train a slider for every class and shift, as files that plain diffusers loads too.",
            written,
            (
                *_first("pipeline", sliders),
                *parameters(TrainingTarget, out=PATH_OR_NONE),
                *how,
                PROGRESS,
            ),
            1,
            "TrainSlidersResult",
            "return train_sliders_asked(locals())",
        ),
        GeneratedFunction(
            "train_tokens",
            "Learn a word for every class of an image set, as files that plain diffusers loads too.",
            written,
            (
                *_first("pipeline", tokens),
                IMAGES,
                *parameters(TrainingTarget, out=PATH_OR_NONE),
                *how,
                PROGRESS,
            ),
            1,
            "TrainTokensResult",
            "return train_tokens_asked(locals())",
        ),
    ]


def _first(name: str, wanted: list[FunctionParameter]) -> list[FunctionParameter]:
    return sorted(wanted, key=lambda each: each.name != name)


def _checking() -> GeneratedFunction:
    study = {"annotation": ANY, "help": "a study file, the folder of a finished run, or the result of a call"}
    paths = dict.fromkeys(("baseline", "cases"), PATH_OR_NONE)
    asked = parameters(GateOptions, **paths)
    return GeneratedFunction(
        "check",
        "Carry out a study and judge it: beside the run of an earlier release, by conditions and by named cases.",
        'The verdict has a `state`, "passed", "failed" or "unsure", and an `exit_status`; it prints as on the command '
        "line, and `values` are plain.",
        (
            *parameters(GateInputs, study=study, out=PATH_OR_NONE),
            *(replace(each, name="against") if each.name == "baseline" else each for each in asked),
            *parameters(ExecutionOptions),
            PROGRESS,
        ),
        1,
        "GateResult",
        "return check_asked(locals())",
    )


def module_name(panel: str) -> str:
    """`Where does it break?` → where_does_it_break."""
    return re.sub(r"\W+", "_", panel.lower()).strip("_")


# What the functions of a module call, and where that is.
CALLED: dict[str, tuple[str, ...]] = {
    START: ("running", "run_asked"),
    BETTER: ("train_and_harden", "harden_classifier, train_network"),
    GENERATED: (
        "generated_images",
        "filter_asked",
        "generating",
        "generate_asked, train_sliders_asked, train_tokens_asked",
    ),
    TABLES: ("check", "check_asked"),
}


def _module(panel: str, wanted: list[GeneratedFunction]) -> str:
    source = "\n\n".join(each.source for each in wanted)
    results = sorted({each.returns for each in wanted} - {"dict[str, Any]"})
    used = {word for word in ("Mapping", "Sequence") if word in source}
    typed = {word for word in ("Any", "Literal") if re.search(rf"\b{word}\b", source)}
    called = CALLED.get(panel, ("running", "COMMANDS, run_measure"))
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
        f"from typing import {', '.join(['TYPE_CHECKING', *sorted(typed)])}",
        "",
        *(f"from brittle.api.{home} import {names}" for home, names in zip(called[::2], called[1::2], strict=True)),
        "from brittle.api.notices import ProgressOption",
        "",
        "if TYPE_CHECKING:",
        f"    from brittle.results import {', '.join(results)}",
        *(["    from brittle.training import Network"] if panel == BETTER else []),
    ]
    return "\n".join(lines) + f"\n\n\n{source}"


def _names(found: dict[str, list[GeneratedFunction]]) -> list[str]:
    return sorted([*_short_forms(), *(each.name for several in found.values() for each in several)])


def _short_forms() -> dict[str, str]:
    """Those that Python allows → the function's name."""
    return {name: command.function for command in built_in() for name in command.short if name != "break"}


def _package(found: dict[str, list[GeneratedFunction]]) -> str:
    homes = {module_name(panel): sorted(each.name for each in several) for panel, several in found.items()}
    return "\n".join(
        [
            '"""`run`, a function per measure, `train` and `harden`. Made by `python -m brittle.api.generate`."""',
            "",
            *(f"from brittle.api.generated.{home} import {', '.join(there)}" for home, there in sorted(homes.items())),
            "",
            *(f"{name} = {function}" for name, function in _short_forms().items()),
            "",
            f"__all__ = {_list(_names(found))}",
            "",
        ]
    )


def _public(found: dict[str, list[GeneratedFunction]]) -> str:
    """`brittle/__init__.py` with all that is public."""
    text = PUBLIC.read_text(encoding="utf-8")
    assigned = (each for each in ast.parse(text).body if isinstance(each, ast.Assign))
    elsewhere = next(each.value for each in assigned if ast.unparse(each.targets[0]) == "ELSEWHERE")
    by_hand = set(api.__all__) - set(api.generated.__all__)
    names = {*ast.literal_eval(elsewhere), "__version__", *by_hand, *_names(found)}
    return re.sub(r"(?s)__all__ = \[.*?\]", f"__all__ = {_list(sorted(names))}", text)


def _list(names: list[str]) -> str:
    return f"[{', '.join(map(literal, names))}]"


def files() -> dict[Path, str]:
    """What stands in every file that is written."""
    found = functions()
    made = {HERE / f"{module_name(panel)}.py": _module(panel, found[panel]) for panel in PANELS if panel in found}
    made |= {HERE / "__init__.py": _package(found), PUBLIC: _public(found)}
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
    for path in old:
        path.write_text(made[path], encoding="utf-8")
    print(f"wrote {len(old)} of {len(made)} files")


if __name__ == "__main__":
    main()
