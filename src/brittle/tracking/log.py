"""`brittle.log`: the numbers of a result, and its report, to a tracker: a few lines over the tracker's own client."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from brittle.errors import BrittleError, MissingPackage
from brittle.registry import did_you_mean
from brittle.results import RunPresentation
from brittle.tracking.model_card import write_card

Scalars = Mapping[str, float]
Tracker = Callable[[RunPresentation, Scalars, int | None, str], None]
METRIC_LETTERS = "_-./: "  # besides letters and digits, what names of metrics may have in MLflow
LONGEST = 250  # letters of one


def log(found: RunPresentation, to: Any, *, step: int | None = None, prefix: str = "brittle/") -> dict[str, float]:
    """Logs the numbers of a result, those of `found.scalars()`, under names that begin with `prefix`; returns them.

    `to` is "mlflow" or "wandb", where the active run gets them, and the report too where the result is kept in a
    folder; "tensorboard:DIR", or "tensorboard" for the folder `runs`; "model-card:README.md", which gets a section and
    the metadata of Hugging Face; or an object of your own: a run of wandb or trackio, a logger of Lightning, a
    SummaryWriter, a function (numbers, step)."""
    scalars = {f"{prefix}{name}": value for name, value in found.scalars().items()}
    if not isinstance(to, str):
        log_live(to, scalars, step)
        return scalars
    name, _, what = to.partition(":")
    if name not in TRACKERS:
        raise BrittleError(f"there is no tracker {name!r}", did_you_mean(name, TRACKERS))
    TRACKERS[name](found, scalars, step, what)
    return scalars


def log_live(to: Any, scalars: Scalars, step: int | None) -> None:
    """To an object, by what it can do."""
    if hasattr(to, "add_scalar"):
        for name, value in scalars.items():
            to.add_scalar(name, value, step)
    elif hasattr(to, "log_metrics"):
        to.log_metrics(dict(scalars), step=step)
    elif hasattr(to, "log"):
        to.log(dict(scalars), step=step)
    elif callable(to):
        to(dict(scalars), step)
    else:
        raise BrittleError(
            f"an object of type {type(to).__name__} is not a tracker",
            "Give one with add_scalar, log_metrics or log, or a function of numbers and step.",
        )


def _mlflow(found: RunPresentation, scalars: Scalars, step: int | None, what: str) -> None:
    try:
        import mlflow
    except ImportError as error:
        raise MissingPackage("mlflow", "mlflow", "logging to MLflow") from error
    mlflow.log_metrics(metric_names(scalars), step=step)
    if (report := _report(found)) is not None:
        mlflow.log_artifact(str(report), "brittle")


def metric_names(scalars: Scalars) -> dict[str, float]:
    """As MLflow allows names: other letters become _, and names that would become one are numbered."""
    renamed: dict[str, float] = {}
    for name, value in scalars.items():
        plain = "".join(letter if letter.isalnum() or letter in METRIC_LETTERS else "_" for letter in name)[:LONGEST]
        unique, number = plain, 1
        while unique in renamed:
            number += 1
            unique = f"{plain[: LONGEST - 4]}_{number}"
        renamed[unique] = value
    return renamed


def _wandb(found: RunPresentation, scalars: Scalars, step: int | None, what: str) -> None:
    try:
        import wandb
    except ImportError as error:
        raise MissingPackage("wandb", "wandb", "logging to Weights & Biases") from error
    if wandb.run is None:
        raise BrittleError("Weights & Biases has no active run", "Call wandb.init() first, or give its run: to=run.")
    more = {} if (report := _report(found)) is None else {"brittle/report": wandb.Html(str(report), inject=False)}
    wandb.run.log({**scalars, **more}, step=step)


def _tensorboard(found: RunPresentation, scalars: Scalars, step: int | None, what: str) -> None:
    if importlib.util.find_spec("tensorboard") is None:
        raise MissingPackage("tensorboard", "tensorboard", "logging to TensorBoard")
    from torch.utils.tensorboard import SummaryWriter

    with SummaryWriter(what or "runs") as writer:
        log_live(writer, scalars, step)


def _model_card(found: RunPresentation, scalars: Scalars, step: int | None, what: str) -> None:
    write_card(found, Path(what or "README.md"))


def _report(found: RunPresentation) -> Path | None:
    """The report that stands in the run folder."""
    folder = found.run.folder
    path = None if folder is None or folder.remote else folder.local / "report.html"
    return path if path is not None and path.is_file() else None


TRACKERS: Mapping[str, Tracker] = {
    "mlflow": _mlflow,
    "wandb": _wandb,
    "tensorboard": _tensorboard,
    "model-card": _model_card,
}
