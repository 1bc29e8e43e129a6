"""Whole studies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from brittle.api.carried_out import How, Shown, carried_out
from brittle.api.live_study import LiveStudy
from brittle.engine.assemble import Things
from brittle.errors import BrittleError
from brittle.images import in_scales
from brittle.nuisances.suites import expanded
from brittle.registry import parse_named
from brittle.results import Run
from brittle.study import Study


def run(
    study: Study | str | Path | Mapping[str, Any],
    out: str | Path | None = None,
    *,
    device: str | None = None,
    batch: int | None = None,
    engine: str = "local",
    workers: int | None = None,
    time_limit: float | None = None,
    progress: Shown = None,
) -> Run:
    """Carries a study out into the folder `out`, or resumes or extends what is there; returns its summary.

    A study is a file, or a dictionary, in which modules, functions, Datasets and the like may stand where a file has
    specs. With `out` None nothing is kept. The engine "ray" has several `workers` on this machine, and needs specs;
    with a `time_limit`, in seconds per unit, another worker tries what one does not answer within it."""
    how = How(device, batch, out, progress, engine, workers, time_limit)
    if isinstance(study, Mapping):
        study, things = LiveStudy.of(study)
    else:
        study = study if isinstance(study, Study) else Study.load(Path(study))
        things = Things.of(study)
    done = carried_out(things, how, study)
    return Run(done, done.summary)


def study_of(
    classifiers: Sequence[str],
    images: str,
    nuisances: Sequence[str],
    *,
    wanted: Mapping[str, Mapping[str, Any]],
    seed: int = 0,
    trained_on: str | None = None,
    train_count: int | None = None,
    **which: Any,
) -> Study:
    """The study behind a command such as `brittle measure`: measures by kind with their options; `which` says which
    images (count, where, ids, columns). Of the image set that the classifiers were `trained_on`, `train_count` are
    taken.

    A spec is named by itself, or by what stands before it: `mine=onnx:model.onnx`."""
    named, spaces = _by_name(classifiers, "classifier"), expanded(_by_name(nuisances, "nuisance"))
    set_name, set_spec = parse_named(images)
    sets: dict[str, Any] = {set_name: {"spec": set_spec} | which}
    if trained_on is not None:
        name, spec = parse_named(trained_on)
        name = name if name != set_name else f"{name}-train"
        sets[set_name]["train"] = name
        sets[name] = {"spec": spec, "count": train_count}
    # Image sets in scales have their shifts in place of a study's nuisances; here a user means those that are given.
    meant = {"nuisances": list(spaces)} if spaces and in_scales(set_spec) else {}
    return Study.of(
        {
            "seed": seed,
            "classifiers": named,
            "images": sets,
            "nuisances": spaces,
            "measures": {
                kind: {"kind": kind} | meant | {key: value for key, value in options.items() if value is not None}
                for kind, options in wanted.items()
            },
        }
    )


def _by_name(specs: Sequence[str], noun: str) -> dict[str, str]:
    """name → spec; two of one name would be one."""
    pairs = [parse_named(text) for text in specs]
    twice = next((name for place, (name, _) in enumerate(pairs) if name in dict(pairs[:place])), None)
    if twice is not None:
        raise BrittleError(f"the {noun} {twice!r} is given twice", f"Name one of them: other={twice}.")
    return dict(pairs)
