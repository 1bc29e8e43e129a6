"""The few functions most people need: measure a classifier, compare classifiers, sample weak points, run a study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brittle.engine.assemble import Things
from brittle.engine.carry_out import Done, run_study, run_things
from brittle.engine.runs import named_folder
from brittle.errors import BrittleError
from brittle.images import image_set
from brittle.images.selection import Selection
from brittle.nuisances import nuisances
from brittle.progress import Progress
from brittle.registry import parse_named
from brittle.results import Comparison, Measured, Run, WeakPoints
from brittle.study import MeasureEntry, Study

if TYPE_CHECKING:
    from brittle.hardening.harden import Hardened

IT = "classifier"  # the name of the only one


def measure(
    classifier: Any,
    images: Any,
    nuisance: Any,
    *,
    samples: int | None = None,
    tolerance: float | None = None,
    estimand: str = "population",
    confidence: float = 0.95,
    worst_of: int = 10,
    extra: Sequence[str] = (),
    count: int | None = None,
    where: str | Sequence[str] = (),
    ids: Sequence[int] = (),
    seed: int = 0,
    device: str | None = None,
    batch: int | None = None,
    progress: Progress | None = None,
) -> Measured:
    """ρ of a classifier under a nuisance, with its interval and what stands beside it.

    `classifier`, `images` and `nuisance` are specs or objects. `count` images are drawn without replacement, after
    `where` (column=value) or `ids` has chosen among them. The result has what `brittle measure --json` prints.
    """
    found = compare(
        {IT: classifier},
        images,
        nuisance,
        samples=samples,
        tolerance=tolerance,
        estimand=estimand,
        confidence=confidence,
        worst_of=worst_of,
        extra=extra,
        count=count,
        where=where,
        ids=ids,
        seed=seed,
        device=device,
        batch=batch,
        progress=progress,
    )
    return Measured(found.summary, found["results"][0] | {"warnings": found.summary["warnings"]})


def compare(
    classifiers: Mapping[str, Any],
    images: Any,
    nuisance: Any,
    *,
    samples: int | None = None,
    tolerance: float | None = None,
    estimand: str = "population",
    confidence: float = 0.95,
    worst_of: int = 10,
    extra: Sequence[str] = (),
    count: int | None = None,
    where: str | Sequence[str] = (),
    ids: Sequence[int] = (),
    seed: int = 0,
    device: str | None = None,
    batch: int | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Several classifiers, by name, on the same images and the same θ: a result each, and paired differences.

    Options as for `measure`.
    """
    options = {
        "samples": samples,
        "tolerance": tolerance,
        "estimand": estimand,
        "confidence": confidence,
        "worst-of": worst_of,
        "extra": tuple(extra),
    }
    done = _one_measure("robustness", options, classifiers, images, nuisance, Selection.of(count, where, ids), seed)(
        device, batch, progress
    )
    return Comparison(done.summary, done.summary["measures"]["robustness"])


def sample(
    classifier: Any,
    images: Any,
    nuisance: Any,
    *,
    sampler: str = "auto",
    budget: int = 2000,
    chains: int = 8,
    steps: int = 1000,
    burn_in: int = 500,
    start: str = "worst",
    tries: int = 64,
    keep: int = 200,
    count: int | None = 20,
    where: str | Sequence[str] = (),
    ids: Sequence[int] = (),
    seed: int = 0,
    device: str | None = None,
    batch: int | None = None,
    progress: Progress | None = None,
) -> WeakPoints:
    """Weak points of a classifier: draws from p(θ | not ℓ, x) for each of `count` images, all with None."""
    whole = image_set(images)
    options = {
        "sampler": sampler,
        "budget": budget,
        "chains": chains,
        "steps": steps,
        "burn-in": burn_in,
        "start": start,
        "tries": tries,
        "keep": keep,
        "count": len(whole),
    }
    selection = Selection.of(None if ids else count, where, ids)
    done = _one_measure("weak-points", options, {IT: classifier}, whole, nuisance, selection, seed)(
        device, batch, progress
    )
    return WeakPoints.of(done)


def run(
    study: Study | str | Path | dict[str, Any],
    out: str | Path | None = None,
    *,
    device: str | None = None,
    batch: int | None = None,
    engine: str = "local",
    workers: int | None = None,
    progress: Progress | None = None,
) -> Run:
    """Carries a study out into the folder `out`, or resumes or extends what is there; returns its summary.

    With `out` None nothing is kept. The engine "ray" has several `workers` on this machine."""
    if not isinstance(study, Study):
        study = Study.of(study) if isinstance(study, dict) else Study.load(Path(study))
    where = None if out is None else named_folder(out)
    done = run_study(study, where, device=device, batch=batch, engine=engine, workers=workers, progress=progress)
    return Run(done.summary, done.summary)


def harden(
    classifier: Any, images: Any, nuisance: Any, out: str | Path | None = None, *, test: Any = None, **options: Any
) -> Hardened:
    """Fine-tunes a classifier on its weak points under a nuisance, in rounds; the classifier given stays as it is.

    `classifier` is a torch module, or the spec of one. `images` are labelled; parts of them choose the round and
    measure before and after, or parts of `test`. `out` gets the weights, what happened in every round, and where
    everything is named by a spec, a run folder of before and after; the same call resumes after its last finished
    round. `options` are those of `brittle.hardening.options.HardeningOptions` (on, rounds, steps, share, rate,
    held_out, …), and seed, device and progress.
    """
    from brittle.hardening.harden import harden_classifier  # what trains is imported when something is trained

    return harden_classifier(classifier, images, nuisance, out, test=test, **options)


def study_of(
    classifiers: Sequence[str],
    images: str,
    nuisances: Sequence[str],
    *,
    wanted: Mapping[str, Mapping[str, Any]],
    seed: int = 0,
    **which: Any,
) -> Study:
    """The study behind a command such as `brittle measure`: measures by kind with their options; `which` says which
    images (count, where, ids).

    A spec is named by itself, or by what stands before it: `mine=onnx:model.onnx`."""
    pairs = [parse_named(text) for text in classifiers]
    twice = next((name for place, (name, _) in enumerate(pairs) if name in dict(pairs[:place])), None)
    if twice is not None:
        raise BrittleError(f"the classifier {twice!r} is given twice", f"Name one of them: other={twice}.")
    set_name, set_spec = parse_named(images)
    return Study.of(
        {
            "seed": seed,
            "classifiers": dict(pairs),
            "images": {set_name: {"spec": set_spec} | which},
            "nuisances": dict(map(parse_named, nuisances)),
            "measures": {
                kind: {"kind": kind} | {key: value for key, value in options.items() if value is not None}
                for kind, options in wanted.items()
            },
        }
    )


def _one_measure(
    kind: str,
    options: Mapping[str, Any],
    classifiers: Mapping[str, Any],
    images: Any,
    nuisance: Any,
    selection: Selection,
    seed: int,
) -> Any:
    """A measure of some classifiers on one image set under one nuisance, ready to be carried out in memory."""
    whole = image_set(images)
    space = nuisance if isinstance(nuisance, str) else nuisances.spec_of(nuisance)
    given = {key: value for key, value in options.items() if value is not None}
    things = Things(
        classifiers, {whole.name: (whole, selection)}, {space: nuisance}, {kind: MeasureEntry(kind=kind, **given)}, seed
    )

    def carried_out(device: str | None, batch: int | None, progress: Progress | None) -> Done:
        return run_things(things, device=device, batch=batch, progress=progress)

    return carried_out
