"""What a page is told of a run first of all: classifiers, image sets, nuisances with their parameters."""

from __future__ import annotations

from typing import Any

from brittle.explorer.points import point_cells
from brittle.explorer.session import Session
from brittle.explorer.spaces import readings_of, scale
from brittle.nuisances import nuisances
from brittle.report.page.measured import spoken_names
from brittle.types import InScales

MOST_IMAGES = 5000  # of a set that are listed


def described(session: Session) -> dict[str, Any]:
    """A `Run` as web/source.js has it."""
    run = session.run
    return {
        "title": run.study.title or f"{', '.join(run.study.classifiers)}"[:200],
        "notes": list(run.missing),
        "classifiers": [_classifier(session, name) for name in run.study.classifiers],
        "sets": [_set(session, name) for name in run.job.images],
        "spaces": [_space(session, *pair) for pair in session.spaces],
        "points": [each.described() for each in point_cells(session)],
    }


def _classifier(session: Session, name: str) -> dict[str, Any]:
    run = session.run
    images = next(iter(run.job.images), "")
    classes = run.label_names(name, images).names if images else tuple(run.summary["classifiers"][name]["labels"])
    live = run.classifier(name) is not None
    return {
        "name": name,
        "classes": list(classes),
        "live": live,
        "why": "" if live else f"{name} can't be loaded any more, so it gives no live answers.",
    }


def _set(session: Session, name: str) -> dict[str, Any]:
    subject = session.run.job.subject(name)
    shown = min(len(subject), MOST_IMAGES)
    labels = subject.labels.tolist()
    ids = subject.ids.tolist()
    return {
        "name": name,
        "classes": list(subject.classes),
        "total": len(subject),
        "shape": list(session.run.job.images[name].images.median_shape),
        "images": [[ids[place], str(subject.names[place]), labels[place]] for place in range(shown)],
    }


def _space(session: Session, images: str, name: str) -> dict[str, Any]:
    run = session.run
    nuisance = run.job.nuisances[name]
    why = run.why_unreadable(images, name, list(run.study.classifiers))
    stored = isinstance(nuisance, InScales)
    parameters = [] if why or stored else session.parameters(images, name)
    return {
        "set": images,
        "nuisance": name,
        "title": spoken_names(run).titles.get(name, name),
        "spec": run.study.nuisances.get(name, name if stored else nuisances.spec_of(nuisance)),
        "prior": run.job.prior(images, name),
        "live": not why,
        "why": why,
        "draws": 1 if stored else None,
        "parameters": [each._asdict() for each in parameters],
        "readings": readings_of(nuisance) if parameters else [],
        "scale": scale(nuisance),
    }
