"""The gate, and runs side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

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


def compare_runs(
    first: str | Path, *others: str | Path, out: str | Path | None = None, pair: str | Sequence[str] = ()
) -> Path:
    """Writes a page that sets runs side by side, each of the others against the first, paired image by image and θ by
    θ; `comparison.html` by default. Nothing that their studies name is loaded."""
    from brittle.report.side_by_side import write_comparison  # matplotlib, when something is drawn

    if not others:
        raise BrittleError("there is one run, and nothing to compare it with", "Name another run folder.")
    return write_comparison([Path(each) for each in (first, *others)], out, _several(pair))


def run_check(given: Mapping[str, Any]) -> GateResult:
    """What `brittle.check` and the command do with their arguments, by name. What can be refused before the work is."""
    said = {name: given[name] for name in GateOptions.__dataclass_fields__ if given[name] is not None}
    said |= {name: str(said[name]) for name in ("against", "cases") if name in said}
    said |= {name: _several(said[name]) for name in ("on", "require", "pair") if name in said}
    options = GateOptions(**checked(GateOptions, said, "check"))
    study = given["study"]
    path = Path(study) if isinstance(study, (str, Path)) else None
    cases = cases_file(options, path if path is not None else Path("."))
    conditions(options, cases)
    baseline = None if options.against is None else RecordedRun.read(folder_path(options.against))
    if baseline is not None and path is not None and not is_run(path):
        refuse_other_study(str(path), open_inputs(path).study.resolved(), baseline)
    run, loaded = _carried_out(path, given)
    return GateResult(**vars(judge(run, loaded, options, baseline, cases)))


def _carried_out(path: Path | None, given: Mapping[str, Any]) -> tuple[RecordedRun, LoadedRun]:
    study = given["study"]
    if isinstance(study, RunPresentation):
        return RecordedRun.of(study.run), loaded_of(study.run)
    if path is not None and is_run(path):
        if given["out"] is not None:
            raise BrittleError(f"{path} is carried out already, and --out says where to", "Leave --out out.")
        return RecordedRun.read(path), load(path)
    how = {key: given[key] for key in ("out", "progress", *ExecutionOptions.__dataclass_fields__)}
    done = run_asked({"classifiers": study, "images": None, **how})
    return RecordedRun.of(done.run), loaded_of(done.run)


def is_run(path: Path) -> bool:
    """Whether a study is given as the folder that it was carried out into, on a disk or in an object store."""
    place = folder_path(path)
    return place.remote or place.local.is_dir()


def _several(given: str | Iterable[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)
