"""The gate, and runs side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from brittle.api.notices import ProgressOption
from brittle.api.running import run_asked
from brittle.commands import ExecutionOptions
from brittle.comparison.comparable import refuse_other_study
from brittle.comparison.recorded import RecordedRun
from brittle.engine.open import open_inputs
from brittle.engine.store.run_folder import folder_path
from brittle.errors import BrittleError
from brittle.gate.judge import cases_file, conditions, judge
from brittle.gate.options import GateOptions
from brittle.registry.options import checked
from brittle.report.page.loaded import LoadedRun, load, loaded_of
from brittle.results import GateResult, RunPresentation

PATHS = {"baseline", "cases"}
SEVERAL = {"on", "require", "pair"}


def check_asked(given: Mapping[str, Any]) -> GateResult:
    """What `brittle.check` does with its arguments, by name."""
    asked = {
        key: _several(value) if key in SEVERAL else value if value is None or key not in PATHS else str(value)
        for key, value in {**given, "baseline": given["against"]}.items()
        if key in GateOptions.__dataclass_fields__
    }
    how = {key: given[key] for key in ExecutionOptions.__dataclass_fields__ if given[key] is not None}
    options = GateOptions(**checked(GateOptions, asked, "check"))
    return checked_study(given["study"], options, given["out"], given["progress"], how)


def compare_runs(
    first: str | Path, *others: str | Path, out: str | Path | None = None, pair: str | Sequence[str] = ()
) -> Path:
    """Writes a page that sets runs side by side, each of the others against the first, paired image by image and θ by
    θ; `comparison.html` by default. Nothing that their studies name is loaded."""
    from brittle.report.side_by_side import write_comparison  # matplotlib, when something is drawn

    if not others:
        raise BrittleError("there is one run, and nothing to compare it with", "Name another run folder.")
    return write_comparison([Path(each) for each in (first, *others)], out, _several(pair))


def checked_study(
    study: Any, options: GateOptions, out: str | Path | None, progress: ProgressOption, how: Mapping[str, Any]
) -> GateResult:
    """What the function and the command do. What can be refused before the work is."""
    path = Path(study) if isinstance(study, (str, Path)) else None
    cases = cases_file(options, path if path is not None else Path("."))
    conditions(options, cases)
    baseline = None if options.baseline is None else RecordedRun.read(folder_path(options.baseline))
    if baseline is not None and path is not None and not is_run(path):
        refuse_other_study(str(path), open_inputs(path).study.resolved(), baseline)
    run, loaded = _carried_out(study, path, out, progress, how)
    return GateResult(**vars(judge(run, loaded, options, baseline, cases)))


def _carried_out(
    study: Any, path: Path | None, out: str | Path | None, progress: ProgressOption, how: Mapping[str, Any]
) -> tuple[RecordedRun, LoadedRun]:
    if isinstance(study, RunPresentation):
        return RecordedRun.of(study.run), loaded_of(study.run)
    if path is not None and is_run(path):
        if out is not None:
            raise BrittleError(f"{path} is carried out already, and --out says where to", "Leave --out out.")
        return RecordedRun.read(path), load(path)
    given = {"classifiers": study, "images": None, "out": out, "progress": progress}
    done = run_asked({**dict.fromkeys(ExecutionOptions.__dataclass_fields__), **given, **how})
    return RecordedRun.of(done.run), loaded_of(done.run)


def is_run(path: Path) -> bool:
    """Whether a study is given as the folder that it was carried out into, on a disk or in an object store."""
    place = folder_path(path)
    return place.remote or place.local.is_dir()


def _several(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)
