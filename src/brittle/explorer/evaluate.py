"""One question: an image under a nuisance at θ, and what classifiers say of it."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from brittle.errors import BrittleError
from brittle.explorer.queries import Query
from brittle.explorer.session import ImagePlace, Session, finite
from brittle.explorer.spaces import MOST_SLIDERS, read, relative_log_prior
from brittle.report.page.pictures import data_uri
from brittle.types import InScales

ALL_SHOWN = 20  # classes; of more the likeliest so many and the right one are told
LONGEST = 512  # pixels of a picture's longest side


@torch.inference_mode()
def evaluate(session: Session, query: Query) -> dict[str, Any]:
    """The picture that the query means, and the probabilities that its classifiers give."""
    session.check_space(query.set, query.nuisance)
    live = {name: session.classifier(name) for name in query.classifiers}
    seen_alike = not session.run.job.needs(query.nuisance)
    pictures, answers, told = list[dict[str, str]](), dict[str, Any](), dict[str, Any]()
    for name in query.classifiers or ("",):
        if not pictures or not seen_alike:
            found = session.at(query.set, query.image, query.nuisance, name, query.own)
            theta = theta_of(found, query)
            image = found.replay.at(found.place, theta[None], query.severity)[0]
            pictures.append({"classifier": "" if seen_alike else name, "uri": data_uri(image, LONGEST)})
            told = told or _told(found, theta, image)
        if name:
            label = session.label(name, query.set, found.place, query.own)
            answers[name] = {
                "label": label,
                "top": likeliest(live[name].log_probs(image[None])[0], label),
            }
    return {**told, "severity": query.severity, "pictures": pictures, "answers": answers}


def theta_of(found: ImagePlace, query: Query) -> Tensor:
    """θ (d,) that is given, or that of a draw."""
    nuisance = found.replay.nuisance
    if query.theta is None:
        if query.draw is None and not isinstance(nuisance, InScales):
            raise BrittleError("neither θ nor a draw is given", "Send one of them.")
        return found.replay.theta(found.place, query.draw or 0)
    theta = torch.tensor(query.theta, dtype=torch.float32)
    wanted = nuisance.identity(found.replay.batch([found.place])).shape[-1]
    if len(theta) != wanted:
        raise BrittleError(f"θ has {len(theta)} numbers", f"This nuisance has {wanted}.")
    return theta


def likeliest(log_probs: Tensor, label: int) -> list[tuple[int, float]]:
    """Classes with their probabilities, the likeliest first."""
    probabilities = log_probs.double().exp()
    order = probabilities.argsort(descending=True, stable=True).tolist()
    shown = order[:ALL_SHOWN]
    if 0 <= label < len(order) and label not in shown:
        shown.append(label)
    return [(place, round(float(probabilities[place]), 7)) for place in shown]


def _told(found: ImagePlace, theta: Tensor, image: Tensor) -> dict[str, Any]:
    """θ itself, where it has few numbers, in others that say more, and its density."""
    few = len(theta) <= MOST_SLIDERS
    nuisance, batch = found.replay.nuisance, found.replay.batch([found.place])
    relative = None if isinstance(nuisance, InScales) else relative_log_prior(nuisance, batch, theta[None])
    return {
        "theta": [float(each) for each in theta] if few else None,
        "readings": read(nuisance, theta, image.shape) if few else None,
        "log_prior": None if relative is None else finite(float(relative[0])),
    }
