"""What is on the screen as text that computes it again: Python that needs no explorer, and a command."""

from __future__ import annotations

import json
import shlex
from urllib.parse import urlencode

import torch

from brittle.engine.check.classifier_trial import without_copies
from brittle.engine.live_objects import is_live
from brittle.engine.store.place import Place
from brittle.explorer.queries import Query
from brittle.explorer.session import Session
from brittle.measures.designs import DESIGNS
from brittle.types import InScales, SettlesOnImages

OWN_FILE = "own.png"  # what the page saves a picture of the reader's own as


def reproduced(session: Session, query: Query) -> dict[str, str]:
    """Python, or "" with a reason, and the command."""
    session.check_space(query.set, query.nuisance)
    why = _why_no_python(session, query)
    return {
        "python": "" if why else python_of(session, query),
        "command": "" if query.own is not None else command_of(session.run.path, query),
        "why": why,
    }


def address_of(query: Query) -> str:
    """The query as the address of the page has it, behind its #."""
    first, second = (*query.classifiers, "", "")[:2]
    given = {
        "set": query.set,
        "image": query.image,
        "nuisance": query.nuisance,
        "theta": None if query.theta is None else ",".join(map(repr, query.theta)),
        "draw": query.draw if query.theta is None else None,
        "severity": query.severity,
        "first": first,
        "second": second,
    }
    return urlencode({name: value for name, value in given.items() if value not in (None, "")})


def command_of(path: Place | None, query: Query) -> str:
    """The command that prints the same probabilities."""
    return f"brittle explore {shlex.quote(str(path))} --at {shlex.quote(address_of(query))}"


def python_of(session: Session, query: Query) -> str:
    """Python that asks each classifier about the same picture, with public names alone."""
    run = session.run
    nuisance = run.job.nuisances[query.nuisance]
    lines = ["import torch", "", "import brittle"]
    if query.theta is None:
        lines.append("from brittle.random import draw_keys")
    lines += ["", *_images(session, query)]
    lines.append(f"nuisance = brittle.nuisance({_quoted(run.study.nuisances.get(query.nuisance, query.nuisance))})")
    lines += _theta(session, query)
    if query.severity == 0:
        lines.append("picture = batch.images")
    elif query.severity is None:
        lines.append("picture = nuisance.apply(batch, theta)")
    else:
        lines.append(f"picture = nuisance.apply(batch, nuisance.at(theta, {query.severity!r}, batch))")
    for name in query.classifiers:
        lines += ["", f'classifier = brittle.classifier({_quoted(run.study.classifiers[name].spec)}, device="cpu")']
        if isinstance(without_copies(session.classifier(name)), SettlesOnImages):
            lines.append("classifier.check(batch.images)")
        lines += [
            "with torch.inference_mode():",
            "    probabilities = classifier.log_probs(picture)[0].exp()",
            "for place in probabilities.argsort(descending=True)[:5].tolist():",
            f'    print({_quoted(name)}, classifier.labels[place], f"{{probabilities[place]:.6f}}", sep="\\t")',
        ]
    assert not isinstance(nuisance, InScales)
    return "\n".join(lines) + "\n"


def _images(session: Session, query: Query) -> list[str]:
    if query.own is not None:
        array = 'np.asarray(Image.open("' + OWN_FILE + '"))[None]'
        return [
            "import numpy as np",
            "from PIL import Image",
            "",
            f"images = brittle.image_set({array})  # saved from the page",
            "batch = images.batch([0])",
        ]
    spec = session.run.study.images[query.set].spec
    return [f"batch = brittle.image_set({_quoted(spec)}).only([{query.image}]).batch([0])"]


def _theta(session: Session, query: Query) -> list[str]:
    if query.theta is not None:
        exact = [float(each) for each in torch.tensor(query.theta, dtype=torch.float32)]
        return [f"theta = torch.tensor([{exact!r}], dtype=torch.float32)"]
    job = session.run.job
    stream = job.stream(query.nuisance)
    return [
        f"keys = draw_keys({job.seed}, {_quoted(stream)}, batch.ids, torch.tensor([{query.draw or 0}]))",
        "theta = nuisance.sample(batch, keys)[:, 0]",
    ]


def _why_no_python(session: Session, query: Query) -> str:
    job, study = session.run.job, session.run.study
    if needs := job.needs(query.nuisance):
        return f"{query.nuisance} reads {', '.join(sorted(needs))}, which the run computes: copy the command instead."
    if isinstance(job.nuisances[query.nuisance], InScales):
        return "These images are stored at severities, and not made: copy the command instead."
    specs = [study.images[query.set].spec, study.nuisances.get(query.nuisance, "")]
    if any(is_live(each) for each in (*specs, *(study.classifiers[name].spec for name in query.classifiers))):
        return "The run was of Python objects, which no text names."
    if query.theta is None and query.draw is not None and query.draw >= DESIGNS["antithetic"].first:
        return "The draw depends on others of its image: copy the command instead."
    if job.precision != "float32":
        return f"The run computes in {job.precision}: copy the command instead."
    return ""


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
