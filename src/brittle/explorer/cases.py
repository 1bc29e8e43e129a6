"""What is on the screen, saved as a named case for the gate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from brittle.cases import NamedCase, add_case
from brittle.errors import BrittleError
from brittle.explorer.queries import CaseQuery
from brittle.explorer.session import Session


def save_case(session: Session, query: CaseQuery, file: Path) -> dict[str, Any]:
    """Adds the case to the file, which was named when the server was started."""
    session.check_space(query.set, query.nuisance)
    if query.own is not None:
        raise BrittleError("a picture of your own has no place in a case", "Choose an image of the run.")
    run = session.run
    if query.classifier not in run.study.classifiers:
        raise BrittleError(f"there is no classifier {query.classifier!r}", "Name one of the run.")
    label = session.label(query.classifier, query.set, session.place_of(query.set, query.image), None)
    if label < 0:
        raise BrittleError("this image has no label, so nothing is expected of it", "Choose one with a label.")
    expected = run.label_names(query.classifier, query.set)(label)
    drawn = query.theta is None
    add_case(
        file,
        NamedCase(
            name=query.name,
            images=query.set,
            image=int(query.image or 0),
            nuisance=query.nuisance,
            expected=expected,
            theta=query.theta,
            draw=query.draw if drawn else None,
            seed=run.job.seed if drawn else None,
            severity=query.severity,
            spec=run.study.nuisances.get(query.nuisance, ""),
        ),
    )
    return {"file": str(file), "expected": expected}
