"""The few functions most people need: measure a classifier, compare classifiers, run a study."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from brittle.changes import differences
from brittle.classifiers import classifier as open_classifier
from brittle.device import pick_device
from brittle.engine.execute import carry_out
from brittle.engine.folder import RunFolder
from brittle.engine.job import CHECKED_IMAGES, Job
from brittle.engine.results import summary
from brittle.engine.store import Cell, MemoryStore
from brittle.errors import BrittleError
from brittle.found import Found
from brittle.images import image_set
from brittle.measures import measures
from brittle.measures.evaluate import slices
from brittle.nuisances import nuisance as open_nuisance
from brittle.nuisances import nuisances
from brittle.progress import Progress
from brittle.registry import parse_named
from brittle.study import Study, choose, equipped

if TYPE_CHECKING:
    from brittle.hardening.harden import Hardened

PIXELS_HASHED = 1 << 24


def measure(classifier: Any, images: Any, nuisance: Any, **options: Any) -> dict[str, Any]:
    """ρ of a classifier under a nuisance, with its interval and what stands beside it.

    Options as for `compare`. Returns what `brittle measure --json` prints.
    """
    found = compare({"classifier": classifier}, images, nuisance, **options)
    result: dict[str, Any] = found["results"][0]
    return result | {"warnings": found["warnings"]}


def compare(
    classifiers: Mapping[str, Any],
    images: Any,
    nuisance: Any,
    *,
    count: int | None = None,
    where: Sequence[str] = (),
    ids: Sequence[int] = (),
    seed: int = 0,
    device: str | None = None,
    batch: int | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Several classifiers, by name, on the same images and the same θ: a result each, and paired differences.

    `classifiers`' values, `images` and `nuisance` are specs or objects. `count` images are drawn without
    replacement, after `where` (column=value) or `ids` has chosen among them. `options` are those of the measure
    `robustness`: samples, tolerance, estimand, confidence, worst_of, extra.
    """
    return _carried_out(
        job_of({"robustness": options}, classifiers, images, nuisance, count, where, ids, seed, device, batch), progress
    )


def sample(
    classifier: Any,
    images: Any,
    nuisance: Any,
    *,
    count: int | None = 20,
    where: Sequence[str] = (),
    ids: Sequence[int] = (),
    seed: int = 0,
    device: str | None = None,
    batch: int | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Found:
    """Weak points of a classifier: draws from p(θ | not ℓ, x) for each of `count` images, all with None.

    `options` are those of the measure `weak-points`: sampler, budget, chains, steps, burn_in, start, tries, keep.
    """
    whole, count = image_set(images), None if ids else count
    wanted = {"weak-points": {"images": len(whole)} | options}
    job = job_of(wanted, {"classifier": classifier}, whole, nuisance, count, where, ids, seed, device, batch)
    job.check()
    store = MemoryStore()
    carry_out(job, store, progress or Progress())
    said = summary(job, store)
    cell = Cell("weak-points", "classifier", next(iter(job.images)), next(iter(job.nuisances)))
    rows = pa.concat_tables([rows for _, rows in store.read(cell)])
    return Found(said["weak_points"][0] | {"warnings": said["warnings"]}, rows, job)


def harden(
    classifier: Any, images: Any, nuisance: Any, out: str | Path | None = None, *, test: Any = None, **options: Any
) -> Hardened:
    """Fine-tunes a classifier on its weak points under a nuisance, in rounds; the classifier given stays as it is.

    `classifier` is a torch module, or the spec of one. `images` are labelled; parts of them choose the round and
    measure before and after, or parts of `test`. `out` gets the weights, what happened in every round, and where
    everything is named by a spec, a run folder of before and after; the same call goes on from its last finished
    round. `options` are those of `brittle.hardening.options.HardeningOptions` (on, rounds, steps, share, rate,
    held_out, …), and seed, device and progress.
    """
    from brittle.hardening.harden import harden_classifier  # what trains is imported when something is trained

    return harden_classifier(classifier, images, nuisance, out, test=test, **options)


def job_of(
    wanted: Mapping[str, Mapping[str, Any]],
    classifiers: Mapping[str, Any],
    images: Any,
    nuisance: Any,
    count: int | None,
    where: Sequence[str],
    ids: Sequence[int],
    seed: int,
    device: str | None,
    batch: int | None,
) -> Job:
    """The job of some measures, by name with their options, on one image set under one nuisance."""
    asked, place = {name: measures.make(name, options) for name, options in wanted.items()}, pick_device(device)
    space = equipped(open_nuisance(nuisance))
    name = nuisance if isinstance(nuisance, str) else nuisances.spec_of(space)
    chosen = choose(image_set(images), asked, seed=seed, count=count, where=where, ids=ids)
    return Job(
        classifiers={key: open_classifier(each, device=str(place)) for key, each in classifiers.items()},
        images={chosen.whole.name: chosen},
        nuisances={name: space},
        streams={name: nuisances.name_of(space)},
        measures=asked,
        seed=seed,
        device=place,
        batch=batch,
    )


def study_of(
    classifiers: Sequence[str],
    images: str,
    nuisance: str,
    *,
    wanted: Mapping[str, Mapping[str, Any]],
    seed: int = 0,
    **which: Any,
) -> Study:
    """The study behind one `brittle measure` or `brittle sample`: measures by name with their options; `which` says
    which images (count, where, ids).

    A spec is named by itself, or by what stands before it: `mine=onnx:model.onnx`."""
    named = [parse_named(text) for text in classifiers]
    twice = next((name for place, (name, _) in enumerate(named) if name in dict(named[:place])), None)
    if twice is not None:
        raise BrittleError(f"the classifier {twice!r} is given twice", f"Name one of them: other={twice}.")
    set_name, set_spec = parse_named(images)
    space_name, space = parse_named(nuisance)
    return Study.of(
        {
            "seed": seed,
            "classifiers": dict(named),
            "images": {set_name: {"spec": set_spec} | which},
            "nuisances": {space_name: space},
        }
        | {
            name: {key: value for key, value in options.items() if value is not None}
            for name, options in wanted.items()
        }
    )


def run(
    study: Study | str | Path | dict[str, Any],
    out: str | Path | None,
    *,
    device: str | None = None,
    batch: int | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Carries a study out into the folder `out`, or goes on with what is there; returns its summary.

    With `out` None nothing is kept."""
    if not isinstance(study, Study):
        study = Study.of(study) if isinstance(study, dict) else Study.load(Path(study))
    if out is None:
        return _carried_out(study.job(device, batch), progress)
    folder = RunFolder(Path(out))
    with folder.locked():
        folder.compare(study.resolved(), differences)
        job = study.job(device, batch)
        folder.begin(study.resolved(), {"images": fingerprints(job), "answers": job.check()})
        carry_out(job, folder.store, progress or Progress())
        found = summary(job, folder.store)
        folder.write_summary(found)
    return found


def _carried_out(job: Job, progress: Progress | None) -> dict[str, Any]:
    """A job done in memory."""
    job.check()
    store = MemoryStore()
    carry_out(job, store, progress or Progress())
    return summary(job, store)


def fingerprints(job: Job) -> dict[str, str]:
    """A hash of each image set's ids and labels in planned order, and of its pixels: all of a small set's, and of
    a large one those of the first images, which are a random draw."""
    prints = {}
    for name, chosen in job.images.items():
        images = chosen.images
        digest = hashlib.blake2b(images.ids.numpy().tobytes(), digest_size=16)
        digest.update(images.labels.numpy().tobytes())
        seen = min(len(images), max(CHECKED_IMAGES, PIXELS_HASHED // math.prod(images.shape)))
        for part in slices(seen, 256):
            for group in images.groups(range(seen)[part]):
                digest.update(group.batch.images.mul(255).round().byte().numpy().tobytes())
        if len(images.shapes) > 1:
            digest.update(repr(images.shapes).encode())  # the plan depends on them
        prints[name] = f"{len(images)} images, {digest.hexdigest()}"
    return prints
